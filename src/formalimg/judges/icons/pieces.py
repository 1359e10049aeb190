"""Connected pieces of a mask, found run by run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Cells(NamedTuple):
    """A rectangle of a grid: from the first column and row to the ones after the last."""

    left: int
    top: int
    right: int
    bottom: int

    def holds(self, other: Cells) -> bool:
        """Does the other lie within this one?"""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


def outermost(pieces: Iterable[Cells]) -> list[Cells]:
    """The pieces that do not lie within another, from top to bottom.

    A piece within the rectangle of another belongs to it: what is painted inside an outline is not always joined to it.
    """
    outer: list[Cells] = []
    for cells in sorted(pieces, key=lambda cells: (cells.left - cells.right) * (cells.bottom - cells.top)):
        if not any(larger.holds(cells) for larger in outer):
            outer.append(cells)
    return sorted(outer, key=lambda cells: (cells.top, cells.left))


def connected(mask: NDArray[np.bool_]) -> list[Cells]:
    """The bounding rectangles of the connected pieces of a mask, corners counting as neighbours."""
    height, width = mask.shape
    framed = np.zeros((height, width + 2), np.int8)
    framed[:, 1:-1] = mask
    steps = np.diff(framed, axis=1)
    rows, starts = np.nonzero(steps == 1)
    ends = np.nonzero(steps == -1)[1]
    if not len(rows):
        return []
    # Runs of one row touch those of the next that start before their end and end after their start. Counted along the
    # image, with a spare column on either side, each row's runs are neighbours in one ascending list.
    stride = width + 2
    next_row = (rows + 1) * stride
    first = np.searchsorted(rows * stride + ends, next_row + starts, side="left")
    last = np.searchsorted(rows * stride + starts, next_row + ends, side="right")
    root = list(range(len(rows)))

    def find(run: int) -> int:
        while root[run] != run:
            root[run] = root[root[run]]
            run = root[run]
        return run

    for run, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for below in range(low, high):
            one, other = find(run), find(below)
            root[max(one, other)] = min(one, other)
    roots = np.array([find(run) for run in range(len(rows))])
    names, piece = np.unique(roots, return_inverse=True)
    lows = np.full((len(names), 2), max(width, height))
    highs = np.zeros((len(names), 2), int)
    np.minimum.at(lows, piece, np.stack([starts, rows], axis=1))
    np.maximum.at(highs, piece, np.stack([ends, rows + 1], axis=1))
    return [Cells(*low, *high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
