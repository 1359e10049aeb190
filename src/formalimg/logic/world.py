"""World: the interface of what formulas are evaluated against, numbered objects and relations between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from formalimg.logic.syntax import DISTINCT, Atom, Variable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class World(Protocol):
    """A finite set of objects, numbered from 0, that can decide atoms about them.

    Sets of objects are bit sets: bit i of an int stands for object i. Answering with whole sets, not object by object,
    is what lets formulas be decided without trying assignments.

    A world may also have a method `pairs(predicate)`, which returns where a predicate of two variables holds as one
    boolean array, by first and second object, or None if it cannot: that is faster where all pairs are needed. And a
    static method `grouped(worlds)`, which returns a `WorldGroup` that says the same of several worlds at once, or None.
    With a static method `always_decides(atom)`, atoms that no such world objects to are not asked about in each.
    """

    def __len__(self) -> int:
        """How many objects there are."""

    def objection(self, atom: Atom) -> str | None:
        """Return why this world cannot decide an atom; None if it can."""

    def having(self, predicate: str, value: str | None, among: int = -1) -> int:
        """Return the objects of `among`, by default of all, for which a predicate of one variable holds."""

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """Return the objects b of `among` with predicate(a, b) for some a of `firsts`."""

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """Return the objects a of `among` with predicate(a, b) for some b of `seconds`."""

    def describe(self, obj: int) -> str:
        """Return a short description of an object."""

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return, as text with numbers, what makes the atom hold or fail for these objects."""


class WorldGroup(Protocol):
    """Several worlds that say where predicates hold as arrays, each as wide as the largest world needs."""

    def pairs(self, predicates: Iterable[str]) -> Mapping[str, NDArray[np.bool]]:
        """Return where predicates of two variables hold, by world, first and second object; of those it can say."""

    def sets(self, asked: Collection[tuple[str, str | None]]) -> NDArray[np.bool] | None:
        """Return where predicates of one variable hold, by world, predicate with its word, and object.

        None if each world has to be asked.
        """


class DistinguishingWorld:
    """A world that also decides `(distinct ?a ?b)`; for everything else it asks the world inside."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __len__(self) -> int:
        return len(self._world)

    def objection(self, atom: Atom) -> str | None:
        """Return why an atom cannot be decided; None if it can."""
        return objection_to_distinct(atom) if atom.predicate == DISTINCT else self._world.objection(atom)

    def having(self, predicate: str, value: str | None, among: int = -1) -> int:
        """Return the objects of `among` for which a predicate of one variable holds."""
        return self._world.having(predicate, value, among)

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """Return the objects of `among` that are related to one of `firsts`."""
        return _others(firsts, among) if predicate == DISTINCT else self._world.seconds(predicate, firsts, among)

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """Return the objects of `among` to which one of `seconds` is related."""
        return _others(seconds, among) if predicate == DISTINCT else self._world.firsts(predicate, seconds, among)

    def describe(self, obj: int) -> str:
        """Return a short description of an object."""
        return self._world.describe(obj)

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return what makes an atom hold or fail for these objects."""
        if atom.predicate != DISTINCT:
            return self._world.evidence(atom, objects)
        return "different objects" if len(set(objects)) == len(objects) else "the same object"


def _others(objects: int, among: int) -> int:
    """Return the objects of `among` that differ from at least one of `objects`."""
    return among & ~objects if objects.bit_count() < 2 else among


def objection_to_distinct(atom: Atom) -> str | None:
    """Return what is wrong with an atom of `distinct`; None if nothing is."""
    if len(atom.arguments) < 2 or not all(type(argument) is Variable for argument in atom.arguments):
        return f"{DISTINCT} is written ({DISTINCT} ?a ?b …), with two variables or more"
    return None


def members(objects: int) -> Iterator[int]:
    """Yield the numbers of the objects in a bit set, smallest first."""
    while objects:
        lowest = objects & -objects
        yield lowest.bit_length() - 1
        objects ^= lowest
