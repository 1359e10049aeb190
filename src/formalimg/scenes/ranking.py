"""Objects by a measure of theirs, so that "those of these objects above that value" is one look-up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from formalimg.logic import members

_FEW = 16
"""Up to so many objects are looked at one by one; for more, it pays to have all objects in order."""


class _Order(NamedTuple):
    values: list[float]  # the values, smallest first
    lowest: list[int]  # lowest[i]: the i objects with the smallest values


class Ranking:
    """The objects of a scene by one measure; answers with bit sets."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = values

    @cached_property
    def _order(self) -> _Order:
        order = sorted(range(len(self.values)), key=self.values.__getitem__)
        lowest = [0]
        for obj in order:
            lowest.append(lowest[-1] | 1 << obj)
        return _Order([self.values[obj] for obj in order], lowest)

    def smallest(self, objects: int) -> float:
        """The smallest measure in a set of objects."""
        if objects & (objects - 1) == 0:
            return self.values[objects.bit_length() - 1]
        return min([self.values[obj] for obj in members(objects)])

    def largest(self, objects: int) -> float:
        """The largest measure in a set of objects."""
        if objects & (objects - 1) == 0:
            return self.values[objects.bit_length() - 1]
        return max([self.values[obj] for obj in members(objects)])

    def below(self, value: float, among: int) -> int:
        """The objects, out of a set, whose measure is strictly less than the value."""
        if among.bit_count() > _FEW:
            return among & self._order.lowest[bisect_left(self._order.values, value)]
        values, found = self.values, 0
        while among:
            lowest = among & -among
            if values[lowest.bit_length() - 1] < value:
                found |= lowest
            among ^= lowest
        return found

    def above(self, value: float, among: int) -> int:
        """The objects, out of a set, whose measure is strictly greater than the value."""
        if among.bit_count() > _FEW:
            return among & ~self._order.lowest[bisect_right(self._order.values, value)]
        values, found = self.values, 0
        while among:
            lowest = among & -among
            if values[lowest.bit_length() - 1] > value:
                found |= lowest
            among ^= lowest
        return found

    def between(self, low: float, high: float, among: int) -> int:
        """The objects, out of a set, whose measure lies strictly between two values."""
        if len(self.values) > _FEW:
            return self.above(low, self.below(high, among))
        return among & sum([1 << obj for obj, value in enumerate(self.values) if low < value < high])

    def near(self, value: float, bound: float, among: int) -> int:
        """The objects, out of a set, whose measure differs from the value by strictly less than the bound."""
        if among.bit_count() > _FEW:
            # The differences are formed as the rule forms them: value + bound could round to the other side.
            start = bisect_left(self._order.values, True, key=lambda other: value - other < bound)
            end = bisect_left(self._order.values, True, key=lambda other: other - value >= bound)
            return among & (self._order.lowest[end] ^ self._order.lowest[start])
        values, found = self.values, 0
        while among:
            lowest = among & -among
            if abs(values[lowest.bit_length() - 1] - value) < bound:
                found |= lowest
            among ^= lowest
        return found
