"""Play the minimax game over clauses, in which `exists` maximizes and `forall` minimizes the clauses that hold.

Players move in prefix order, knowing all earlier moves. The last variable is eliminated first, by the best value for
its player, which leaves a table over its neighbours. This is done in one pass if all tables are small, else move by
move, or object by object if a table would be too large. All give the same, exact play.

In one pass, adjacent variables of the same player are eliminated in the cheapest order. The best play must then be
unique, because it would otherwise depend on this order. Each pick therefore also counts by its position in the scene:
less than any clause or class, and more for earlier variables. If these numbers would be too large, the order of the
prefix is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from formalimg.logic.prenex import QuantifierKind
from formalimg.logic.soft_score.clause_index import IndexedComponent, Scope
from formalimg.logic.soft_score.minimax_plan import (
    Candidates,
    ClauseBatches,
    EliminationStep,
    ForallBounds,
    IntArray,
    StepSide,
)
from formalimg.logic.soft_score.payoffs import MAX_AXES, NumberArray, Payoff, PayoffTable, TruthTables

MAX_CELLS = 4_000_000  # The maximum cells of a table; above it, a variable is tried value by value
MAX_WORK = 1_000_000_000  # The maximum cells that are filled for one game, which takes a fraction of a second
_ARRAY_OVERHEAD = 5_000  # The fixed cost of an array operation, in cells
_MAX_ARRAY_CELLS = 100_000
"""Up to this many cells are computed at once; above it, going through the objects of one variable is faster."""

_MAX_ONE_PASS_CELLS = 1_000_000
"""Up to this many cells per table, a game is played in one pass, which is faster than move by move."""

_TOO_LARGE = 2**62  # Sums stay below this, so that 64 bits are enough
_MAX_BATCH_CELLS = 200_000
"""Up to this many cells are filled at once; more would leave the cache: these go object by object, clause by clause."""


class TooEntangledError(Exception):
    """Raised if a game would take more than `MAX_WORK` steps. Internal to this package."""


class Move(NamedTuple):
    """The object picked by a player and the resulting value of the game."""

    obj: int
    value: int


def minimax_play(component: IndexedComponent, truth: TruthTables) -> list[int]:
    """Return the object picked for each variable under optimal play, choosing the first object on ties."""
    if truth.objects == 1:
        return [0] * len(component.kinds)
    if component.max_scope > MAX_AXES:
        raise TooEntangledError
    if component.credit_unit == 1:
        play = play_in_one_pass(component, truth, min(_MAX_ONE_PASS_CELLS, MAX_CELLS, MAX_WORK))
        if play is not None:
            return play
    elif component.max_payoff >= _TOO_LARGE:  # the payoffs of counts are fine-grained
        raise TooEntangledError
    game = _Minimax(component.kinds, truth.objects)
    payoffs = game.compact(truth.clause_payoffs(component))
    play = []
    for variable in range(len(component.kinds)):
        near, far = _split_connected(variable, payoffs)
        later = sorted({neighbour for payoff in near for neighbour in payoff.variables} - {variable})
        obj = game.move(variable, later, near).obj
        play.append(obj)
        payoffs = far + [payoff.fix(variable, obj) for payoff in near]
    return play


# --- one pass, where all tables are small


def play_in_one_pass(component: IndexedComponent, truth: TruthTables, max_cells: int) -> list[int] | None:
    """Return the same play as `minimax_play`, or None if a table would have more than `max_cells` cells."""
    objects, kinds = truth.objects, component.kinds
    if objects**component.max_scope > max_cells:
        return None
    batches = component.batches
    reorder = (component.max_payoff + 1) * objects ** len(kinds) < _TOO_LARGE
    unit = objects ** len(kinds) if reorder else 1  # larger than the sum of all tie breakers
    tables = list(_tie_breakers(kinds, objects, reorder))
    candidates: Candidates = [range(objects)] * len(kinds)
    forall_bounds = batches.forall_bounds if reorder else ()
    for bounds in forall_bounds:
        candidates[bounds.variable] = _forall_candidates(bounds, truth, unit, tables[bounds.variable])
        tables[bounds.variable] = tables[bounds.variable].take(candidates[bounds.variable])
    met = bool(forall_bounds) and all(_condition_applies(bounds, truth, candidates) for bounds in forall_bounds)
    selected = batches.conditional if met else batches.unconditional
    _add_payoffs(selected, truth, candidates, unit, tables)
    steps = selected.reordered_steps if reorder else selected.prefix_steps
    widest = max([len(step.scope) for step in steps])
    if widest > MAX_AXES:
        return None
    if objects**widest > min(_MAX_BATCH_CELLS, max_cells):

        def largest_sum() -> int:
            return max(prod([len(candidates[variable]) for variable in step.scope]) for step in steps)

        if largest_sum() > _MAX_BATCH_CELLS:
            for bounds in forall_bounds:
                _narrow_candidates(bounds.variable, selected.scopes, tables, candidates)
        if largest_sum() > max_cells:
            return None
    sides: list[list[IntArray]] = []
    for step in steps:
        summed = [_sum_side(side, tables) for side in step.sides]
        sides.append(summed)
        tables.append(_eliminate_variable(step, summed))
    return [candidates[variable][pick] for variable, pick in enumerate(_trace_play(steps, sides))]


def _forall_candidates(bounds: ForallBounds, truth: TruthTables, unit: int, ties: IntArray) -> list[int]:
    """Return the candidates by literals that mention no other variable: mostly those that meet the condition."""
    low, high = (bounds.bounds @ truth.rows(1, bounds.rows) + bounds.open_weight) * unit + ties
    return _possible_minima(low, high)


def _condition_applies(bounds: ForallBounds, truth: TruthTables, candidates: Candidates) -> bool:
    return not truth.rows(1, bounds.condition).take(candidates[bounds.variable], 1).any()


def _possible_minima(low: IntArray, high: IntArray) -> list[int]:
    """Return the objects that may have the smallest payoff, given lower and upper bounds."""
    possible = low < high.min()
    possible[high.argmin()] = True
    objects: list[int] = possible.nonzero()[0].tolist()
    return objects


def _narrow_candidates(variable: int, scopes: Sequence[Scope], tables: list[IntArray], candidates: Candidates) -> None:
    """Remove, in place, further `forall` candidates that cannot be optimal according to any table with the variable."""
    low: Any = 0
    high: Any = 0
    touching = [(number, scope.index(variable)) for number, scope in enumerate(scopes) if variable in scope]
    for number, axis in touching:
        other_axes = tuple([dimension for dimension in range(tables[number].ndim) if dimension != axis])
        low, high = low + tables[number].min(other_axes), high + tables[number].max(other_axes)
    possible = _possible_minima(low, high)
    for number, axis in touching:
        tables[number] = tables[number].take(possible, axis)
    candidates[variable] = [candidates[variable][obj] for obj in possible]


def _sum_side(side: StepSide, tables: Sequence[IntArray]) -> IntArray:
    total: Any = None
    for number, transpose, broadcast in side.tables:
        payoff = tables[number]
        if transpose is not None:
            payoff = payoff.transpose(transpose)
        if broadcast is not None:
            payoff = payoff[broadcast]
        total = payoff if total is None else total + payoff
    result: IntArray = total
    return result


def _eliminate_variable(step: EliminationStep, summed: Sequence[IntArray]) -> IntArray:
    """Eliminate the variable on the first axis by taking the maximum or minimum of the summed payoffs."""
    better = np.maximum if step.maximize else np.minimum
    best: IntArray
    if len(summed) == 1:
        best = better.reduce(summed[0])
        return best
    first_sum, second_sum = summed
    if first_sum.size * second_sum.size <= _MAX_BATCH_CELLS * len(first_sum):
        best = better.reduce(np.add(first_sum, second_sum, order="C"))
        return best
    best = first_sum[0] + second_sum[0]
    buffer = np.empty_like(best)
    for obj in range(1, len(first_sum)):
        better(best, np.add(first_sum[obj], second_sum[obj], out=buffer), out=best)
    return best


def _trace_play(steps: Sequence[EliminationStep], sides: Sequence[Sequence[IntArray]]) -> list[int]:
    """Return the object picked for each variable, reconstructed from the payoffs of the elimination steps."""
    play: list[Any] = [slice(None)] * len(steps)
    for step, summed in zip(reversed(steps), reversed(sides), strict=True):
        row: Any = None
        for side, payoff in zip(step.sides, summed, strict=True):
            picks = payoff[tuple([0 if variable is None else play[variable] for variable in side.axes])]
            row = picks if row is None else row + picks
        play[step.variable] = int(row.argmax() if step.maximize else row.argmin())
    return play


def _add_payoffs(
    selected: ClauseBatches, truth: TruthTables, candidates: Candidates, unit: int, tables: list[IntArray]
) -> None:
    """Add the payoffs of clauses to single-variable tables in place, and append tables for larger scopes."""
    for batch in selected.batches:
        at_once = truth.objects ** len(batch.scopes[0]) * len(batch.weights) <= _MAX_BATCH_CELLS
        compute = batch.payoffs if at_once else batch.payoffs_by_clause
        payoffs = compute(truth, candidates, unit)
        if len(batch.scopes[0]) > 1:
            tables.extend(payoffs)
        else:
            for (variable,), payoff in zip(batch.scopes, payoffs, strict=True):
                tables[variable] = tables[variable] + payoff


@lru_cache(maxsize=1024)
def _tie_breakers(kinds: tuple[QuantifierKind, ...], objects: int, broken: bool) -> tuple[IntArray, ...]:
    """Return small payoffs that make each player prefer earlier objects on ties, or zeros if `broken` is False."""
    later = np.arange(objects) if broken else np.zeros(objects, np.int64)
    ranks = [objects**position if broken else 1 for position in reversed(range(len(kinds)))]
    return tuple([later * (-rank if kind == "exists" else rank) for kind, rank in zip(kinds, ranks, strict=True)])


# --- move by move, where tables are larger


class _Minimax:
    def __init__(self, kinds: Sequence[QuantifierKind], objects: int) -> None:
        self.kinds = kinds
        self.objects = objects
        self.work_left = MAX_WORK

    def compact(self, payoffs: Sequence[Payoff]) -> list[Payoff]:
        """Combine payoffs over the same variables into single tables where these are small enough."""
        tables: dict[tuple[int, ...], NumberArray] = {}
        wide: list[Payoff] = []
        for payoff in payoffs:
            if self.objects ** len(payoff.variables) > _MAX_ARRAY_CELLS:
                wide.append(payoff)
                continue
            values = payoff.broadcast(payoff.variables)
            tables[payoff.variables] = tables[payoff.variables] + values if payoff.variables in tables else values
        return [*(PayoffTable(variables, values) for variables, values in tables.items()), *wide]

    def move(self, variable: int, later: Sequence[int], payoffs: Sequence[Payoff]) -> Move:
        """Return the best move for a variable, assuming optimal play of the later variables."""
        self.spend(payoffs)
        order = self.order(later, payoffs)
        if order is None:
            return self.branch(variable, later, payoffs)
        remaining = list(payoffs)
        for eliminated in order:
            remaining = self.eliminate(eliminated, remaining)
        values = np.broadcast_to(_sum_payoffs(remaining, (variable,)), (self.objects,))
        obj = int(values.argmax() if self.kinds[variable] == "exists" else values.argmin())
        return Move(obj, int(values[obj]))

    def order(self, later: Sequence[int], payoffs: Sequence[Payoff]) -> list[int] | None:
        """Return the elimination order of the later variables, or None if a table would be too large."""
        scopes = [frozenset(payoff.variables) for payoff in payoffs]
        remaining = list(later)
        order: list[int] = []
        while remaining:
            start = len(remaining) - 1
            while start and self.kinds[remaining[start - 1]] == self.kinds[remaining[-1]]:
                start -= 1
            joined = {
                variable: frozenset[int]().union(*[scope for scope in scopes if variable in scope])
                for variable in remaining[start:]
            }
            variable = min(joined, key=lambda name: len(joined[name]))
            table = joined[variable] - {variable}
            if self.objects ** len(table) > MAX_CELLS:
                return None
            scopes = [scope for scope in scopes if variable not in scope]
            scopes.append(table)
            remaining.remove(variable)
            order.append(variable)
        return order

    def eliminate(self, variable: int, payoffs: Sequence[Payoff]) -> list[Payoff]:
        """Return the remaining payoffs after optimal play of the variable."""
        touching: list[Payoff] = []
        untouched: list[Payoff] = []
        for payoff in payoffs:
            (touching if variable in payoff.variables else untouched).append(payoff)
        if not touching:
            return untouched
        variables = tuple(sorted({neighbour for payoff in touching for neighbour in payoff.variables}))
        self.spend(touching, self.objects ** len(variables))
        at = variables.index(variable)
        remaining_variables = variables[:at] + variables[at + 1 :]
        maximize = self.kinds[variable] == "exists"
        if self.objects ** len(variables) <= _MAX_ARRAY_CELLS:
            sums = _sum_payoffs(touching, variables)
            return [*untouched, PayoffTable(remaining_variables, sums.max(axis=at) if maximize else sums.min(axis=at))]
        better = np.maximum if maximize else np.minimum
        best = _sum_payoffs([payoff.fix(variable, 0) for payoff in touching], remaining_variables)
        for obj in range(1, self.objects):
            sums = _sum_payoffs([payoff.fix(variable, obj) for payoff in touching], remaining_variables)
            best = better(best, sums)
        return [*untouched, PayoffTable(remaining_variables, best)]

    def branch(self, variable: int, later: Sequence[int], payoffs: Sequence[Payoff]) -> Move:
        """Find the best move by trying every object for the variable."""
        maximize = self.kinds[variable] == "exists"
        following = self.next_branch_variable(later, payoffs)
        rest = [candidate for candidate in later if candidate != following]
        best: Move | None = None
        for obj in range(self.objects):
            fixed = [payoff.fix(variable, obj) for payoff in payoffs]
            bounds = [payoff.bounds() for payoff in fixed]
            if best is not None:
                lower, upper = sum(low for low, _ in bounds), sum(high for _, high in bounds)
                if upper <= best.value if maximize else lower >= best.value:
                    continue
            value = self.move(following, rest, fixed).value
            if best is None or (value > best.value if maximize else value < best.value):
                best = Move(obj, value)
        assert best is not None, "there is at least one object"
        return best

    def next_branch_variable(self, later: Sequence[int], payoffs: Sequence[Payoff]) -> int:
        """Return the variable with the most neighbours among those that may be picked next."""
        end = 1
        while end < len(later) and self.kinds[later[end]] == self.kinds[later[0]]:
            end += 1

        def entanglement(variable: int) -> int:
            return len(
                {neighbour for payoff in payoffs if variable in payoff.variables for neighbour in payoff.variables}
            )

        return max(later[:end], key=entanglement)

    def spend(self, payoffs: Sequence[Payoff], cells: int = 0) -> None:
        self.work_left -= (cells + _ARRAY_OVERHEAD) * sum(payoff.layers for payoff in payoffs)
        if self.work_left < 0:
            raise TooEntangledError


def _sum_payoffs(payoffs: Sequence[Payoff], variables: Sequence[int]) -> NumberArray:
    total = payoffs[0].broadcast(variables)
    for payoff in payoffs[1:]:
        total = total + payoff.broadcast(variables)
    return total


def _split_connected(variable: int, payoffs: Sequence[Payoff]) -> tuple[list[Payoff], list[Payoff]]:
    reached = {variable}
    near: list[Payoff] = []
    far = list(payoffs)
    growing = True
    while growing:
        touching = [payoff for payoff in far if not reached.isdisjoint(payoff.variables)]
        growing = bool(touching)
        near += touching
        far = [payoff for payoff in far if reached.isdisjoint(payoff.variables)]
        reached.update(neighbour for payoff in touching for neighbour in payoff.variables)
    return near, far
