"""Protocol for worlds, the finite structures in which formulas are evaluated, and relational algebra on bit sets.

A table over the variables (v1, …, vm) maps the values of all but the last variable to the bit set of values of the last
one; a table over no variables has the row `()` if it holds. All work is counted in steps, so that a hard formula gives
the same result on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from formalimg.logic.syntax import DISTINCT, Atom, Variable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class World(Protocol):
    """A finite set of objects, numbered from 0, on which atoms can be evaluated.

    Sets of objects are bit sets: bit i of an int stands for object i. Because queries return whole sets, formulas can
    be decided without trying assignments.

    A world may also have a method `pairs(predicate)`, which returns the truth table of a binary predicate as a boolean
    array, by first and second object, or None if it cannot; this is faster if all pairs are needed. A static method
    `grouped(worlds)` may return a `WorldGroup` with the tables of several worlds, or None. A static method
    `always_decides(atom)` may identify atoms that every such world can decide.
    """

    def __len__(self) -> int:
        """Return the number of objects."""

    def objection(self, atom: Atom) -> str | None:
        """Return the reason why this world cannot decide an atom, or None if it can."""

    def having(self, predicate: str, value: str | None, among: int = -1) -> int:
        """Return the objects in `among` that satisfy a unary predicate."""

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """Return the objects b of `among` with predicate(a, b) for some a of `firsts`."""

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """Return the objects a of `among` with predicate(a, b) for some b of `seconds`."""

    def describe(self, obj: int) -> str:
        """Return a short description of an object."""

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return the evidence, including measurements, that an atom holds or fails for the given objects."""


class WorldGroup(Protocol):
    """Several worlds evaluated together, with arrays padded to the size of the largest world."""

    def pairs(self, predicates: Iterable[str]) -> Mapping[str, NDArray[np.bool]]:
        """Return the truth tables of supported binary predicates, by world, first object and second object."""

    def sets(self, atoms: Collection[tuple[str, str | None]]) -> NDArray[np.bool] | None:
        """Return the truth tables of unary predicates, by world, atom and object."""


class DistinguishingWorld:
    """Wraps a world to also support `(distinct ?a ?b)`."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __len__(self) -> int:
        return len(self._world)

    def objection(self, atom: Atom) -> str | None:
        return objection_to_distinct(atom) if atom.predicate == DISTINCT else self._world.objection(atom)

    def having(self, predicate: str, value: str | None, among: int = -1) -> int:
        return self._world.having(predicate, value, among)

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        return (
            _different_objects(firsts, among)
            if predicate == DISTINCT
            else self._world.seconds(predicate, firsts, among)
        )

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        return (
            _different_objects(seconds, among)
            if predicate == DISTINCT
            else self._world.firsts(predicate, seconds, among)
        )

    def describe(self, obj: int) -> str:
        return self._world.describe(obj)

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        if atom.predicate != DISTINCT:
            return self._world.evidence(atom, objects)
        return "different objects" if len(set(objects)) == len(objects) else "the same object"


def _different_objects(objects: int, among: int) -> int:
    return among & ~objects if objects.bit_count() < 2 else among


def objection_to_distinct(atom: Atom) -> str | None:
    """Return an error message if a `distinct` atom is malformed, or None if it is valid."""
    if len(atom.arguments) < 2 or not all(type(argument) is Variable for argument in atom.arguments):
        return f"{DISTINCT} is written ({DISTINCT} ?a ?b …), with two variables or more"
    return None


def members(objects: int) -> Iterator[int]:
    """Yield the object numbers in a bit set, in ascending order."""
    while objects:
        lowest = objects & -objects
        yield lowest.bit_length() - 1
        objects ^= lowest


MAX_STEPS = 800_000
"""The maximum steps for one question, and for its proof: about half a second each.

