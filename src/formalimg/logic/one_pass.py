"""The game over clauses in one pass, where its tables are small: nearly always.

Forgetting the variables from the last to the first leaves, for each, a table of what its picks are worth; reading these
from the first to the last gives the play, of equally good things the first. The tables are smaller if variables that
one player picks in a row are forgotten in the order that suits best. Then the best play must be the only one, or it
would hang on that order. So ties are broken in the numbers themselves: each pick also counts by its place in the scene,
less than any clause or class does, and the more the earlier its variable is picked. Where the numbers would be too
large for that, the order of the prefix is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.forgetting import Side, Step, steps_of
from formalimg.logic.payoffs import Payoffs
from formalimg.logic.places import PlacedComponent, Scope

Worths: TypeAlias = NDArray[np.int64]

_TOO_LARGE = 2**62
"""Sums stay below this, so that 64 bits are enough."""

_AT_ONCE = 10_000
"""Up to so many cells are summed in one go; more leave the cache, and are summed thing by thing."""


def play_in_one_pass(component: PlacedComponent, payoffs: Payoffs, most_cells: int) -> list[int] | None:
    """The thing that each variable stands for if both players play best; of equally good things the first.

    Args:
        component: the clauses, and who picks the thing of each variable.
        payoffs: where their literals hold.
        most_cells: the largest table to look at.

    Returns:
        The play; None if a table would be too large.
    """
    things, variables = payoffs.things, len(component.kinds)
    if things ** max(map(len, component.scopes)) > most_cells:
        return None
    freely = (component.most + 1) * things**variables < _TOO_LARGE
    steps = steps_of(component.kinds, component.scopes, freely)
    tables = _tables(component, payoffs, freely)
    kept: list[Sequence[int]] = [range(things)] * variables
    if freely and things ** max(len(step.scope) for step in steps) > _AT_ONCE:
        for variable, kind in enumerate(component.kinds):
            if kind == "forall":
                kept[variable] = _narrow(variable, component.scopes, tables)
    if max(prod([len(kept[variable]) for variable in step.scope]) for step in steps) > most_cells:
        return None
    sides: list[list[Worths]] = []
    for step in steps:
        summed = [_summed(side, tables) for side in step.sides]
        sides.append(summed)
        tables.append(_forgotten(step, summed))
    play = _read_back(steps, sides)
    return [kept[variable][pick] for variable, pick in enumerate(play)]


def _narrow(variable: int, scopes: Sequence[Scope], tables: list[Worths]) -> list[int]:
    """Leave out things that cannot be best for a `forall`, whatever else is picked; those that are left.

    Of the things to which its condition does not apply, one is left: they break no clause. The tables are changed.
    """
    least: Any = 0
    most: Any = 0
    speaking = [(number, scope.index(variable)) for number, scope in enumerate(scopes) if variable in scope]
    for number, axis in speaking:
        others = tuple([other for other in range(tables[number].ndim) if other != axis])
        least, most = least + tables[number].min(others), most + tables[number].max(others)
    hoped = least < most.min()
    hoped[most.argmin()] = True
    for number, axis in speaking:
        tables[number] = tables[number].compress(hoped, axis)
    return [int(thing) for thing in hoped.nonzero()[0]]


def _summed(side: Side, tables: Sequence[Worths]) -> Worths:
    (number, spreading), *others = side.tables
    total: Worths = tables[number][spreading]
    for number, spreading in others:
        total = total + tables[number][spreading]
    return total


def _forgotten(step: Step, summed: Sequence[Worths]) -> Worths:
    """What positions are worth once a variable is picked best."""
    if len(summed) == 1 or summed[0].size * summed[1].size <= _AT_ONCE * summed[0].shape[step.axis]:
        total = summed[0] if len(summed) == 1 else summed[0] + summed[1]
        best: Worths = total.max(step.axis) if step.seeks_more else total.min(step.axis)
        return best
    better = np.maximum if step.seeks_more else np.minimum
    one, other = (worths.swapaxes(0, step.axis) for worths in summed)
    best = one[0] + other[0]
    room = np.empty_like(best)
    for thing in range(1, len(one)):
        better(best, np.add(one[thing], other[thing], out=room), out=best)
    # The first axis stands where that of the variable was, so the axes between them are in the wrong order.
    return best if step.axis == 0 else np.moveaxis(best, step.axis - 1, 0)


def _read_back(steps: Sequence[Step], sides: Sequence[Sequence[Worths]]) -> list[int]:
    """What each variable stands for, from what its picks are worth."""
    play: list[Any] = [slice(None)] * len(steps)
    for step, summed in zip(reversed(steps), reversed(sides), strict=True):
        picks = [play[variable] for variable in step.scope]
        rows = [
            worths[tuple([pick if told else 0 for pick, told in zip(picks, side.speaks_of, strict=True)])]
            for side, worths in zip(step.sides, summed, strict=True)
        ]
        row = rows[0] if len(rows) == 1 else rows[0] + rows[1]
        play[step.variable] = int(row.argmax() if step.seeks_more else row.argmin())
    return play


def _tables(component: PlacedComponent, payoffs: Payoffs, ties_broken: bool) -> list[Worths]:
    """What picks are worth, as one table for each scope."""
    unit = payoffs.things ** len(component.kinds) if ties_broken else 1  # more than all that breaks ties
    found = _ties(component, payoffs.things, ties_broken)
    for literals, spread, scope, weight in component.clauses:
        worth = weight * component.one * unit
        if len(literals) == 1:
            worths: Any = payoffs.where(literals[0]) * (worth + unit * literals[0].of_class)
        else:
            holds: Any = False
            for literal, spreading in zip(literals, spread, strict=True):
                where = payoffs.where(literal)
                holds = holds | where[spreading]
                if literal.of_class:
                    found[literal.scope] = found[literal.scope] + where * unit
            worths = holds * worth
        known = found.get(scope)
        found[scope] = worths if known is None else known + worths
    return [found[scope] for scope in component.scopes]


def _ties(component: PlacedComponent, things: int, broken: bool) -> dict[Scope, Worths]:
    """For each variable, by how little an earlier thing is better for its player; nothing if ties are not broken."""
    later = np.arange(things) if broken else np.zeros(things, np.int64)
    found: dict[Scope, Worths] = {}
    rank = 1
    for place in reversed(range(len(component.kinds))):
        found[(place,)] = later * (-rank if component.kinds[place] == "exists" else rank)
        rank *= things if broken else 1
    return found
