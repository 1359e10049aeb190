"""The game over clauses: `exists` picks objects so that much holds, `forall` so that little does.

The players move in the order of the prefix, and each knows the moves before. What a position is worth is found without
trying all plays: the last variable is forgotten first, by the best number for its player, and what is left is a table
over the variables that it touched. Where all tables are small, this is done in one pass (see `one_pass.py`); where
they are not, move by move; and where a table would be too large, a variable is fixed to one object after the other
instead. The play is exact, and the same, in all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from formalimg.logic.lifting import QuantifierKind
from formalimg.logic.one_pass import play_in_one_pass
from formalimg.logic.payoffs import Numbers, Payoff, Payoffs, Table
from formalimg.logic.places import PlacedComponent

MAX_CELLS = 4_000_000
"""The most cells that a table may have; past it, a variable is tried value by value."""

MAX_WORK = 10_000_000_000
"""The most cells that are filled for one game, which takes some seconds."""

_SMALL = 5_000
"""How many cells are filled in the time that an array takes however small it is."""

_AT_ONCE = 100_000
"""Up to so many cells are computed in one go; for more, it is faster to go through the objects of one variable."""


_IN_ONE_PASS = 1_000_000
"""Up to so many cells in each of its tables, a game is played in one pass, which is faster than move by move."""


class TooEntangledError(Exception):
    """A game would take more than MAX_WORK. Never leaves this package."""


class Move(NamedTuple):
    """The object that a player picks, and what the game is then worth."""

    obj: int
    worth: int


def best_play(component: PlacedComponent, payoffs: Payoffs) -> list[int]:
    """The object that each variable stands for if both players play best; of equally good objects the first.

    Args:
        component: the clauses, and who picks the object of each variable.
        payoffs: where their literals hold; there is at least one object.

    Raises:
        TooEntangledError: if it would take more than MAX_WORK.
    """
    play = play_in_one_pass(component, payoffs, min(_IN_ONE_PASS, MAX_CELLS, MAX_WORK))
    if play is not None:
        return play
    game = _Game(component.kinds, payoffs.objects)
    left = game.compact(payoffs.of(component))
    play = []
    for variable in range(len(component.kinds)):
        near, far = _around(variable, left)
        later = sorted({other for payoff in near for other in payoff.variables} - {variable})
        obj = game.move(variable, later, near).obj
        play.append(obj)
        left = far + [payoff.fixed(variable, obj) for payoff in near]
    return play


class _Game:
    def __init__(self, kinds: Sequence[QuantifierKind], objects: int) -> None:
        self.kinds = kinds
        self.objects = objects
        self.work_left = MAX_WORK

    def compact(self, payoffs: Sequence[Payoff]) -> list[Payoff]:
        """The same payoffs, those of the same variables in one table where there is room for it."""
        tables: dict[tuple[int, ...], Numbers] = {}
        wide: list[Payoff] = []
        for payoff in payoffs:
            if self.objects ** len(payoff.variables) > _AT_ONCE:
                wide.append(payoff)
                continue
            values = payoff.spread(payoff.variables)
            tables[payoff.variables] = tables[payoff.variables] + values if payoff.variables in tables else values
        return [*(Table(variables, values) for variables, values in tables.items()), *wide]

    def move(self, variable: int, later: Sequence[int], payoffs: Sequence[Payoff]) -> Move:
        """The best move, if the later variables are played best."""
        self.work(payoffs)
        order = self.order(later, payoffs)
        if order is None:
            return self.try_each(variable, later, payoffs)
        left = list(payoffs)
        for other in order:
            left = self.forget(other, left)
        worths = np.broadcast_to(_summed(left, (variable,)), (self.objects,))
        obj = int(worths.argmax() if self.kinds[variable] == "exists" else worths.argmin())
        return Move(obj, int(worths[obj]))

    def order(self, later: Sequence[int], payoffs: Sequence[Payoff]) -> list[int] | None:
        """In which order to forget the later variables; None if a table would be too large.

        The last ones go first. Of neighbours in the prefix that belong to the same player, the order of which does not
        matter, that one which leaves the smallest table.
        """
        scopes = [frozenset(payoff.variables) for payoff in payoffs]
        waiting = list(later)
        order: list[int] = []
        while waiting:
            start = len(waiting) - 1
            while start and self.kinds[waiting[start - 1]] == self.kinds[waiting[-1]]:
                start -= 1
            joined = {
                variable: frozenset[int]().union(*[scope for scope in scopes if variable in scope])
                for variable in waiting[start:]
            }
            variable = min(joined, key=lambda name: len(joined[name]))
            table = joined[variable] - {variable}
            if self.objects ** len(table) > MAX_CELLS:
                return None
            scopes = [scope for scope in scopes if variable not in scope]
            scopes.append(table)
            waiting.remove(variable)
            order.append(variable)
        return order

    def forget(self, variable: int, payoffs: Sequence[Payoff]) -> list[Payoff]:
        """What the payoffs are worth if the variable is played last and best."""
        touching: list[Payoff] = []
        others: list[Payoff] = []
        for payoff in payoffs:
            (touching if variable in payoff.variables else others).append(payoff)
        if not touching:
            return others
        variables = tuple(sorted({other for payoff in touching for other in payoff.variables}))
        self.work(touching, self.objects ** len(variables))
        at = variables.index(variable)
        left = variables[:at] + variables[at + 1 :]
        seeks_more = self.kinds[variable] == "exists"
        if self.objects ** len(variables) <= _AT_ONCE:
            sums = _summed(touching, variables)
            return [*others, Table(left, sums.max(axis=at) if seeks_more else sums.min(axis=at))]
        better = np.maximum if seeks_more else np.minimum
        best = _summed([payoff.fixed(variable, 0) for payoff in touching], left)
        for obj in range(1, self.objects):
            sums = _summed([payoff.fixed(variable, obj) for payoff in touching], left)
            best = better(best, sums)
        return [*others, Table(left, best)]

    def try_each(self, variable: int, later: Sequence[int], payoffs: Sequence[Payoff]) -> Move:
        """The best move, by fixing the variable to one object after the other."""
        seeks_more = self.kinds[variable] == "exists"
        following = self.next_to_fix(later, payoffs)
        rest = [other for other in later if other != following]
        best: Move | None = None
        for obj in range(self.objects):
            fixed = [payoff.fixed(variable, obj) for payoff in payoffs]
            bounds = [payoff.bounds() for payoff in fixed]
            if best is not None:
                least, most = sum(low for low, _ in bounds), sum(high for _, high in bounds)
                if most <= best.worth if seeks_more else least >= best.worth:
                    continue
            worth = self.move(following, rest, fixed).worth
            if best is None or (worth > best.worth if seeks_more else worth < best.worth):
                best = Move(obj, worth)
        assert best is not None, "there is at least one object"
        return best

    def next_to_fix(self, later: Sequence[int], payoffs: Sequence[Payoff]) -> int:
        """Of the variables that may be picked next, because one player picks them in a row, the most entangled one."""
        end = 1
        while end < len(later) and self.kinds[later[end]] == self.kinds[later[0]]:
            end += 1

        def entanglement(variable: int) -> int:
            return len({other for payoff in payoffs if variable in payoff.variables for other in payoff.variables})

        return max(later[:end], key=entanglement)

    def work(self, payoffs: Sequence[Payoff], cells: int = 0) -> None:
        self.work_left -= (cells + _SMALL) * sum(payoff.layers for payoff in payoffs)
        if self.work_left < 0:
            raise TooEntangledError


def _summed(payoffs: Sequence[Payoff], variables: Sequence[int]) -> Numbers:
    """The sum of payoffs as an array over these variables."""
    total = payoffs[0].spread(variables)
    for payoff in payoffs[1:]:
        total = total + payoff.spread(variables)
    return total


def _around(variable: int, payoffs: Sequence[Payoff]) -> tuple[list[Payoff], list[Payoff]]:
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
