"""Plan the minimax game: batch the clauses and choose the order of variable elimination.

Clauses of the same layout are evaluated in one batch, which makes small games fast. The plan does not depend on the
scene, so it is computed once per component.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.prenex import QuantifierKind
from formalimg.logic.soft_score.clause_index import (
    Broadcast,
    IndexedComponent,
    IndexedLiteral,
    Scope,
    broadcast_index,
    scope_of,
)
from formalimg.logic.soft_score.payoffs import BoolArray, TruthTables

Rows: TypeAlias = NDArray[np.intp]
IntArray: TypeAlias = NDArray[np.int64]

Candidates: TypeAlias = list[Sequence[int]]  # The objects that each variable may stand for


class StepTable(NamedTuple):
    """A table with its layout over the variables of an elimination step."""

    table: int  # its number
    transpose: tuple[int, ...] | None  # the order of its axes; None if as they are
    broadcast: Broadcast | None  # where axes are inserted for variables that it does not have; None if it has all


class StepSide(NamedTuple):
    """Tables that are summed together before they are combined with the other side."""

    tables: tuple[StepTable, ...]  # the tables
    axes: tuple[int | None, ...]  # for each variable of the step, itself if one of the tables has it, else None


class EliminationStep(NamedTuple):
    """A step that eliminates one variable."""

    variable: int  # which
    # the variables of the tables that have it, itself first: along the first axis numbers lie far apart in memory,
    # and the best of them are found several times faster than along others
    scope: Scope
    maximize: bool  # whether its player wants a large sum
    sides: tuple[StepSide, ...]  # one or two sides, the sum of which has all these variables; each has the variable


@lru_cache(maxsize=4096)
def elimination_steps(
    kinds: tuple[QuantifierKind, ...], scopes: tuple[Scope, ...], reorder: bool
) -> tuple[EliminationStep, ...]:
    """Return the steps that eliminate all variables of the game.

    Later variables are eliminated first. If `reorder`, adjacent variables of the same player may be swapped, which does
    not change the value of the game, and the variable that joins the fewest others is eliminated first.
    """
    tables = list(enumerate(scopes))
    remaining = list(range(len(kinds)))
    steps: list[EliminationStep] = []
    while remaining:
        start = len(remaining) - 1
        while reorder and start and kinds[remaining[start - 1]] == kinds[remaining[-1]]:
            start -= 1
        joined = {
            variable: {neighbour for _, scope in tables if variable in scope for neighbour in scope}
            for variable in remaining[start:]
        }
        variable = min(joined, key=lambda name: len(joined[name]))
        neighbours = tuple(sorted(joined[variable] - {variable}))
        scope = (variable, *neighbours)
        sides = _split_sides([table for table in tables if variable in table[1]], scope)
        steps.append(EliminationStep(variable, scope, kinds[variable] == "exists", sides))
        tables = [table for table in tables if variable not in table[1]]
        tables.append((len(scopes) + len(steps) - 1, neighbours))
        remaining.remove(variable)
    return tuple(steps)


def _split_sides(tables: Sequence[tuple[int, Scope]], scope: Scope) -> tuple[StepSide, ...]:
    """Split tables into one side if a single table covers the scope, and otherwise into two smaller sides."""
    remaining = sorted(tables, key=lambda table: (-len(table[1]), table[1]))
    sides: list[list[tuple[int, Scope]]] = []
    while remaining:
        covered: set[int] = set()
        side: list[tuple[int, Scope]] = []
        for table in remaining:
            wider = covered.union(table[1])
            if not side or wider == covered or len(wider) < len(scope) or sides:
                side.append(table)
                covered = wider
        sides.append(side)
        remaining = [table for table in remaining if table not in side]
    return tuple(_step_side(side, scope) for side in sides)


def _step_side(tables: Sequence[tuple[int, Scope]], scope: Scope) -> StepSide:
    # Small ones first, and those of the same variables together: then few sums are as large as the last.
    ordered = sorted(tables, key=lambda table: (len(table[1]), table[1], table[0]))
    covered = {variable for _, table_scope in tables for variable in table_scope}
    step_tables = tuple(_step_table(number, table_scope, scope) for number, table_scope in ordered)
    return StepSide(step_tables, tuple(variable if variable in covered else None for variable in scope))


def _step_table(number: int, table_scope: Scope, scope: Scope) -> StepTable:
    order = [variable for variable in scope if variable in table_scope]
    transpose = None if order == list(table_scope) else tuple(map(table_scope.index, order))
    return StepTable(number, transpose, None if len(table_scope) == len(scope) else broadcast_index(scope, table_scope))


class LiteralBatch(NamedTuple):
    """The literals at the same position in each clause of a batch."""

    axes: int  # how many variables each has
    rows: Rows  # the rows of their truth tables, clause by clause
    forall_axes: tuple[tuple[int, int], ...]  # their variables that `forall` binds, each after its axis
    broadcast: Broadcast  # how they are laid out over the variables of the clauses
    variables: tuple[Rows, ...]  # for each axis, the variable of each clause


class ClauseBatch(NamedTuple):
    """Clauses with the same layout."""

    literals: tuple[LiteralBatch, ...]  # their literals: the first of each clause, the second of each, and so on
    weights: IntArray  # the weight of each clause, as a column
    scopes: tuple[Scope, ...]  # their variables, each set of them once
    starts: Rows  # the first clause of each scope

    def payoffs(self, truth: TruthTables, candidates: Candidates, unit: int) -> IntArray:
        """Return the payoffs of the clauses, with one table per scope."""
        payoff: IntArray = self._where_true(truth, candidates, slice(None)) * (self.weights * unit)
        return payoff if len(self.scopes) == len(payoff) else np.add.reduceat(payoff, self.starts)

    def payoffs_by_clause(self, truth: TruthTables, candidates: Candidates, unit: int) -> list[IntArray]:
        """Return the same payoffs as `payoffs`, computed clause by clause to use less memory."""
        tables: list[Any] = [0] * len(self.scopes)
        for clause in range(len(self.weights)):
            scope = int(np.searchsorted(self.starts, clause, side="right")) - 1
            [holds] = self._where_true(truth, candidates, slice(clause, clause + 1))
            tables[scope] = tables[scope] + holds * (self.weights[clause] * unit)
        return tables

    def _where_true(self, truth: TruthTables, candidates: Candidates, chosen: slice) -> BoolArray:
        combined: Any = None
        for axes, rows, forall_axes, broadcast, _ in self.literals:
            table = truth.rows(axes, rows[chosen])
            for axis, variable in forall_axes:
                table = table.take(candidates[variable], axis)
            spread = table[broadcast]
            combined = spread if combined is None else combined | spread
        holds: BoolArray = combined
        return holds


class ForallBounds(NamedTuple):
    """Payoff bounds for each object of a `forall` variable, based on the literals that mention no other variable."""

    variable: int  # which
    rows: Rows  # the rows of these literals
    bounds: IntArray  # what each of these adds, where it holds, to the lower and to the upper bound
    open_weight: IntArray  # what else may add to each
    condition: Rows  # which of these are in all its clauses of several literals: they fail where its condition applies


@dataclass(frozen=True, eq=False)
class ClauseBatches:
    """All clauses of a component, grouped into batches."""

    kinds: tuple[QuantifierKind, ...]  # the player of each variable
    batches: tuple[ClauseBatch, ...]  # the clauses

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The scope of each table in the game: first the single variables, then the scopes of larger clauses."""
        alone = [(variable,) for variable in range(len(self.kinds))]
        return (*alone, *(scope for batch in self.batches for scope in batch.scopes if len(scope) > 1))

    @cached_property
    def reordered_steps(self) -> tuple[EliminationStep, ...]:
        """Elimination steps in the cheapest order."""
        return elimination_steps(self.kinds, self.scopes, True)

    @cached_property
    def prefix_steps(self) -> tuple[EliminationStep, ...]:
        """Elimination steps in prefix order."""
        return elimination_steps(self.kinds, self.scopes, False)


