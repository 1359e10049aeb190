"""Intersection over union (IoU) of boxes, the matching of detected objects with true ones, and boxes that are free."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_OVERLAP = 0.9
"""The minimum IoU of a match, as FormalImg measures its parser (appendix)."""


class Match(NamedTuple):
    """A true object, and the object that was found in its place."""

    truth: SceneObject
    found: SceneObject


def match(truth: Scene, found: Scene, min_overlap: float = MIN_OVERLAP) -> list[Match]:
    """Return pairs of the same class with a high enough IoU, the closest first; no object is in two of them."""
    if not 0 < min_overlap <= 1:  # also refuses NaN
        raise FormalimgError(f"boxes cannot be asked to overlap by {min_overlap:g}: take more than 0, and 1 at most")
    pairs = [
        (overlap(obj.box, detected.box), true_index, found_index)
        for true_index, obj in enumerate(truth.objects)
        for found_index, detected in enumerate(found.objects)
        if obj.label == detected.label
    ]
    matched_truth: set[int] = set()
    matched_found: set[int] = set()
    matches = []
    for share, true_index, found_index in sorted(pairs, reverse=True):
        if share >= min_overlap and true_index not in matched_truth and found_index not in matched_found:
            matched_truth.add(true_index)
            matched_found.add(found_index)
            matches.append(Match(truth.objects[true_index], found.objects[found_index]))
    return matches


def overlap(first: Box, second: Box) -> float:
    """Return the intersection over union of two boxes."""
    across = min(first.xmax, second.xmax) - max(first.xmin, second.xmin)
    down = min(first.ymax, second.ymax) - max(first.ymin, second.ymin)
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / (first.area + second.area - across * down)


def are_apart(first: Box, second: Box, gap: float) -> bool:
    """Return whether there is such a gap between two boxes, across or down."""
    across = max(first.xmin, second.xmin) - min(first.xmax, second.xmax)
    down = max(first.ymin, second.ymin) - min(first.ymax, second.ymax)
    return max(across, down) >= gap


def find_free_box(
    width: int, height: int, boxes: Sequence[Box], rng: Random, *, border: int, gap: int, tries: int
) -> Box | None:
    """Return a box in a random place on the canvas that keeps a gap from others; None if none is found."""
    for _ in range(tries):
        left, top = rng.randint(border, CANVAS - border - width), rng.randint(border, CANVAS - border - height)
        free = Box(left, top, left + width, top + height)
        if all(are_apart(free, box, gap) for box in boxes):
            return free
    return None


_FEW = 16
"""Up to so many boxes are compared one by one, which is faster than a vector."""
_SLACK = 1 - 1e-9
"""A product may be rounded otherwise than the quotient, which decides."""


class KeptBoxes:
    """Boxes that are kept one after the other, and compared with a new one all at once."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._boxes: list[Box] = []
        self._columns: NDArray[np.float64] | None = None

    def add(self, box: Box) -> None:
        """Keep a box."""
        self._boxes.append(box)
        count = len(self._boxes)
        if count <= _FEW:
            return
        import numpy as np  # heavy, and few images have so many boxes

        if self._columns is None or count > self._columns.shape[1]:
            grown = np.empty((5, 2 * count))
            grown[:, :count] = np.array([(*kept, kept.area) for kept in self._boxes], dtype=np.float64).T
            self._columns = grown
        else:
            self._columns[:, count - 1] = (*box, box.area)

    def overlapping(self, box: Box, min_overlap: float) -> list[int]:
        """Return the numbers of the boxes with this IoU or more, in the order in which they were added."""
        if self._columns is None:
            return [number for number, kept in enumerate(self._boxes) if overlap(box, kept) >= min_overlap]
        import numpy as np

        xmin, ymin, xmax, ymax, area = self._columns[:, : len(self._boxes)]
        across = np.minimum(xmax, box.xmax) - np.maximum(xmin, box.xmin)
        down = np.minimum(ymax, box.ymax) - np.maximum(ymin, box.ymin)
        both = np.maximum(across, 0) * down
        enough = (area + box.area) * (min_overlap * _SLACK / (1 + min_overlap))
        near: list[int] = np.flatnonzero(both >= enough).tolist()
        return [number for number in near if overlap(box, self._boxes[number]) >= min_overlap]
