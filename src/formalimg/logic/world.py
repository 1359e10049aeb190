"""World: the interface of what formulas are evaluated against, numbered objects and relations between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from formalimg.logic.syntax import Atom


class World(Protocol):
    """A finite set of objects, numbered from 0, that can decide atoms about them.

    Sets of objects are bit sets: bit i of an int stands for object i. Answering with whole sets, not object by object,
    is what lets formulas be decided without trying assignments.

    A world may also have a method `pairs(predicate)`, which returns where a predicate of two variables holds as one
    boolean array, by first and second object, or None if it cannot: that is faster where all pairs are needed.
    """

    def __len__(self) -> int:
        """How many objects there are."""

    def objection(self, atom: Atom) -> str | None:
        """Return why this world cannot decide an atom; None if it can."""

    def having(self, predicate: str, value: str | None) -> int:
        """Return the objects for which a predicate of one variable holds."""

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """Return the objects b of `among` with predicate(a, b) for some a of `firsts`."""

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """Return the objects a of `among` with predicate(a, b) for some b of `seconds`."""

    def describe(self, obj: int) -> str:
        """Return a short description of an object."""

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return, as text with numbers, what makes the atom hold or fail for these objects."""


def members(objects: int) -> Iterator[int]:
    """Yield the numbers of the objects in a bit set, smallest first."""
    while objects:
        lowest = objects & -objects
        yield lowest.bit_length() - 1
        objects ^= lowest
