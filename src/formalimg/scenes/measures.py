"""Measure the boxes of a scene (edges, centres, areas) and rank the objects by each measure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from formalimg.logic.world import members
from formalimg.scenes.objects import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from formalimg.scenes.rules import BinaryRule

Measure = Literal["xmin", "ymin", "xmax", "ymax", "center_x", "center_y", "area"]

_SCAN_LIMIT = 16  # Up to this many objects are compared one by one; for more, a sorted order is faster


_GETTERS = {measure: attrgetter(measure) for measure in get_args(Measure)}


class _SortedObjects(NamedTuple):
    values: list[float]  # the values, smallest first
    lowest: list[int]  # lowest[i]: the i objects with the smallest values


class Ranking:
    """The objects of a scene ranked by one measure. Sets of objects are represented as bit sets.

    Most formulas restrict each variable to a few objects. Objects are therefore measured on first access, and sorted
    only when many of them are queried together.
    """

    __slots__ = ("_boxes", "_get", "_order", "_values")

    def __init__(self, boxes: Sequence[Box], measure: Measure) -> None:
        self._boxes = boxes
        self._get = _GETTERS[measure]
        self._values: list[float | None] = [None] * len(boxes)
        self._order: _SortedObjects | None = None

    def value(self, obj: int) -> float:
        """Return the measure of an object."""
        value = self._values[obj]
        return self._measure(obj) if value is None else value

    def _measure(self, obj: int) -> float:
        value: float = self._get(self._boxes[obj])
        self._values[obj] = value
        return value

    def _sorted(self) -> _SortedObjects:
        if self._order is None:
            values = [*map(self._get, self._boxes)]
            order = sorted(range(len(values)), key=values.__getitem__)
            lowest = [0]
            for obj in order:
                lowest.append(lowest[-1] | 1 << obj)
            self._order = _SortedObjects([values[obj] for obj in order], lowest)
        return self._order

    def smallest(self, objects: int) -> float:
        """Return the smallest measure among the objects."""
        if objects.bit_count() > _SCAN_LIMIT:
            order = self._sorted()
            return order.values[bisect_left(order.lowest, True, key=lambda lowest: lowest & objects != 0) - 1]
        if not objects & (objects - 1):
            return self.value(objects.bit_length() - 1)
        return min([self.value(obj) for obj in members(objects)])

    def largest(self, objects: int) -> float:
        """Return the largest measure among the objects."""
        if objects.bit_count() > _SCAN_LIMIT:
            order = self._sorted()
            return order.values[bisect_left(order.lowest, True, key=lambda lowest: objects & ~lowest == 0) - 1]
        if not objects & (objects - 1):
            return self.value(objects.bit_length() - 1)
        return max([self.value(obj) for obj in members(objects)])

    def below(self, value: float, among: int) -> int:
        """Return the objects in `among` whose measure is strictly less than `value`."""
        if among.bit_count() > _SCAN_LIMIT:
            order = self._sorted()
            return among & order.lowest[bisect_left(order.values, value)]
        values, selected = self._values, 0
        while among:
            lowest = among & -among
            obj = lowest.bit_length() - 1
            cached = values[obj]
            if (self._measure(obj) if cached is None else cached) < value:
                selected |= lowest
            among ^= lowest
        return selected

    def above(self, value: float, among: int) -> int:
        """Return the objects in `among` whose measure is strictly greater than `value`."""
        if among.bit_count() > _SCAN_LIMIT:
            order = self._sorted()
            return among & ~order.lowest[bisect_right(order.values, value)]
        values, selected = self._values, 0
        while among:
            lowest = among & -among
            obj = lowest.bit_length() - 1
            cached = values[obj]
            if (self._measure(obj) if cached is None else cached) > value:
                selected |= lowest
            among ^= lowest
        return selected

    def between(self, low: float, high: float, among: int) -> int:
        """Return the objects in `among` whose measure lies strictly between `low` and `high`."""
        values, selected = self._values, 0
        while among:
            lowest = among & -among
            obj = lowest.bit_length() - 1
            cached = values[obj]
            if low < (self._measure(obj) if cached is None else cached) < high:
                selected |= lowest
            among ^= lowest
        return selected

    def near(self, value: float, bound: float, among: int) -> int:
        """Return the objects in `among` whose measure differs from `value` by strictly less than `bound`."""
        if among.bit_count() > _SCAN_LIMIT:
            order = self._sorted()
            # The differences are computed as the rule computes them: value + bound could round to the other side.
            start = bisect_left(order.values, True, key=lambda candidate: value - candidate < bound)
            end = bisect_left(order.values, True, key=lambda candidate: candidate - value >= bound)
            return among & (order.lowest[end] ^ order.lowest[start])
        values, selected = self._values, 0
        while among:
            lowest = among & -among
            obj = lowest.bit_length() - 1
            cached = values[obj]
            if abs((self._measure(obj) if cached is None else cached) - value) < bound:
                selected |= lowest
            among ^= lowest
        return selected


class Rankings(dict[Measure, Ranking]):
    """Rankings of the objects of a scene by measure, created on demand."""

    __slots__ = ("_boxes",)

    def __init__(self, boxes: Sequence[Box]) -> None:
        super().__init__()
        self._boxes = boxes

    def __missing__(self, measure: Measure) -> Ranking:
        ranking = self[measure] = Ranking(self._boxes, measure)
        return ranking


_EXACT = 2**25  # Sums and areas of integers below this are exact as floats
_NUMBERS = frozenset({int, float})


class BoxArrays:
    """Measures of the boxes of a scene as arrays, computed on first use."""

    def __init__(self, boxes: Iterable[Box]) -> None:
        import numpy as np  # here, because most programs that verify never need it

        numbers = _exact_numbers(boxes)
        self._arrays: dict[Measure, NDArray[np.float64]] = {}
        # All boxes as one `Box` of arrays, which measures all at once.
        self._columns = None if numbers is None else Box(*self._stack(np.array(numbers, np.float64).reshape(-1, 4)))

    def _stack(self, coordinates: NDArray[np.float64]) -> Any:
        """Split the coordinates into one array for each edge."""
        return coordinates.T

    @property
    def are_exact(self) -> bool:
        """Whether the arrays represent all coordinates exactly. If not, no arrays are available."""
        return self._columns is not None

    def array(self, measure: Measure) -> NDArray[np.float64]:
        """Return the array of a measure."""
        cached = self._arrays.get(measure)
        if cached is None:
            cached = self._arrays[measure] = getattr(self._columns, measure)
        return cached

    def pairs(self, rule: BinaryRule) -> NDArray[np.bool] | None:
        """Return the truth table of a rule, by first and second box, or None if arrays would round the coordinates."""
        return rule.pairs(self.array(rule.first), self.array(rule.second)) if self.are_exact else None


class GroupMeasures(BoxArrays):
    """Measures of the boxes of several scenes as arrays, padded to the size of the largest scene.

    `present` says which boxes each scene has; the measures of the others are arbitrary.
    """

    def __init__(self, scenes: Sequence[Sequence[Box]]) -> None:
        import numpy as np

        sizes = np.array([*map(len, scenes)])
        self.present: NDArray[np.bool] = np.arange(sizes.max(initial=0)) < sizes[:, None]
        super().__init__(chain.from_iterable(scenes))

    def _stack(self, coordinates: NDArray[np.float64]) -> Any:
        import numpy as np

        stacked = np.zeros((*self.present.shape, 4))
        stacked[self.present] = coordinates
        return np.moveaxis(stacked, 2, 0)


def _exact_numbers(boxes: Iterable[Box]) -> list[float] | None:
    """Return the flattened coordinates of the boxes, or None if arrays would round them."""
    numbers = list(chain.from_iterable(boxes))
    are_numbers = _NUMBERS.issuperset(map(type, numbers))
    if not are_numbers or min(numbers, default=0) <= -_EXACT or max(numbers, default=0) >= _EXACT:
        return None
    return numbers