class _ScopedWeight(NamedTuple):
    """A weighted clause, or a weighted class literal of a clause."""

    literals: tuple[IndexedLiteral, ...]
    scope: Scope
    weight: int


class ComponentBatches:
    """The batches of clauses of a component, and bounds for each variable that `forall` binds."""

    def __init__(self, component: IndexedComponent) -> None:
        kinds = component.kinds
        self._weighted = _collect_weights(component)
        self.unconditional = _batch_clauses(kinds, self._weighted)
        self.forall_bounds = tuple(
            _bounds_of_forall(variable, self._weighted) for variable, kind in enumerate(kinds) if kind == "forall"
        )
        # For each variable, the number of variables and the row of each literal about it, and its axis.
        self.literal_rows: tuple[tuple[tuple[int, int, int], ...], ...] = tuple(
            tuple(
                dict.fromkeys(
                    (len(literal.scope), literal.row, literal.scope.index(variable))
                    for literals, scope, _ in self._weighted
                    if variable in scope
                    for literal in literals
                    if variable in literal.scope
                )
            )
            for variable in range(len(kinds))
        )

    @cached_property
    def conditional(self) -> ClauseBatches:
        """The clauses, shortened under the assumption that the conditions of all `forall`s are met."""
        failing = {((bounds.variable,), int(row)) for bounds in self.forall_bounds for row in bounds.condition}
        if not failing:
            return self.unconditional
        shortened = []
        for literals, _, weight in self._weighted:
            remaining = tuple([literal for literal in literals if (literal.scope, literal.row) not in failing])
            scope = scope_of(remaining)
            if scope:  # what is left may be about the style, or empty, and is the same whatever is picked
                shortened.append(_ScopedWeight(remaining, scope, weight))
        return _batch_clauses(self.unconditional.kinds, shortened)


