"""What formulas are true or false of: numbered objects and the relations between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from formalimg.logic.syntax import Atom


class World(Protocol):
    """A finite set of objects, numbered from 0, that can answer atoms about them.

    Sets of objects are bit sets: bit i of an int stands for object i. Answering with whole sets, not object by object,
    is what lets formulas be decided without trying assignments.

    A world may also have a method `pairs(predicate)`, which tells where a predicate of two variables holds as one array
    of yes and no, by first and second object, or None if it cannot: that is faster where all pairs are wanted.
    """

    def __len__(self) -> int:
        """How many objects there are."""

    def objection(self, atom: Atom) -> str | None:
        """Why this world cannot decide an atom; None if it can."""

    def having(self, predicate: str, value: str | None) -> int:
        """The objects for which a predicate of one variable holds."""

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """The objects b, out of a set, for which predicate(a, b) holds for some a of the firsts."""

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """The objects a, out of a set, for which predicate(a, b) holds for some b of the seconds."""

    def describe(self, obj: int) -> str:
        """An object in a few words."""

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """What can be read off the objects that makes the atom hold or fail, with numbers."""


def members(objects: int) -> Iterator[int]:
    """The numbers of the objects in a bit set, smallest first."""
    while objects:
        lowest = objects & -objects
        yield lowest.bit_length() - 1
        objects ^= lowest
