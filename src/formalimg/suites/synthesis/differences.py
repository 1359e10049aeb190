"""Difference constraints: which bounds on the difference of two quantities follow from others.

All geometric rules compare two measures, so that what follows from what among them is a question of shortest paths:
x - y <= 3 and y - z <= 4 give x - z <= 7, and nothing else can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

Quantity: TypeAlias = tuple[str, str]
"""A measure of a thing, such as `("cup", "center_x")`."""

ZERO: Quantity = ("", "zero")
"""The quantity that is 0, for bounds on single quantities."""


class Bound(NamedTuple):
    """A bound on how much larger one quantity is than another: larger - smaller <= limit."""

    larger: Quantity
    smaller: Quantity
    limit: int


class Differences:
    """A set of bounds, closed under what follows from them."""

    def __init__(self, bounds: Iterable[Bound] = ()) -> None:
        self._limits: dict[Quantity, dict[Quantity, int]] = {}
        self.possible = True
        for bound in bounds:
            self.add(bound)

    def follows(self, bound: Bound) -> bool:
        """Does the bound follow from those in the set?"""
        if not self.possible or (bound.larger == bound.smaller and bound.limit >= 0):
            return True
        known = self._limits.get(bound.larger, {}).get(bound.smaller)
        return known is not None and known <= bound.limit

    def allows(self, bound: Bound) -> bool:
        """Could the bound hold beside those in the set?"""
        opposite = self._limits.get(bound.smaller, {}).get(bound.larger)
        if bound.larger == bound.smaller:
            return self.possible and bound.limit >= 0
        return self.possible and (opposite is None or opposite + bound.limit >= 0)

    def add(self, bound: Bound) -> None:
        """Add a bound and all that follows."""
        if self.follows(bound):
            return
        larger, smaller, limit = bound
        if not self.allows(bound):
            self.possible = False
            return
        after = {**self._limits.get(smaller, {}), smaller: 0}
        before = [(quantity, limits[larger]) for quantity, limits in self._limits.items() if larger in limits]
        for start, first in [*before, (larger, 0)]:
            limits = self._limits.setdefault(start, {})
            for end, second in after.items():
                total = first + limit + second
                if start != end and total < limits.get(end, total + 1):
                    limits[end] = total


def follows_from(bounds: Sequence[Bound], asked: Bound) -> bool:
    """Does one bound follow from others that can hold together? By a shortest path, without closing the set."""
    outgoing: dict[Quantity, list[Bound]] = {}
    for bound in bounds:
        outgoing.setdefault(bound.larger, []).append(bound)
    best = {asked.larger: 0}
    waiting = [asked.larger]
    while waiting:
        reached = []
        for quantity in waiting:
            for bound in outgoing.get(quantity, ()):
                limit = best[quantity] + bound.limit
                if limit < best.get(bound.smaller, limit + 1):
                    best[bound.smaller] = limit
                    reached.append(bound.smaller)
        waiting = reached
    return best.get(asked.smaller, asked.limit + 1) <= asked.limit