def _collect_weights(component: IndexedComponent) -> list[_ScopedWeight]:
    """Return the weighted clauses and class literals of a component, merging duplicates."""
    by_literals: dict[object, _ScopedWeight] = {}

    def add(literals: tuple[IndexedLiteral, ...], scope: Scope, weight: int) -> None:
        key = tuple([(literal.row, literal.scope) for literal in literals])
        previous = by_literals.get(key)
        by_literals[key] = _ScopedWeight(literals, scope, weight if previous is None else weight + previous.weight)

    for clause in component.clauses:
        add(clause.literals, clause.scope, clause.weight * component.clause_unit)
        for literal in clause.literals:
            if literal.is_class:
                add((literal,), literal.scope, 1)
    return list(by_literals.values())


def _batch_clauses(kinds: tuple[QuantifierKind, ...], everything: Sequence[_ScopedWeight]) -> ClauseBatches:
    alike: dict[object, list[_ScopedWeight]] = {}
    for weighted in everything:
        scope = weighted.scope
        # Candidates of variables that `forall` binds are narrowed: so their axes have lengths of their own.
        bound = tuple([variable if kinds[variable] == "forall" else None for variable in scope])
        layout = tuple([tuple([scope.index(variable) for variable in literal.scope]) for literal in weighted.literals])
        alike.setdefault((bound, layout), []).append(weighted)
    return ClauseBatches(kinds, tuple(_build_batch(group, kinds) for group in alike.values()))


def _build_batch(clauses: Sequence[_ScopedWeight], kinds: Sequence[QuantifierKind]) -> ClauseBatch:
    ordered = sorted(clauses, key=lambda weighted: weighted.scope)
    scopes = [weighted.scope for weighted in ordered]
    starts = [number for number, scope in enumerate(scopes) if number == 0 or scope != scopes[number - 1]]
    literals = []
    for alike in zip(*[weighted.literals for weighted in ordered], strict=True):
        places = alike[0].scope
        forall_axes = tuple((axis, variable) for axis, variable in enumerate(places, 1) if kinds[variable] == "forall")
        rows = np.array([literal.row for literal in alike], np.intp)
        broadcast = (slice(None), *broadcast_index(scopes[0], places))
        variables = tuple(np.array(axis, np.intp) for axis in zip(*[literal.scope for literal in alike], strict=True))
        literals.append(LiteralBatch(len(places), rows, forall_axes, broadcast, variables))
    weights = np.array([weighted.weight for weighted in ordered], np.int64)
    column = weights.reshape(len(ordered), *[1] * len(scopes[0]))
    return ClauseBatch(tuple(literals), column, tuple(scopes[start] for start in starts), np.array(starts, np.intp))


def _bounds_of_forall(variable: int, everything: Sequence[_ScopedWeight]) -> ForallBounds:
    bounds: dict[int, list[int]] = {}
    left_open = 0
    conditions: list[Collection[int]] = []
    for literals, scope, weight in everything:
        if variable not in scope:
            continue
        alone = [literal.row for literal in literals if literal.scope == (variable,)]
        if alone:
            bound = bounds.setdefault(alone[0], [0, 0])
            bound[0] += weight
            bound[1] += weight * (len(literals) == 1)
        if len(literals) > 1:
            conditions.append(alone)
        if len(literals) > 1 or not alone:
            left_open += weight
    condition = (
        [row for row in conditions[0] if all(row in other_rows for other_rows in conditions)] if conditions else []
    )
    return ForallBounds(
        variable,
        np.array(list(bounds), np.intp),
        np.array(list(bounds.values()), np.int64).reshape(len(bounds), 2).T,
        np.array([[0], [left_open]], np.int64),
        np.array(condition, np.intp),
    )
