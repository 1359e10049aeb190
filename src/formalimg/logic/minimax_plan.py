"""In which order the variables of a game are forgotten, and what is summed for it: the same for all scenes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.payoffs import Broadcast, IndexedComponent, IndexedLiteral, Scope, broadcast_index, scope_of
from formalimg.logic.prenex import QuantifierKind


class StepTable(NamedTuple):
    """A table, and how it is laid out over the variables of a step.

    Attributes:
        table: its number.
        transpose: in which order its axes are taken; None if as they are.
        broadcast: where axes are put between them, for variables that it does not speak of; None if it speaks of all.
    """

    table: int
    transpose: tuple[int, ...] | None
    broadcast: Broadcast | None


class StepSide(NamedTuple):
    """Tables that are summed up with each other first.

    Attributes:
        tables: the tables.
        axes: for each variable of the step, itself if one of the tables speaks of it, else None.
    """

    tables: tuple[StepTable, ...]
    axes: tuple[int | None, ...]


class EliminationStep(NamedTuple):
    """One variable is forgotten.

    Attributes:
        variable: which.
        scope: the variables of the tables that speak of it, itself first: along the first axis numbers lie far apart in
            memory, and the best of them are found several times faster than along others.
        maximize: whether its player wants a large sum.
        sides: one or two sides, the sum of which has all these variables; each speaks of the variable.
    """

    variable: int
    scope: Scope
    maximize: bool
    sides: tuple[StepSide, ...]


@lru_cache(maxsize=4096)
def elimination_steps(
    kinds: tuple[QuantifierKind, ...], scopes: tuple[Scope, ...], reorder: bool
) -> tuple[EliminationStep, ...]:
    """The steps in which a game is played.

    The last variables go first. If `reorder`, of neighbours in the prefix that belong to the same player, the order of
    which does not matter to what they are worth, that one goes which joins the fewest variables.

    Args:
        kinds: who picks the object of each variable.
        scopes: the variables of each table; every variable has one. Each step adds a table behind them.
        reorder: whether the order may differ from that of the prefix.
    """
    tables = list(enumerate(scopes))
    remaining = list(range(len(kinds)))
    steps: list[EliminationStep] = []
    while remaining:
        start = len(remaining) - 1
        while reorder and start and kinds[remaining[start - 1]] == kinds[remaining[-1]]:
            start -= 1
        joined = {
            variable: {other for _, scope in tables if variable in scope for other in scope}
            for variable in remaining[start:]
        }
        variable = min(joined, key=lambda name: len(joined[name]))
        others = tuple(sorted(joined[variable] - {variable}))
        scope = (variable, *others)
        sides = _split_sides([table for table in tables if variable in table[1]], scope)
        steps.append(EliminationStep(variable, scope, kinds[variable] == "exists", sides))
        tables = [table for table in tables if variable not in table[1]]
        tables.append((len(scopes) + len(steps) - 1, others))
        remaining.remove(variable)
    return tuple(steps)


def _split_sides(tables: Sequence[tuple[int, Scope]], scope: Scope) -> tuple[StepSide, ...]:
    """One side that speaks of all variables if a single table does, else two that do not: their sum is large."""
    left = sorted(tables, key=lambda table: (-len(table[1]), table[1]))
    sides: list[list[tuple[int, Scope]]] = []
    while left:
        covered: set[int] = set()
        side: list[tuple[int, Scope]] = []
        for table in left:
            wider = covered.union(table[1])
            if not side or wider == covered or len(wider) < len(scope) or sides:
                side.append(table)
                covered = wider
        sides.append(side)
        left = [table for table in left if table not in side]
    return tuple(_step_side(side, scope) for side in sides)


def _step_side(tables: Sequence[tuple[int, Scope]], scope: Scope) -> StepSide:
    # Small ones first, and those of the same variables together: then few sums are as large as the last.
    ordered = sorted(tables, key=lambda table: (len(table[1]), table[1], table[0]))
    spoken = {place for _, table_scope in tables for place in table_scope}
    step_tables = tuple(_step_table(number, table_scope, scope) for number, table_scope in ordered)
    return StepSide(step_tables, tuple(place if place in spoken else None for place in scope))


def _step_table(number: int, table_scope: Scope, scope: Scope) -> StepTable:
    order = [place for place in scope if place in table_scope]
    transpose = None if order == list(table_scope) else tuple(map(table_scope.index, order))
    return StepTable(number, transpose, None if len(table_scope) == len(scope) else broadcast_index(scope, table_scope))


Rows: TypeAlias = NDArray[np.intp]
IntArray: TypeAlias = NDArray[np.int64]


class LiteralBatch(NamedTuple):
    """The literals of one place in stacked clauses.

    Attributes:
        axes: how many variables each has.
        rows: what they ask for, clause by clause.
        forall_axes: the variables of theirs that `forall` binds, each behind its axis.
        broadcast: how they are laid out over the variables of the clauses.
    """

    axes: int
    rows: Rows
    forall_axes: tuple[tuple[int, int], ...]
    broadcast: Broadcast


class ClauseBatch(NamedTuple):
    """Clauses that are laid out alike.

    Attributes:
        literals: their literals: the first of each clause, the second of each, and so on.
        weights: what each clause is weight, one below the other.
        scopes: their variables, each set of them once.
        starts: the first clause of each scope.
    """

    literals: tuple[LiteralBatch, ...]
    weights: IntArray
    scopes: tuple[Scope, ...]
    starts: Rows


class ForallBounds(NamedTuple):
    """What a pick for a variable that `forall` binds is weight, as far as what is key of that variable alone tells it.

    Attributes:
        variable: which.
        rows: what is key of it alone.
        bounds: what each of these adds, where it holds, to the least and to the most that a pick is weight.
        open_weight: what else may add to each.
        condition: which of these stand in all its clauses of several literals: they fail where its condition applies.
    """

    variable: int
    rows: Rows
    bounds: IntArray
    open_weight: IntArray
    condition: Rows


@dataclass(frozen=True, eq=False)
class ClauseBatches:
    """All clauses of a component.

    Attributes:
        kinds: who picks the object of each variable.
        batches: the clauses.
    """

    kinds: tuple[QuantifierKind, ...]
    batches: tuple[ClauseBatch, ...]

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The variables of each table that is played over: first each variable alone, then those that clauses join."""
        alone = [(place,) for place in range(len(self.kinds))]
        return (*alone, *(scope for stack in self.batches for scope in stack.scopes if len(scope) > 1))

    @cached_property
    def reordered_steps(self) -> tuple[EliminationStep, ...]:
        """In which steps variables are forgotten, in the order that suits best."""
        return elimination_steps(self.kinds, self.scopes, True)

    @cached_property
    def prefix_steps(self) -> tuple[EliminationStep, ...]:
        """In which steps variables are forgotten, in the order of the prefix."""
        return elimination_steps(self.kinds, self.scopes, False)


