"""What the rules say about order alone: who comes before whom, whatever the distances.

Orders are implied by the inequalities, but a solver sees at once that an order runs in a circle, and only after
a long walk through the numbers that inequalities do.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from formalimg.scenes.rules import RULES_OF_TWO, Greater, Less, Measure

_ALONG: tuple[tuple[Measure, ...], ...] = (("xmin", "center_x", "xmax"), ("ymin", "center_y", "ymax"), ("area",))
"""Measures of one box along each axis, in the order in which they always come."""

_MIDDLES: tuple[Measure, ...] = ("center_x", "center_y")


class Before(NamedTuple):
    """In some order (by centre, or by area), an object comes before another; or, if not strict, not after it."""

    order: Measure
    first: int  # which of the two arguments
    strict: bool


@cache
def implied_order(predicate: str, holds: bool) -> Before | None:
    """The order of two objects that a predicate implies when it holds, or fails."""
    match RULES_OF_TWO.get(predicate):
        case Less(small, large):
            first = 0
        case Greater(large, small):
            first = 1
        case _:
            return None
    axis = next(axis for axis in _ALONG if small in axis)
    middle = len(axis) // 2
    if large not in axis:
        return None
    if not holds:  # large ≤ small
        small, large, first = large, small, 1 - first
    if axis.index(small) < middle or axis.index(large) > middle:
        return None
    # The middle of the one, its later edge, the earlier edge of the other, its middle: strict if any step is.
    return Before(axis[middle], first, holds or small != axis[middle] or large != axis[middle])


class Separation(NamedTuple):
    """Along an axis (0: x, 1: y), one of two objects lies wholly before the other."""

    axis: int
    first: int  # which of the two arguments


@cache
def excluded_separations(predicate: str, holds: bool) -> tuple[Separation, ...]:
    """How two objects cannot lie if a predicate holds of them, or fails."""
    before = implied_order(predicate, holds)
    found = []
    if before is not None and before.order in _MIDDLES:
        found.append(Separation(_MIDDLES.index(before.order), 1 - before.first))
    match RULES_OF_TWO.get(predicate):
        case Less(small, large):
            first = 0
        case Greater(large, small):
            first = 1
        case _:
            return tuple(found)
    for number, axis in enumerate(_ALONG[:2]):
        # Wholly before: every measure of the one is less than every measure of the other, but for edges that touch.
        if not holds and small in axis and large in axis and (small, large) != (axis[-1], axis[0]):
            found.append(Separation(number, first))
    return tuple(found)


class Closure:
    """Which objects surely come before which, in any of the orders."""

    def __init__(self, count: int, pairs: Iterable[tuple[Measure, int, int]]) -> None:
        after: dict[Measure, list[int]] = {}  # for each order and object the set of those behind it
        for order, first, second in pairs:
            after.setdefault(order, [0] * count)[first] |= 1 << second
        for behind in after.values():
            for middle in range(count):
                for obj in range(count):
                    if behind[obj] >> middle & 1:
                        behind[obj] |= behind[middle]
        self.is_circular = any(behind[obj] >> obj & 1 for behind in after.values() for obj in range(count))
        self._after = list(after.values())

    def tells_apart(self, one: int, other: int) -> bool:
        """Is it certain that these are different objects?"""
        return any((behind[one] >> other | behind[other] >> one) & 1 for behind in self._after)