Published instructions take about a thousand of them.
"""


class OutOfStepsError(Exception):
    """Raised if a query would take more than `MAX_STEPS`. Internal to this package."""


class WorldQuery:
    """The remaining steps and a cache of rows, which hard formulas read repeatedly, for one formula in a world."""

    __slots__ = ("_rows", "left", "world")

    def __init__(self, world: World) -> None:
        self.world = world
        self.left = MAX_STEPS  # subtract a few steps here directly; call `take` for many
        self._rows: dict[tuple[str, bool, bool], dict[int, int]] = {}

    def take(self, steps: int) -> None:
        """Subtract steps from the limit, raising an error if it is exceeded."""
        self.left -= steps
        if self.left < 0:
            raise OutOfStepsError

    def rows(self, predicate: str, forward: bool, positive: bool) -> Callable[[int], int]:
        """Return a cached function that maps an object to the set of objects related (or not related) to it."""
        read = self.world.seconds if forward else self.world.firsts
        everything = (1 << len(self.world)) - 1
        cache = self._rows.setdefault((predicate, forward, positive), {})

        def row(obj: int) -> int:
            related = cache.get(obj)
            if related is None:
                related = read(predicate, 1 << obj, everything)
                cache[obj] = related = related if positive else everything & ~related
            return related

        return row


MAX_ROWS = 100_000
"""The maximum rows that are examined for one table; above it, the formula is decided value by value instead."""

Domains: TypeAlias = dict[str, int]  # The values that each variable can still take, as bit sets
_Filter: TypeAlias = Callable[[list[int], int], int]
"""Returns, of the values of one variable, those that fit the values of the variables before it."""


class TooWideError(Exception):
    """Raised if a table would have more than `MAX_ROWS` rows. Internal to this package."""


class RelationTable:
    """A relation stored as a mapping from partial assignments to bit sets of values for the last variable."""

    __slots__ = ("_other_way", "rows", "variables")

    def __init__(self, variables: tuple[str, ...], rows: Mapping[tuple[int, ...], int]) -> None:
        self.variables = variables
        self.rows = rows
        self._other_way: RelationTable | None = None

    def partners(self, variable: str, values: int, among: int, query: WorldQuery) -> int:
        """Return the values in `among` that are related to any of `values`. Requires a binary relation."""
        if variable == self.variables[0]:
            rows = self.rows
        else:
            if self._other_way is None:
                self._other_way = self._turned(self.variables[0], query)
            rows = self._other_way.rows
        query.left -= values.bit_count() // 4
        related = 0
        for value in members(values):
            related |= rows.get((value,), 0)
        return related & among

    def fitting(self, last: str, places: Mapping[str, int], query: WorldQuery) -> _Filter:
        """Return a filter on the values of `last`, given the positions of the other variables."""
        table = self if self.variables[-1] == last else self._turned(last, query)
        indices = [places[name] for name in table.variables[:-1]]
        rows = table.rows
        return lambda values, among: among & rows.get(tuple([values[index] for index in indices]), 0)

    def _turned(self, last: str, query: WorldQuery) -> RelationTable:
        """Return the same relation, reordered so that the given variable is last."""
        query.take(sum(map(int.bit_count, self.rows.values())) // 4)
        at = self.variables.index(last)
        rows: dict[tuple[int, ...], int] = {}
        for key, row in self.rows.items():
            bit = 1 << key[at]
            for value in members(row):
                turned_key = (*key[:at], *key[at + 1 :], value)
                rows[turned_key] = rows.get(turned_key, 0) | bit
        return RelationTable((*self.variables[:at], *self.variables[at + 1 :], last), rows)


class AtomRelation:
    """A binary relation defined by an atom and read from the world on demand."""

    __slots__ = ("positive", "predicate", "variables")

    def __init__(self, predicate: str, variables: tuple[str, str], positive: bool) -> None:
        self.predicate = predicate
        self.variables = variables
        self.positive = positive

    def partners(self, variable: str, values: int, among: int, query: WorldQuery) -> int:
        """Return the values in `among` that are related to any of `values`."""
        world = query.world
        read = world.seconds if variable == self.variables[0] else world.firsts
        if self.positive:
            return read(self.predicate, values, among)
        query.left -= values.bit_count()
        related = 0
        for value in members(values):
            related |= among & ~read(self.predicate, 1 << value, among)
        return related

    def fitting(self, last: str, places: Mapping[str, int], query: WorldQuery) -> _Filter:
        """Return a filter on the values of `last`, given the positions of the other variables."""
        first, second = self.variables
        source = first if last == second else second
        index = places[source]
        row = query.rows(self.predicate, source == first, self.positive)
        return lambda values, among: among & row(values[index])


Relation: TypeAlias = RelationTable | AtomRelation


def join(
    relations: Sequence[Relation], variables: tuple[str, ...], domains: Domains, query: WorldQuery
) -> RelationTable:
    """Join relations into a table over the variables, restricted to their domains."""
    if not variables:
        return RelationTable((), {(): 1})
    places = {name: index for index, name in enumerate(variables)}
    filters: list[list[_Filter]] = [[] for _ in variables]
    for relation in relations:
        last = max(relation.variables, key=places.__getitem__)
        filters[places[last]].append(relation.fitting(last, places, query))
    deepest = len(variables) - 1
    values = [0] * len(variables)
    rows: dict[tuple[int, ...], int] = {}
    looked_at = 0
    steps_per_row = (4 + len(relations) + len(variables)) / 4

    # Passed to itself: a closure over its own name would be a reference cycle, which only the garbage collector frees.
    def fill(depth: int, fill_below: Callable[[int, Any], None]) -> None:
        nonlocal looked_at
        looked_at += 1
        if looked_at > MAX_ROWS:
            query.take(int(looked_at * steps_per_row))
            raise TooWideError
        allowed = domains[variables[depth]]
        for fitting in filters[depth]:
            allowed = fitting(values, allowed)
        if depth < deepest:
            for values[depth] in members(allowed):
                fill_below(depth + 1, fill_below)
        elif allowed:
            rows[tuple(values[:deepest])] = allowed

    fill(0, fill)
    query.take(int(looked_at * steps_per_row))
    return RelationTable(variables, rows)


def project(table: RelationTable) -> RelationTable:
    """Eliminate the last variable by existential quantification."""
    return _without_last(table, table.rows)


def divide(table: RelationTable, whole: int) -> RelationTable:
    """Eliminate the last variable by universal quantification, keeping rows that contain all of its values."""
    return _without_last(table, [key for key, row in table.rows.items() if row == whole])


def keep_counts(table: RelationTable, allows: Callable[[int], bool]) -> RelationTable:
    """Eliminate the last variable by counting, keeping rows with an allowed number of values."""
    return _without_last(table, [key for key, row in table.rows.items() if allows(row.bit_count())])


def _without_last(table: RelationTable, keys: Iterable[tuple[int, ...]]) -> RelationTable:
    rows: dict[tuple[int, ...], int] = {}
    for key in keys:
        if key:
            rows[key[:-1]] = rows.get(key[:-1], 0) | 1 << key[-1]
        else:  # no variable is left: the table only says that it holds
            rows[()] = 1
    return RelationTable(table.variables[:-1], rows)


def complement(table: RelationTable, domains: Domains, query: WorldQuery) -> RelationTable:
    """Return the complement of the table within the domains."""
    if not table.variables:
        return RelationTable((), {} if table.rows else {(): 1})
    *outer, last = table.variables
    looked_at = prod(domains[name].bit_count() for name in outer)
    if looked_at > MAX_ROWS:
        raise TooWideError
    query.take(looked_at)
    whole = domains[last]
    rows = {}
    for key in product(*(members(domains[name]) for name in outer)):
        missing = whole & ~table.rows.get(key, 0)
        if missing:
            rows[key] = missing
    return RelationTable(table.variables, rows)


def union(tables: Sequence[RelationTable], domains: Domains, query: WorldQuery) -> RelationTable:
    """Return the union of the tables, over all of their variables."""
    variables = tuple(dict.fromkeys(name for table in tables for name in table.variables))
    rows: dict[tuple[int, ...], int] = {}
    for table in tables:
        if table.rows:
            spread = join([table] if table.variables else [], variables, domains, query)
            for key, row in spread.rows.items():
                rows[key] = rows.get(key, 0) | row
    return RelationTable(variables, rows)