class _WeightedClause(NamedTuple):
    """A clause, or what one says of a class besides, and its weight."""

    literals: tuple[IndexedLiteral, ...]
    scope: Scope
    weight: int


class ComponentBatches:
    """A component, stacked.

    Attributes:
        unconditional: its clauses.
        forall_bounds: what is known of each variable that `forall` binds.
        max_scope: the most variables that a clause has.
    """

    def __init__(self, component: IndexedComponent) -> None:
        """ClauseBatch the clauses of a component."""
        kinds = component.kinds
        self._weighted = _weighted(component)
        self.unconditional = _batch_clauses(kinds, self._weighted)
        self.forall_bounds = tuple(
            _bounds_of_forall(place, self._weighted) for place, kind in enumerate(kinds) if kind == "forall"
        )
        self.max_scope = max([1, *(len(weighted.scope) for weighted in self._weighted)])

    @cached_property
    def conditional(self) -> ClauseBatches:
        """Its clauses where the conditions of all `forall`s apply, which makes them shorter."""
        failing = {((bounds.variable,), int(row)) for bounds in self.forall_bounds for row in bounds.condition}
        if not failing:
            return self.unconditional
        left = []
        for literals, _, weight in self._weighted:
            kept = tuple([literal for literal in literals if (literal.scope, literal.row) not in failing])
            scope = scope_of(kept)
            if scope:  # what is left may speak of the style, or of nothing, and is the same whatever is picked
                left.append(_WeightedClause(kept, scope, weight))
        return _batch_clauses(self.unconditional.kinds, left)


