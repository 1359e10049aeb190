"""The board on which objects are laid out: the spots that an object could take, and which of them are free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from formalimg.scenes import CANVAS, MIN_SIDE, Box, natural_aspect

GAP = 20
"""The least room between two objects, so that images stay readable."""

SCALES = (1.0, 0.66, 1.5, 0.44, 2.25, 0.3, 3.4)
"""The areas that an object may have, as multiples of the usual one; the more usual ones come first."""

_USUAL_AREA = 15_000
_LONGEST_SIDE = 400
_STEP = 25

Numbers = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Spots:
    """Many boxes that an object could take, by their edges; and the place of each one's scale among `SCALES`."""

    xmin: Numbers
    ymin: Numbers
    xmax: Numbers
    ymax: Numbers
    scale: NDArray[np.int64]

    @property
    def center_x(self) -> Numbers:
        """Where the centres stand from left to right."""
        return (self.xmin + self.xmax) / 2

    @property
    def center_y(self) -> Numbers:
        """Where the centres stand from top to bottom."""
        return (self.ymin + self.ymax) / 2

    @property
    def area(self) -> Numbers:
        """Width times height."""
        return (self.xmax - self.xmin) * (self.ymax - self.ymin)

    def box(self, spot: int) -> Box:
        """One of the boxes."""
        return Box(*(int(edges[spot]) for edges in (self.xmin, self.ymin, self.xmax, self.ymax)))

    def free(self, taken: Iterable[Box]) -> Marks:
        """Which of the boxes keep a gap from all boxes that are taken."""
        found = np.ones(len(self.scale), dtype=np.bool_)
        for box in taken:
            found &= (
                (self.xmax + GAP <= box.xmin)
                | (self.xmin >= box.xmax + GAP)
                | (self.ymax + GAP <= box.ymin)
                | (self.ymin >= box.ymax + GAP)
            )
        return found


@cache
def spots(label: str) -> Spots:
    """All spots for an object of a class, in its natural shape: on a grid, in every scale."""
    aspect = natural_aspect(label)
    grid = np.arange(_STEP, CANVAS, _STEP)
    kept, scales = [], []
    for number, scale in enumerate(SCALES):
        width, height = (_side(sqrt(_USUAL_AREA * scale * shape)) for shape in (aspect, 1 / aspect))
        x, y = (centers.ravel() for centers in np.meshgrid(grid, grid))
        edges = np.stack([x - width // 2, y - height // 2, x + width // 2, y + height // 2]).astype(np.float64)
        inside = (edges.min(axis=0) >= GAP) & (edges.max(axis=0) <= CANVAS - GAP)
        kept.append(edges[:, inside])
        scales.append(np.full(int(inside.sum()), number))
    xmin, ymin, xmax, ymax = np.concatenate(kept, axis=1)
    return Spots(xmin, ymin, xmax, ymax, np.concatenate(scales))


def _side(length: float) -> int:
    """A side of a box in whole, even numbers, so that its centre is whole too."""
    return 2 * round(min(max(length, 2 * MIN_SIDE), _LONGEST_SIDE) / 2)
