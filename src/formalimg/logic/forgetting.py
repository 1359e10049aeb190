"""In which order the variables of a game are forgotten, and what is summed for it: the same for all scenes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from formalimg.logic.lifting import QuantifierKind
from formalimg.logic.places import Scope, Spreading, spread_over


class Summand(NamedTuple):
    """A table, and how it is laid out over the variables of a step.

    Attributes:
        table: its number.
        turned: in which order its axes are taken; None if as they are.
        spreading: where axes are put between them, for variables that it does not speak of; None if it speaks of all.
    """

    table: int
    turned: tuple[int, ...] | None
    spreading: Spreading | None


class Side(NamedTuple):
    """Tables that are summed up with each other first.

    Attributes:
        tables: the tables.
        told: for each variable of the step, itself if one of the tables speaks of it, else None.
    """

    tables: tuple[Summand, ...]
    told: tuple[int | None, ...]


class Step(NamedTuple):
    """One variable is forgotten.

    Attributes:
        variable: which.
        scope: the variables of the tables that speak of it, itself first: along the first axis numbers lie far apart in
            memory, and the best of them are found several times faster than along others.
        seeks_more: whether its player wants a large sum.
        sides: one or two sides, the sum of which has all these variables; each speaks of the variable.
    """

    variable: int
    scope: Scope
    seeks_more: bool
    sides: tuple[Side, ...]


@lru_cache(maxsize=4096)
def steps_of(kinds: tuple[QuantifierKind, ...], scopes: tuple[Scope, ...], freely: bool) -> tuple[Step, ...]:
    """The steps in which a game is played.

    The last variables go first. If `freely`, of neighbours in the prefix that belong to the same player, the order of
    which does not matter to what they are worth, that one goes which joins the fewest variables.

    Args:
        kinds: who picks the object of each variable.
        scopes: the variables of each table; every variable has one. Each step adds a table behind them.
        freely: whether the order may differ from that of the prefix.
    """
    tables = list(enumerate(scopes))
    waiting = list(range(len(kinds)))
    steps: list[Step] = []
    while waiting:
        start = len(waiting) - 1
        while freely and start and kinds[waiting[start - 1]] == kinds[waiting[-1]]:
            start -= 1
        joined = {
            variable: {other for _, scope in tables if variable in scope for other in scope}
            for variable in waiting[start:]
        }
        variable = min(joined, key=lambda name: len(joined[name]))
        others = tuple(sorted(joined[variable] - {variable}))
        scope = (variable, *others)
        sides = _sides([table for table in tables if variable in table[1]], scope)
        steps.append(Step(variable, scope, kinds[variable] == "exists", sides))
        tables = [table for table in tables if variable not in table[1]]
        tables.append((len(scopes) + len(steps) - 1, others))
        waiting.remove(variable)
    return tuple(steps)


def _sides(tables: Sequence[tuple[int, Scope]], scope: Scope) -> tuple[Side, ...]:
    """One side that speaks of all variables if a single table does, else two that do not: their sum is large."""
    left = sorted(tables, key=lambda table: (-len(table[1]), table[1]))
    sides: list[list[tuple[int, Scope]]] = []
    while left:
        told: set[int] = set()
        side: list[tuple[int, Scope]] = []
        for table in left:
            wider = told.union(table[1])
            if not side or wider == told or len(wider) < len(scope) or sides:
                side.append(table)
                told = wider
        sides.append(side)
        left = [table for table in left if table not in side]
    return tuple(_side(side, scope) for side in sides)


def _side(tables: Sequence[tuple[int, Scope]], scope: Scope) -> Side:
    # Small ones first, and those of the same variables together: then few sums are as large as the last.
    ordered = sorted(tables, key=lambda table: (len(table[1]), table[1], table[0]))
    spoken = {place for _, told in tables for place in told}
    summands = tuple(_summand(number, told, scope) for number, told in ordered)
    return Side(summands, tuple(place if place in spoken else None for place in scope))


def _summand(number: int, told: Scope, scope: Scope) -> Summand:
    order = [place for place in scope if place in told]
    turned = None if order == list(told) else tuple(map(told.index, order))
    return Summand(number, turned, None if len(told) == len(scope) else spread_over(scope, told))
