"""The outline of a drawing as points, for placing fur, stitches and rivets."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.drawing.icon import PixelFrame

_CELLS = 144  # The longer side of the frame in cells: enough for stitches, and traced in about a millisecond


class OutlinePoint(NamedTuple):
    """A point of an outline in image pixels, and the unit vector pointing out of the drawing."""

    x: float
    y: float
    out_x: float
    out_y: float


class InnerDisc(NamedTuple):
    """A disc inside a drawing, in image pixels."""

    x: float
    y: float
    radius: float


class SilhouetteMask(NamedTuple):
    """The cells of a frame that belong to the drawing, on a grid with an empty margin of one cell."""

    cells: NDArray[np.bool_]
    frame: PixelFrame
    cell: float

    def eroded(self, pixels: float) -> SilhouetteMask:
        """Return the mask without cells closer than `pixels` to its edge."""
        cells = self.cells
        for step in range(round(pixels / self.cell)):
            inner = cells.copy()
            inner[1:] &= cells[:-1]
            inner[:-1] &= cells[1:]
            inner[:, 1:] &= cells[:, :-1]
            inner[:, :-1] &= cells[:, 1:]
            if step % 2:  # every second step also diagonally: the mean of a diamond and a square is nearly a disc
                inner[1:, 1:] &= cells[:-1, :-1]
                inner[:-1, :-1] &= cells[1:, 1:]
                inner[1:, :-1] &= cells[:-1, 1:]
                inner[:-1, 1:] &= cells[1:, :-1]
            cells = inner
        return self._replace(cells=cells)

    def contains(self, x: float, y: float) -> bool:
        """Return whether the drawing contains a point of the image."""
        column, row = int((x - self.frame.left) / self.cell) + 1, int((y - self.frame.top) / self.cell) + 1
        rows, columns = self.cells.shape
        return 0 <= row < rows and 0 <= column < columns and bool(self.cells[row, column])

    def centers(self) -> list[tuple[float, float]]:
        """Return the centre of every cell in the drawing, in image pixels."""
        rows, columns = np.nonzero(self.cells)
        pairs = zip(columns.tolist(), rows.tolist(), strict=True)
        return [self._pixel(column + 0.5, row + 0.5) for column, row in pairs]

    def widest_part(self) -> InnerDisc:
        """Return approximately the largest disc inside the mask, found by repeated erosion."""
        mask, last, steps = self, self, 0
        while mask.cells.any():
            mask, last, steps = mask.eroded(self.cell), mask, steps + 1
        rows, columns = np.nonzero(last.cells)
        if not len(rows):
            return InnerDisc(float(self.frame.left), float(self.frame.top), 0.0)
        nearest = int(((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2).argmin())
        return InnerDisc(*self._pixel(float(columns[nearest]) + 0.5, float(rows[nearest]) + 0.5), steps * self.cell)

    def loops(self) -> list[list[tuple[float, float]]]:
        """Return the closed boundary lines of the mask in pixels, longest first, with the drawing on their right."""
        following: dict[tuple[int, int], list[tuple[int, int]]] = {}
        padded = np.pad(self.cells, 1)
        rows, columns = np.nonzero(self.cells & ~self.eroded(self.cell).cells)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            corners = (column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)
            outside = (
                not padded[row, column + 1],
                not padded[row + 1, column + 2],
                not padded[row + 2, column + 1],
                not padded[row + 1, column],
            )
            for side in range(4):
                if outside[side]:
                    following.setdefault(corners[side], []).append(corners[(side + 1) % 4])
        found = []
        while following:
            start = here = next(iter(following))
            loop = []
            while here in following:
                onward = following[here]
                loop.append(here)
                here = onward.pop()
                if not onward:
                    del following[loop[-1]]
                if here == start:
                    break
            found.append([self._pixel(x, y) for x, y in loop])
        return sorted(found, key=len, reverse=True)

    def _pixel(self, column: float, row: float) -> tuple[float, float]:
        return self.frame.left + (column - 1) * self.cell, self.frame.top + (row - 1) * self.cell


def silhouette_mask(silhouette: str, frame: PixelFrame) -> SilhouetteMask:
    """Rasterise a silhouette (path data, one line per shape) to a mask of its frame."""
    import resvg_py
    from PIL import Image

    cell = max(frame.width, frame.height) / _CELLS
    columns, rows = math.ceil(frame.width / cell) + 2, math.ceil(frame.height / cell) + 2
    paths = "".join(f'<path d="{line}" fill-rule="evenodd"/>' for line in silhouette.splitlines())
    view = f"{frame.left - cell} {frame.top - cell} {columns * cell} {rows * cell}"
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns}" height="{rows}" viewBox="{view}">{paths}</svg>'
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))) as image:
        cells = np.asarray(image.convert("RGBA").getchannel("A")) > 127
    return SilhouetteMask(cells, frame, cell)


def outline_points(loop: Sequence[tuple[float, float]], step: float, smooth: int = 4) -> list[OutlinePoint]:
    """Return points along a loop of a mask, about `step` pixels apart, with cell corners smoothed."""
    points = np.asarray(loop)
    mean = np.mean([np.roll(points, shift, axis=0) for shift in range(-smooth, smooth + 1)], axis=0)
    tangent = np.roll(mean, -smooth, axis=0) - np.roll(mean, smooth, axis=0)
    lengths = np.linalg.norm(np.roll(mean, -1, axis=0) - mean, axis=1)
    total = float(lengths.sum())
    count = max(3, round(total / step))
    at = np.searchsorted(np.cumsum(lengths), np.arange(count) * total / count).clip(max=len(points) - 1)
    found = []
    for number in at.tolist():
        along_x, along_y = tangent[number].tolist()
        size = math.hypot(along_x, along_y) or 1.0
        x, y = mean[number].tolist()
        found.append(OutlinePoint(x, y, along_y / size, -along_x / size))
    return found
