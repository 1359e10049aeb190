"""Build payoff tables for the literals, counts and clauses of a formula in a scene."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.constraints import Semantics
from formalimg.logic.evaluation import Evaluator
from formalimg.logic.soft_score.clause_index import CountKey, IndexedComponent, IndexedLiteral, LiteralIndex, LiteralKey
from formalimg.logic.soft_score.earned_credit import CountingObjects
from formalimg.logic.syntax import CREDIT_UNIT, DISTINCT, Count
from formalimg.logic.variables import expand_distinct
from formalimg.logic.world import DistinguishingWorld, OutOfStepsError, World

MAX_AXES = 60  # The most variables of a table: numpy has 64 axes, some of which are for clauses and scenes
NumberArray: TypeAlias = NDArray[np.integer | np.bool]
BoolArray: TypeAlias = NDArray[np.bool]


class PayoffTable(NamedTuple):
    """Payoffs for each assignment to a set of variables, which are indexed in prefix order."""

    variables: tuple[int, ...]
    values: NumberArray

    @property
    def layers(self) -> int:
        """Number of arrays combined by `broadcast`."""
        return 1

    def fix(self, variable: int, obj: int) -> PayoffTable:
        """Return the payoffs with a variable fixed to an object."""
        if variable not in self.variables:
            return self
        at = self.variables.index(variable)
        index: tuple[Any, ...] = (*[slice(None)] * at, obj, ...)
        return PayoffTable(self.variables[:at] + self.variables[at + 1 :], self.values[index])

    def broadcast(self, variables: Sequence[int]) -> NumberArray:
        """Return the values as an array over `variables`, with axes of length 1 for variables that do not occur."""
        lengths = iter(self.values.shape)
        return self.values.reshape([next(lengths) if variable in self.variables else 1 for variable in variables])

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and largest values."""
        return int(self.values.min()), int(self.values.max())


class ClausePayoff(NamedTuple):
    """Payoff of a clause, computed on demand: its weight where any of its literals holds, otherwise 0.

    If there are counts, each literal has a share of CREDIT_UNIT and the largest share is used.
    """

    variables: tuple[int, ...]
    literals: tuple[PayoffTable, ...]
    weight: NDArray[np.integer]

    @property
    def layers(self) -> int:
        """Number of arrays combined by `broadcast`."""
        return len(self.literals)

    def fix(self, variable: int, obj: int) -> ClausePayoff:
        """Return the payoff with a variable fixed to an object."""
        if variable not in self.variables:
            return self
        literals = tuple(literal.fix(variable, obj) for literal in self.literals)
        return ClausePayoff(
            tuple(neighbour for neighbour in self.variables if neighbour != variable), literals, self.weight
        )

    def broadcast(self, variables: Sequence[int]) -> NumberArray:
        """Return the payoff as an array over `variables`, with axes of length 1 for variables that do not occur."""
        holds = self.literals[0].broadcast(variables)
        for literal in self.literals[1:]:
            holds = np.maximum(holds, literal.broadcast(variables))  # of booleans, this is `or`
        return holds * self.weight

    def bounds(self) -> tuple[int, int]:
        """Return lower and upper bounds of the payoff."""
        certain = max(int(literal.values.min()) for literal in self.literals)
        possible = max(int(literal.values.max()) for literal in self.literals)
        return int(self.weight) * certain, int(self.weight) * possible


Payoff: TypeAlias = PayoffTable | ClausePayoff


