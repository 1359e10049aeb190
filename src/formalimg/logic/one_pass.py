"""The game over clauses in one pass, where its tables are small: nearly always.

Forgetting the variables from the last to the first leaves, for each, a table of what its picks are worth; reading these
from the first to the last gives the play, of equally good objects the first. The tables are smaller if variables that
one player picks in a row are forgotten in the order that suits best. Then the best play must be the only one, or it
would hang on that order. So ties are broken in the numbers themselves: each pick also counts by its place in the scene,
less than any clause or class does, and the more the earlier its variable is picked. Where the numbers would be too
large for that, the order of the prefix is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.forgetting import Side, Step
from formalimg.logic.lifting import QuantifierKind
from formalimg.logic.payoffs import Payoffs, Truth
from formalimg.logic.places import PlacedComponent, Scope
from formalimg.logic.stacks import Doubt, Stack, Stacks

Worths: TypeAlias = NDArray[np.int64]

Kept: TypeAlias = list[Sequence[int]]
"""The objects that each variable may stand for."""

_TOO_LARGE = 2**62
"""Sums stay below this, so that 64 bits are enough."""

_AT_ONCE = 200_000
"""Up to so many cells are filled in one go; more leave the cache, and are filled object by object, clause by clause."""


def play_in_one_pass(component: PlacedComponent, payoffs: Payoffs, most_cells: int) -> list[int] | None:
    """The object that each variable stands for if both players play best; of equally good objects the first.

    Args:
        component: the clauses, and who picks the object of each variable.
        payoffs: where their literals hold.
        most_cells: the largest table to look at.

    Returns:
        The play; None if a table would be too large.
    """
    objects, kinds, stacked = payoffs.objects, component.kinds, component.stacked
    if objects**stacked.widest > most_cells:
        return None
    freely = (component.most + 1) * objects ** len(kinds) < _TOO_LARGE
    unit = objects ** len(kinds) if freely else 1  # more than all that breaks ties
    tables = list(_ties(kinds, objects, freely))
    kept: Kept = [range(objects)] * len(kinds)
    doubts = stacked.doubts if freely else ()
    for doubt in doubts:
        kept[doubt.variable] = _hopeful(doubt, payoffs, unit, tables[doubt.variable])
        tables[doubt.variable] = tables[doubt.variable].take(kept[doubt.variable])
    met = bool(doubts) and all(_is_met(doubt, payoffs, kept) for doubt in doubts)
    stacks = stacked.if_met if met else stacked.always
    _weigh(stacks, payoffs, kept, unit, tables)
    steps = stacks.free_steps if freely else stacks.ordered_steps
    if objects ** max([len(step.scope) for step in steps]) > min(_AT_ONCE, most_cells):
        if _largest(steps, kept) > _AT_ONCE:
            for doubt in doubts:
                _narrow(doubt.variable, stacks.scopes, tables, kept)
        if _largest(steps, kept) > most_cells:
            return None
    sides: list[list[Worths]] = []
    for step in steps:
        summed = [_summed(side, tables) for side in step.sides]
        sides.append(summed)
        tables.append(_forgotten(step, summed))
    return [kept[variable][pick] for variable, pick in enumerate(_read_back(steps, sides))]


# --- objects that are left out


def _hopeful(doubt: Doubt, payoffs: Payoffs, unit: int, ties: Worths) -> list[int]:
    """The objects that may be best for a `forall`, by what is said of each alone.

    Mostly, these are the objects to which its condition applies: others break no clause.
    """
    least, most = (doubt.bounds @ payoffs.rows(1, doubt.rows) + doubt.open) * unit + ties
    return _possibly_least(least, most)


def _possibly_least(least: Worths, most: Worths) -> list[int]:
    """Which objects can be worth least, each being worth something between these bounds."""
    hoped = least < most.min()
    hoped[most.argmin()] = True
    found: list[int] = hoped.nonzero()[0].tolist()
    return found


def _is_met(doubt: Doubt, payoffs: Payoffs, kept: Kept) -> bool:
    """Whether the condition of a `forall` applies to all objects that are left for it."""
    return not payoffs.rows(1, doubt.condition).take(kept[doubt.variable], 1).any()


def _narrow(variable: int, scopes: Sequence[Scope], tables: list[Worths], kept: Kept) -> None:
    """Leave out more objects that cannot be best for a `forall`, by all that is said. It changes tables and kept."""
    least: Any = 0
    most: Any = 0
    speaking = [(number, scope.index(variable)) for number, scope in enumerate(scopes) if variable in scope]
    for number, axis in speaking:
        others = tuple([other for other in range(tables[number].ndim) if other != axis])
        least, most = least + tables[number].min(others), most + tables[number].max(others)
    hopeful = _possibly_least(least, most)
    for number, axis in speaking:
        tables[number] = tables[number].take(hopeful, axis)
    kept[variable] = [kept[variable][obj] for obj in hopeful]


def _largest(steps: Sequence[Step], kept: Kept) -> int:
    """The cells of the largest sum."""
    sizes = [len(objects) for objects in kept]
    return max([prod([sizes[variable] for variable in step.scope]) for step in steps])


# --- forgetting, and reading back


def _summed(side: Side, tables: Sequence[Worths]) -> Worths:
    total: Any = None
    for number, turned, spreading in side.tables:
        worths = tables[number]
        if turned is not None:
            worths = worths.transpose(turned)
        if spreading is not None:
            worths = worths[spreading]
        total = worths if total is None else total + worths
    found: Worths = total
    return found


def _forgotten(step: Step, summed: Sequence[Worths]) -> Worths:
    """What positions are worth once a variable, that of the first axis, is picked best."""
    better = np.maximum if step.seeks_more else np.minimum
    best: Worths
    if len(summed) == 1:
        best = better.reduce(summed[0])
        return best
    one, other = summed
    if one.size * other.size <= _AT_ONCE * len(one):
        best = better.reduce(np.add(one, other, order="C"))
        return best
    best = one[0] + other[0]
    room = np.empty_like(best)
    for obj in range(1, len(one)):
        better(best, np.add(one[obj], other[obj], out=room), out=best)
    return best


def _read_back(steps: Sequence[Step], sides: Sequence[Sequence[Worths]]) -> list[int]:
    """What each variable stands for, from what its picks are worth."""
    play: list[Any] = [slice(None)] * len(steps)
    for step, summed in zip(reversed(steps), reversed(sides), strict=True):
        row: Any = None
        for side, worths in zip(step.sides, summed, strict=True):
            picks = worths[tuple([0 if variable is None else play[variable] for variable in side.told])]
            row = picks if row is None else row + picks
        play[step.variable] = int(row.argmax() if step.seeks_more else row.argmin())
    return play


# --- what picks are worth


def _weigh(stacks: Stacks, payoffs: Payoffs, kept: Kept, unit: int, tables: list[Worths]) -> None:
    """Add what clauses are worth: to the table of a variable, or as tables of several."""
    for stack in stacks.stacks:
        at_once = payoffs.objects ** len(stack.scopes[0]) * len(stack.worths) <= _AT_ONCE
        weighed = _weighed(stack, payoffs, kept, unit) if at_once else _weighed_one_by_one(stack, payoffs, kept, unit)
        if len(stack.scopes[0]) > 1:
            tables.extend(weighed)
        else:
            for (variable,), worths in zip(stack.scopes, weighed, strict=True):
                tables[variable] = tables[variable] + worths


def _weighed(stack: Stack, payoffs: Payoffs, kept: Kept, unit: int) -> Worths:
    """What picks are worth by stacked clauses: a table for each of their scopes."""
    worths: Worths = _holding(stack, payoffs, kept, slice(None)) * (stack.worths * unit)
    return worths if len(stack.scopes) == len(worths) else np.add.reduceat(worths, stack.starts)


def _weighed_one_by_one(stack: Stack, payoffs: Payoffs, kept: Kept, unit: int) -> list[Worths]:
    """The same with less room."""
    found: list[Any] = [0] * len(stack.scopes)
    for clause in range(len(stack.worths)):
        scope = int(np.searchsorted(stack.starts, clause, side="right")) - 1
        [holds] = _holding(stack, payoffs, kept, slice(clause, clause + 1))
        found[scope] = found[scope] + holds * (stack.worths[clause] * unit)
    return found


def _holding(stack: Stack, payoffs: Payoffs, kept: Kept, chosen: slice) -> Truth:
    """Where some of the clauses of a stack hold."""
    found: Any = None
    for axes, rows, narrowed, spreading in stack.literals:
        where = payoffs.rows(axes, rows[chosen])
        for axis, variable in narrowed:
            where = where.take(kept[variable], axis)
        spread = where[spreading]
        found = spread if found is None else found | spread
    holds: Truth = found
    return holds


@lru_cache(maxsize=1024)
def _ties(kinds: tuple[QuantifierKind, ...], objects: int, broken: bool) -> tuple[Worths, ...]:
    """For each variable, by how little an earlier object is better for its player; nothing if ties are not broken."""
    later = np.arange(objects) if broken else np.zeros(objects, np.int64)
    ranks = [objects**place if broken else 1 for place in reversed(range(len(kinds)))]
    return tuple([later * (-rank if kind == "exists" else rank) for kind, rank in zip(kinds, ranks, strict=True)])
