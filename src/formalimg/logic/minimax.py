"""The game over clauses in one pass, where its tables are small: nearly unconditional.

Forgetting the variables from the last to the first leaves, for each, a table of what its picks are worth; reading these
from the first to the last gives the play, of equally good objects the first. The tables are smaller if variables that
one player picks in a row are forgotten in the order that suits best. Then the best play must be the only one, or it
would hang on that order. So ties are broken in the numbers themselves: each pick also counts by its place in the scene,
less than any clause or class does, and the more the earlier its variable is picked. Where the numbers would be too
large for that, the order of the prefix is candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.minimax_plan import ClauseBatch, ClauseBatches, EliminationStep, ForallBounds, StepSide
from formalimg.logic.payoffs import BoolArray, IndexedComponent, NumberArray, Payoff, PayoffTable, Scope, TruthTables
from formalimg.logic.prenex import QuantifierKind

IntArray: TypeAlias = NDArray[np.int64]

Candidates: TypeAlias = list[Sequence[int]]
"""The objects that each variable may stand for."""

_TOO_LARGE = 2**62
"""Sums stay below this, so that 64 bits are enough."""

_MAX_BATCH_CELLS = 200_000
"""Up to so many cells are filled in one go; more leave the cache, and are filled object by object, clause by clause."""


def play_in_one_pass(component: IndexedComponent, truth: TruthTables, max_cells: int) -> list[int] | None:
    """The object that each variable stands for if both players play best; of equally good objects the first.

    Args:
        component: the clauses, and who picks the object of each variable.
        truth: where their literals hold.
        max_cells: the largest table to look at.

    Returns:
        The play; None if a table would be too large.
    """
    objects, kinds, batches = truth.objects, component.kinds, component.batches
    if objects**batches.max_scope > max_cells:
        return None
    reorder = (component.max_payoff + 1) * objects ** len(kinds) < _TOO_LARGE
    unit = objects ** len(kinds) if reorder else 1  # more than all that breaks ties
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
    if objects ** max([len(step.scope) for step in steps]) > min(_MAX_BATCH_CELLS, max_cells):
        if _largest_sum(steps, candidates) > _MAX_BATCH_CELLS:
            for bounds in forall_bounds:
                _narrow_candidates(bounds.variable, selected.scopes, tables, candidates)
        if _largest_sum(steps, candidates) > max_cells:
            return None
    sides: list[list[IntArray]] = []
    for step in steps:
        summed = [_sum_side(side, tables) for side in step.sides]
        sides.append(summed)
        tables.append(_eliminate(step, summed))
    return [candidates[variable][pick] for variable, pick in enumerate(_backtrack(steps, sides))]


# --- objects that are left out


def _forall_candidates(bounds: ForallBounds, truth: TruthTables, unit: int, ties: IntArray) -> list[int]:
    """The objects that may be best for a `forall`, by what is said of each alone.

    Mostly, these are the objects to which its condition applies: others break no clause.
    """
    least, most = (bounds.bounds @ truth.rows(1, bounds.rows) + bounds.open_weight) * unit + ties
    return _possible_minima(least, most)


def _possible_minima(least: IntArray, most: IntArray) -> list[int]:
    """Which objects can be worth least, each being worth something between these bounds."""
    possible = least < most.min()
    possible[most.argmin()] = True
    found: list[int] = possible.nonzero()[0].tolist()
    return found


def _condition_applies(bounds: ForallBounds, truth: TruthTables, candidates: Candidates) -> bool:
    """Whether the condition of a `forall` applies to all objects that are left for it."""
    return not truth.rows(1, bounds.condition).take(candidates[bounds.variable], 1).any()


def _narrow_candidates(variable: int, scopes: Sequence[Scope], tables: list[IntArray], candidates: Candidates) -> None:
    """Leave out more objects that cannot be best for a `forall`, by all that is said. It changes tables and candidates."""
    least: Any = 0
    most: Any = 0
    touching = [(number, scope.index(variable)) for number, scope in enumerate(scopes) if variable in scope]
    for number, axis in touching:
        others = tuple([other for other in range(tables[number].ndim) if other != axis])
        least, most = least + tables[number].min(others), most + tables[number].max(others)
    possible = _possible_minima(least, most)
    for number, axis in touching:
        tables[number] = tables[number].take(possible, axis)
    candidates[variable] = [candidates[variable][obj] for obj in possible]


def _largest_sum(steps: Sequence[EliminationStep], candidates: Candidates) -> int:
    """The cells of the largest sum."""
    sizes = [len(objects) for objects in candidates]
    return max([prod([sizes[variable] for variable in step.scope]) for step in steps])


# --- forgetting, and reading back


def _sum_side(side: StepSide, tables: Sequence[IntArray]) -> IntArray:
    total: Any = None
    for number, transpose, broadcast in side.tables:
        payoff = tables[number]
        if transpose is not None:
            payoff = payoff.transpose(transpose)
        if broadcast is not None:
            payoff = payoff[broadcast]
        total = payoff if total is None else total + payoff
    found: IntArray = total
    return found


def _eliminate(step: EliminationStep, summed: Sequence[IntArray]) -> IntArray:
    """What positions are worth once a variable, that of the first axis, is picked best."""
    better = np.maximum if step.maximize else np.minimum
    best: IntArray
    if len(summed) == 1:
        best = better.reduce(summed[0])
        return best
    one, other = summed
    if one.size * other.size <= _MAX_BATCH_CELLS * len(one):
        best = better.reduce(np.add(one, other, order="C"))
        return best
    best = one[0] + other[0]
    buffer = np.empty_like(best)
    for obj in range(1, len(one)):
        better(best, np.add(one[obj], other[obj], out=buffer), out=best)
    return best


def _backtrack(steps: Sequence[EliminationStep], sides: Sequence[Sequence[IntArray]]) -> list[int]:
    """What each variable stands for, from what its picks are worth."""
    play: list[Any] = [slice(None)] * len(steps)
    for step, summed in zip(reversed(steps), reversed(sides), strict=True):
        row: Any = None
        for side, payoff in zip(step.sides, summed, strict=True):
            picks = payoff[tuple([0 if variable is None else play[variable] for variable in side.axes])]
            row = picks if row is None else row + picks
        play[step.variable] = int(row.argmax() if step.maximize else row.argmin())
    return play


# --- what picks are worth


def _add_payoffs(
    selected: ClauseBatches, truth: TruthTables, candidates: Candidates, unit: int, tables: list[IntArray]
) -> None:
    """Add what clauses are worth: to the table of a variable, or as tables of several."""
    for batch in selected.batches:
        at_once = truth.objects ** len(batch.scopes[0]) * len(batch.weights) <= _MAX_BATCH_CELLS
        found_payoffs = (
            _batch_payoffs(batch, truth, candidates, unit)
            if at_once
            else _batch_payoffs_by_clause(batch, truth, candidates, unit)
        )
        if len(batch.scopes[0]) > 1:
            tables.extend(found_payoffs)
        else:
            for (variable,), payoff in zip(batch.scopes, found_payoffs, strict=True):
                tables[variable] = tables[variable] + payoff


def _batch_payoffs(batch: ClauseBatch, truth: TruthTables, candidates: Candidates, unit: int) -> IntArray:
    """What picks are worth by batches clauses: a table for each of their scopes."""
    payoff: IntArray = _where_true(batch, truth, candidates, slice(None)) * (batch.weights * unit)
    return payoff if len(batch.scopes) == len(payoff) else np.add.reduceat(payoff, batch.starts)


def _batch_payoffs_by_clause(
    batch: ClauseBatch, truth: TruthTables, candidates: Candidates, unit: int
) -> list[IntArray]:
    """The same with less buffer."""
    found: list[Any] = [0] * len(batch.scopes)
    for clause in range(len(batch.weights)):
        scope = int(np.searchsorted(batch.starts, clause, side="right")) - 1
        [holds] = _where_true(batch, truth, candidates, slice(clause, clause + 1))
        found[scope] = found[scope] + holds * (batch.weights[clause] * unit)
    return found


def _where_true(batch: ClauseBatch, truth: TruthTables, candidates: Candidates, chosen: slice) -> BoolArray:
    """Where some of the clauses of a batch hold."""
    found: Any = None
    for axes, rows, forall_axes, broadcast in batch.literals:
        where = truth.rows(axes, rows[chosen])
        for axis, variable in forall_axes:
            where = where.take(candidates[variable], axis)
        spread = where[broadcast]
        found = spread if found is None else found | spread
    holds: BoolArray = found
    return holds


@lru_cache(maxsize=1024)
def _tie_breakers(kinds: tuple[QuantifierKind, ...], objects: int, broken: bool) -> tuple[IntArray, ...]:
    """For each variable, by how little an earlier object is better for its player; nothing if ties are not broken."""
    later = np.arange(objects) if broken else np.zeros(objects, np.int64)
    ranks = [objects**place if broken else 1 for place in reversed(range(len(kinds)))]
    return tuple([later * (-rank if kind == "exists" else rank) for kind, rank in zip(kinds, ranks, strict=True)])


MAX_CELLS = 4_000_000
"""The most cells that a table may have; past it, a variable is tried value by value."""

MAX_WORK = 10_000_000_000
"""The most cells that are filled for one game, which takes some seconds."""

_ARRAY_OVERHEAD = 5_000
"""How many cells are filled in the time that an array takes however small it is."""

_MAX_ARRAY_CELLS = 100_000
"""Up to so many cells are computed in one go; for more, it is faster to go through the objects of one variable."""


_MAX_ONE_PASS_CELLS = 1_000_000
"""Up to so many cells in each of its tables, a game is played in one pass, which is faster than move by move."""


class TooEntangledError(Exception):
    """A game would take more than MAX_WORK. Never leaves this package."""


class Move(NamedTuple):
    """The object that a player picks, and what the game is then value."""

    obj: int
    value: int


def minimax_play(component: IndexedComponent, truth: TruthTables) -> list[int]:
    """The object that each variable stands for if both players play best; of equally good objects the first.

    Args:
        component: the clauses, and who picks the object of each variable.
        truth: where their literals hold; there is at least one object.

    Raises:
        TooEntangledError: if it would take more than MAX_WORK.
    """
    play = play_in_one_pass(component, truth, min(_MAX_ONE_PASS_CELLS, MAX_CELLS, MAX_WORK))
    if play is not None:
        return play
    game = _Minimax(component.kinds, truth.objects)
    left = game.compact(truth.clause_payoffs(component))
    play = []
    for variable in range(len(component.kinds)):
        near, far = _split_connected(variable, left)
        later = sorted({other for payoff in near for other in payoff.variables} - {variable})
        obj = game.move(variable, later, near).obj
        play.append(obj)
        left = far + [payoff.fix(variable, obj) for payoff in near]
    return play


class _Minimax:
    def __init__(self, kinds: Sequence[QuantifierKind], objects: int) -> None:
        self.kinds = kinds
        self.objects = objects
        self.work_left = MAX_WORK

    def compact(self, payoffs: Sequence[Payoff]) -> list[Payoff]:
        """The same payoffs, those of the same variables in one table where there is room for it."""
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
        """The best move, if the later variables are played best."""
        self.spend(payoffs)
        order = self.order(later, payoffs)
        if order is None:
            return self.branch(variable, later, payoffs)
        left = list(payoffs)
        for other in order:
            left = self.eliminate(other, left)
        values = np.broadcast_to(_sum_payoffs(left, (variable,)), (self.objects,))
        obj = int(values.argmax() if self.kinds[variable] == "exists" else values.argmin())
        return Move(obj, int(values[obj]))

    def order(self, later: Sequence[int], payoffs: Sequence[Payoff]) -> list[int] | None:
        """In which order to eliminate the later variables; None if a table would be too large.

        The last ones go first. Of neighbours in the prefix that belong to the same player, the order of which does not
        matter, that one which leaves the smallest table.
        """
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
        """What the payoffs are value if the variable is played last and best."""
        touching: list[Payoff] = []
        others: list[Payoff] = []
        for payoff in payoffs:
            (touching if variable in payoff.variables else others).append(payoff)
        if not touching:
            return others
        variables = tuple(sorted({other for payoff in touching for other in payoff.variables}))
        self.spend(touching, self.objects ** len(variables))
        at = variables.index(variable)
        left = variables[:at] + variables[at + 1 :]
        maximize = self.kinds[variable] == "exists"
        if self.objects ** len(variables) <= _MAX_ARRAY_CELLS:
            sums = _sum_payoffs(touching, variables)
            return [*others, PayoffTable(left, sums.max(axis=at) if maximize else sums.min(axis=at))]
        better = np.maximum if maximize else np.minimum
        best = _sum_payoffs([payoff.fix(variable, 0) for payoff in touching], left)
        for obj in range(1, self.objects):
            sums = _sum_payoffs([payoff.fix(variable, obj) for payoff in touching], left)
            best = better(best, sums)
        return [*others, PayoffTable(left, best)]

    def branch(self, variable: int, later: Sequence[int], payoffs: Sequence[Payoff]) -> Move:
        """The best move, by fixing the variable to one object after the other."""
        maximize = self.kinds[variable] == "exists"
        following = self.next_branch_variable(later, payoffs)
        rest = [other for other in later if other != following]
        best: Move | None = None
        for obj in range(self.objects):
            fixed = [payoff.fix(variable, obj) for payoff in payoffs]
            bounds = [payoff.bounds() for payoff in fixed]
            if best is not None:
                least, most = sum(low for low, _ in bounds), sum(high for _, high in bounds)
                if most <= best.value if maximize else least >= best.value:
                    continue
            value = self.move(following, rest, fixed).value
            if best is None or (value > best.value if maximize else value < best.value):
                best = Move(obj, value)
        assert best is not None, "there is at least one object"
        return best

    def next_branch_variable(self, later: Sequence[int], payoffs: Sequence[Payoff]) -> int:
        """Of the variables that may be picked next, because one player picks them in a row, the most entangled one."""
        end = 1
        while end < len(later) and self.kinds[later[end]] == self.kinds[later[0]]:
            end += 1

        def entanglement(variable: int) -> int:
            return len({other for payoff in payoffs if variable in payoff.variables for other in payoff.variables})

        return max(later[:end], key=entanglement)

    def spend(self, payoffs: Sequence[Payoff], cells: int = 0) -> None:
        self.work_left -= (cells + _ARRAY_OVERHEAD) * sum(payoff.layers for payoff in payoffs)
        if self.work_left < 0:
            raise TooEntangledError


def _sum_payoffs(payoffs: Sequence[Payoff], variables: Sequence[int]) -> NumberArray:
    """The sum of payoffs as an array over these variables."""
    total = payoffs[0].broadcast(variables)
    for payoff in payoffs[1:]:
        total = total + payoff.broadcast(variables)
    return total


def _split_connected(variable: int, payoffs: Sequence[Payoff]) -> tuple[list[Payoff], list[Payoff]]:
    """The payoffs that hang together with a variable, directly or by way of others; and the rest."""
    reached = {variable}
    near: list[Payoff] = []
    far = list(payoffs)
    growing = True
    while growing:
        touching = [payoff for payoff in far if not reached.isdisjoint(payoff.variables)]
        growing = bool(touching)
        near += touching
        far = [payoff for payoff in far if reached.isdisjoint(payoff.variables)]
        reached.update(other for payoff in touching for other in payoff.variables)
    return near, far