class TruthTables:
    """Truth tables of literals in a world. Each atom is evaluated only once."""

    def __init__(self, world: World, style: str | None, literals: LiteralIndex, semantics: Semantics) -> None:
        self.objects = len(world)
        of_style, of_one, of_two, counts = literals
        counting = CountingObjects(world)
        self._rows: tuple[BoolArray, BoolArray, BoolArray] = (
            np.array(
                [
                    (literal.word == style) is literal.positive and counting.have_instances(literal.credit.instances)
                    for literal in of_style
                ],
                np.bool,
            ),
            _rows_of_one(world, of_one, counting),
            _rows_of_two(world, of_two, counting),
        )
        self.counts: CountTables | None = None
        if counts:
            self.counts = CountTables(world, style, semantics, counts, counting)

    def rows(self, axes: int, rows: NDArray[np.intp]) -> BoolArray:
        """Return the stacked truth tables in the given rows, for literals with `axes` variables."""
        return self._rows[axes].take(rows, 0)

    def is_true(self, literal: IndexedLiteral, play: Sequence[int]) -> bool:
        """Return whether a literal holds under the given play."""
        scope = literal.scope
        if literal.is_count:
            return self.credit(literal, play) == CREDIT_UNIT
        rows = self._rows[len(scope)]
        holds: bool
        if len(scope) == 1:  # as most are
            holds = rows.item(literal.row, play[scope[0]])
        else:
            holds = rows.item(literal.row, *[play[variable] for variable in scope])
        return holds

    def credit(self, literal: IndexedLiteral, play: Sequence[int]) -> int:
        """Return the credit of a count under the given play, up to `CREDIT_UNIT` if it holds."""
        assert self.counts is not None
        return int(self.counts.tables[literal.row][tuple([play[variable] for variable in literal.scope])])

    def closeness(self, literals: Sequence[IndexedLiteral], play: Sequence[int]) -> int:
        """Return the highest credit of any count in a failing clause."""
        return max([self.credit(literal, play) for literal in literals if literal.is_count], default=0)

    def where(self, literal: IndexedLiteral) -> BoolArray:
        """Return the truth table of a literal, with axes in prefix order. A count is true where it earns any credit."""
        table: BoolArray
        if literal.is_count:
            assert self.counts is not None
            table = self.counts.tables[literal.row] > 0
        else:
            table = self._rows[len(literal.scope)][literal.row]
        return table

    def clause_payoffs(self, component: IndexedComponent) -> list[Payoff]:
        """Return the payoffs of all clauses in a component.

        A clause pays more than all class literals together. The best play therefore maximizes satisfied clauses first
        and class literals second.
        """
        numbers: type[np.integer] = np.int16 if component.max_payoff < 2**15 else np.int64
        payoffs: list[Payoff] = []
        for clause in component.clauses:
            literals = tuple(
                PayoffTable(literal.scope, self._worth(literal, component.credit_unit)) for literal in clause.literals
            )
            payoffs.append(
                ClausePayoff(clause.scope, literals, np.asarray(clause.weight * component.clause_unit, numbers))
            )
            for literal, table in zip(clause.literals, literals, strict=True):
                if literal.is_class:
                    payoffs.append(PayoffTable(table.variables, (table.values > 0).astype(numbers)))
        return payoffs

    def _worth(self, literal: IndexedLiteral, credit_unit: int) -> NumberArray:
        """Return the value of a literal: its truth table, scaled to `credit_unit` if there are counts."""
        if credit_unit == 1:
            return self.where(literal)
        if not literal.is_count:
            return self.where(literal) * np.int64(credit_unit)
        assert self.counts is not None
        return self.counts.tables[literal.row]


def _rows_of_one(world: World, literals: Iterable[LiteralKey], counting: CountingObjects) -> BoolArray:
    """Return a row for each literal of one variable, indicating where it holds and counts."""
    everything = (1 << len(world)) - 1
    sets = []
    for predicate, word, positive, written, (classes, instances) in literals:
        twice = len(written) == 2  # the same variable
        objects = objects_with_themselves(world, predicate) if twice else world.having(predicate, word)
        counted = objects if positive else everything & ~objects
        if classes:
            counted &= counting.of_classes(classes[0])
        if instances and not counting.have_instances(instances):
            counted = 0
        sets.append(counted)
    return bits_to_rows(sets, len(world))


def objects_with_themselves(world: World, predicate: str) -> int:
    """Return, as a bit set, the objects that are related to themselves by a binary predicate."""
    if predicate == DISTINCT:
        return 0
    singles = [1 << obj for obj in range(len(world))]
    return sum([world.seconds(predicate, single, single) for single in singles])


