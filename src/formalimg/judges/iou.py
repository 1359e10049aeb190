"""Intersection over union (IoU) of boxes, and the matching of detected objects with true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.scenes.objects import Box, SceneObject
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
        (overlap(one.box, other.box), true_index, found_index)
        for true_index, one in enumerate(truth.objects)
        for found_index, other in enumerate(found.objects)
        if one.label == other.label
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


def overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes."""
    across = min(one.xmax, other.xmax) - max(one.xmin, other.xmin)
    down = min(one.ymax, other.ymax) - max(one.ymin, other.ymin)
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / (one.area + other.area - across * down)


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
        """Return the places of the boxes with this IoU or more, in the order in which they were added."""
        if self._columns is None:
            return [place for place, kept in enumerate(self._boxes) if overlap(box, kept) >= min_overlap]
        import numpy as np

        xmin, ymin, xmax, ymax, area = self._columns[:, : len(self._boxes)]
        across = np.minimum(xmax, box.xmax) - np.maximum(xmin, box.xmin)
        down = np.minimum(ymax, box.ymax) - np.maximum(ymin, box.ymin)
        both = np.maximum(across, 0) * down
        enough = (area + box.area) * (min_overlap * _SLACK / (1 + min_overlap))
        found: list[int] = np.flatnonzero(both >= enough).tolist()
        return [place for place in found if overlap(box, self._boxes[place]) >= min_overlap]