def _weighted(component: IndexedComponent) -> list[_WeightedClause]:
    """What is weight something, each once: clauses, and what their literals say rightly of classes."""
    found: dict[object, _WeightedClause] = {}

    def add(literals: tuple[IndexedLiteral, ...], scope: Scope, weight: int) -> None:
        key = tuple([(literal.row, literal.scope) for literal in literals])
        known = found.get(key)
        found[key] = _WeightedClause(literals, scope, weight if known is None else weight + known.weight)

    for clause in component.clauses:
        add(clause.literals, clause.scope, clause.weight * component.clause_unit)
        for literal in clause.literals:
            if literal.is_class:
                add((literal,), literal.scope, 1)
    return list(found.values())


def _batch_clauses(kinds: tuple[QuantifierKind, ...], everything: Sequence[_WeightedClause]) -> ClauseBatches:
    alike: dict[object, list[_WeightedClause]] = {}
    for weighted in everything:
        scope = weighted.scope
        # Objects are left out for variables that `forall` binds: so the axes of these have lengths of their own.
        bound = tuple([place if kinds[place] == "forall" else None for place in scope])
        layout = tuple([tuple([scope.index(place) for place in literal.scope]) for literal in weighted.literals])
        alike.setdefault((bound, layout), []).append(weighted)
    return ClauseBatches(kinds, tuple(_batch(found, kinds) for found in alike.values()))


def _batch(found: Sequence[_WeightedClause], kinds: Sequence[QuantifierKind]) -> ClauseBatch:
    ordered = sorted(found, key=lambda weighted: weighted.scope)
    scopes = [weighted.scope for weighted in ordered]
    starts = [number for number, scope in enumerate(scopes) if number == 0 or scope != scopes[number - 1]]
    literals = []
    for alike in zip(*[weighted.literals for weighted in ordered], strict=True):
        places = alike[0].scope
        forall_axes = tuple((axis, place) for axis, place in enumerate(places, 1) if kinds[place] == "forall")
        rows = np.array([literal.row for literal in alike], np.intp)
        literals.append(
            LiteralBatch(len(places), rows, forall_axes, (slice(None), *broadcast_index(scopes[0], places)))
        )
    weights = np.array([weighted.weight for weighted in ordered], np.int64)
    column = weights.reshape(len(ordered), *[1] * len(scopes[0]))
    return ClauseBatch(tuple(literals), column, tuple(scopes[start] for start in starts), np.array(starts, np.intp))


def _bounds_of_forall(place: int, everything: Sequence[_WeightedClause]) -> ForallBounds:
    bounds: dict[int, list[int]] = {}
    left_open = 0
    conditions: list[Collection[int]] = []
    for literals, scope, weight in everything:
        if place not in scope:
            continue
        alone = [literal.row for literal in literals if literal.scope == (place,)]
        if alone:
            bound = bounds.setdefault(alone[0], [0, 0])
            bound[0] += weight
            bound[1] += weight * (len(literals) == 1)
        if len(literals) > 1:
            conditions.append(alone)
        if len(literals) > 1 or not alone:
            left_open += weight
    condition = [row for row in conditions[0] if all(row in others for others in conditions)] if conditions else []
    return ForallBounds(
        place,
        np.array(list(bounds), np.intp),
        np.array(list(bounds.values()), np.int64).reshape(len(bounds), 2).T,
        np.array([[0], [left_open]], np.int64),
        np.array(condition, np.intp),
    )