def _rows_of_two(world: World, literals: Collection[LiteralKey], counting: CountingObjects) -> BoolArray:
    """Return a table for each literal of two variables, indicating where it holds and counts."""
    width = len(world)
    if not literals:
        return np.zeros((0, width, width), np.bool)
    pairs = getattr(world, "pairs", None)  # some worlds return all pairs at once
    known_pairs: dict[str, BoolArray] = {}
    tables = []
    for predicate, _, positive, written, _ in literals:
        table = known_pairs.get(predicate)
        if table is None:
            if predicate == DISTINCT:
                table = ~np.eye(width, dtype=np.bool)
            elif pairs is not None:
                table = pairs(predicate)
            known_pairs[predicate] = table = pairs_by_sets(world, predicate) if table is None else table
        if written == (1, 0):
            table = table.T
        tables.append(table if positive else ~table)
    stacked = np.concatenate(tables).reshape(len(tables), width, width)
    needed = [literal.credit for literal in literals]
    if any(classes for classes, _ in needed):
        for axis in range(2):
            rows = bits_to_rows([counting.of_classes(classes[axis] if classes else ()) for classes, _ in needed], width)
            stacked &= rows[:, None, :] if axis else rows[:, :, None]
    for number, (_, instances) in enumerate(needed):
        if instances and not counting.have_instances(instances):
            stacked[number] = False
    return stacked


def pairs_by_sets(world: World, predicate: str) -> BoolArray:
    """Return the truth table of a binary predicate, by first and second object."""
    width = len(world)
    everything = (1 << width) - 1
    return bits_to_rows([world.seconds(predicate, 1 << obj, everything) for obj in range(width)], width)


def bits_to_rows(sets: Sequence[int], width: int) -> BoolArray:
    """Convert bit sets to rows of a boolean array."""
    octets = (width + 7) // 8
    packed = b"".join([objects.to_bytes(octets, "little") for objects in sets])
    bits = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(len(sets), octets), axis=1, bitorder="little")
    return bits[:, :width].view(np.bool)


MAX_COUNT_CELLS = 1_000_000
"""The maximum cells of the table of one count: a hundred objects for each of three free variables."""


class TooManyCountsError(Exception):
    """Raised if the table of a count would be too large or too slow to compute. Internal to this package."""


class CountTables:
    """Credits of counts in a world: a table for each, with CREDIT_UNIT where it holds and less where it fails."""

    def __init__(
        self,
        world: World,
        style: str | None,
        semantics: Semantics,
        counts: Collection[CountKey],
        counting: CountingObjects,
    ) -> None:
        self._evaluator = Evaluator(DistinguishingWorld(world), semantics, style)
        self._objects = len(world)
        try:
            self.tables = [self._table(key, counting) for key in counts]
        except OutOfStepsError:
            raise TooManyCountsError from None

    def found(self, count: Count, binding: Mapping[str, int]) -> int:
        """Return the objects that satisfy the body of a count, as a bit set."""
        expanded = _expand_count(count)
        free = {name: obj for name, obj in binding.items() if name != count.variable.name}
        return self._evaluator.selected(expanded.variable.name, (), [expanded.body], free)

    def _table(self, key: CountKey, counting: CountingObjects) -> NDArray[np.int64]:
        count, positive, variables, (classes, instances) = key
        if self._objects ** len(variables) > MAX_COUNT_CELLS:
            raise TooManyCountsError
        limits = count.limits(positive)
        table = np.full((self._objects,) * len(variables), limits.credit(0), np.int64)
        if instances and not counting.have_instances(instances):
            return np.zeros_like(table)
        for objects, number in self._evaluator.numbers(_expand_count(count), variables).items():
            table[objects] = limits.credit(number)
        for axis, words in enumerate(classes):
            along = np.moveaxis(table, axis, 0)
            for obj in range(self._objects):
                if not counting.of_classes(words) >> obj & 1:
                    along[obj] = 0
        return table


def _expand_count(count: Count) -> Count:
    """Expand `distinct` atoms in a count into pairs, as required by the evaluator."""
    expanded = expand_distinct(count)
    assert isinstance(expanded, Count)
    return expanded
