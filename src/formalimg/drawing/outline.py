"""The outline of a drawing as points, for placing fur, stitches and rivets."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.drawing.icon import MIN_LINE_WIDTH, PixelFrame, Tones, palette
from formalimg.drawing.svg import IconDrawing, render_svg

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        loops = []
        while following:
            start = corner = next(iter(following))
            loop = []
            while corner in following:
                onward = following[corner]
                loop.append(corner)
                corner = onward.pop()
                if not onward:
                    del following[loop[-1]]
                if corner == start:
                    break
            loops.append([self._pixel(x, y) for x, y in loop])
        return sorted(loops, key=len, reverse=True)

    def _pixel(self, column: float, row: float) -> tuple[float, float]:
        return self.frame.left + (column - 1) * self.cell, self.frame.top + (row - 1) * self.cell


def silhouette_mask(silhouette: str, frame: PixelFrame) -> SilhouetteMask:
    """Rasterise a silhouette (path data, one line per shape) to a mask of its frame."""
    cell = max(frame.width, frame.height) / _CELLS
    columns, rows = math.ceil(frame.width / cell) + 2, math.ceil(frame.height / cell) + 2
    paths = "".join(f'<path d="{line}" fill-rule="evenodd"/>' for line in silhouette.splitlines())
    view = f"{frame.left - cell} {frame.top - cell} {columns * cell} {rows * cell}"
    image = render_svg(paths, columns, rows, f' viewBox="{view}"')
    cells = np.asarray(image.getchannel("A")) > 127
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
    outline = []
    for number in at.tolist():
        along_x, along_y = tangent[number].tolist()
        size = math.hypot(along_x, along_y) or 1.0
        x, y = mean[number].tolist()
        outline.append(OutlinePoint(x, y, along_y / size, -along_x / size))
    return outline


_GRID_CELLS = 56  # Cells of the grid along the longer side of the frame
_PAINTED = 96
"""The opacity (of 255) from which a cell counts as painted: glass counts, the soft rim of an outline does not."""
_STROKE = re.compile(r'stroke-width="([0-9.]+)"')


class PaintedSpot(NamedTuple):
    """A point of the image, in pixels."""

    x: float
    y: float


@dataclass(frozen=True, eq=False)
class Coverage:
    """A grid over a frame that records which cells are painted."""

    frame: PixelFrame
    cells: NDArray[np.bool_]
    color: str
    pen: float

    def moved_to(self, frame: PixelFrame) -> Coverage:
        """Return the coverage of the drawing after scaling it to another frame."""
        return replace(self, frame=frame)

    @property
    def tones(self) -> Tones:
        """The tones of the predominant colour of the drawing."""
        return {**palette().colors, **palette().others}[self.color]

    def spots(self) -> list[PaintedSpot]:
        """Return the centres of all painted cells, row by row."""
        rows, columns = self.cells.shape
        across, down = self.frame.width / columns, self.frame.height / rows
        ys, xs = self.cells.nonzero()
        points = zip(xs.tolist(), ys.tolist(), strict=True)
        return [PaintedSpot(self.frame.left + (x + 0.5) * across, self.frame.top + (y + 0.5) * down) for x, y in points]

    def top_of_run(self, x: float, y: float) -> float:
        """Return the top of the unbroken painted column that contains the given point."""
        rows, columns = map(int, self.cells.shape)
        column = min(columns - 1, max(0, int((x - self.frame.left) * columns / self.frame.width)))
        row = min(rows - 1, max(0, int((y - self.frame.top) * rows / self.frame.height)))
        while row > 0 and self.cells[row - 1, column]:
            row -= 1
        return self.frame.top + row * self.frame.height / rows

    def scattered(
        self, count: int, random: Random, apart: float, spots: list[PaintedSpot] | None = None
    ) -> list[PaintedSpot]:
        """Return up to `count` random painted spots that are at least `apart` pixels from each other."""
        scattered: list[PaintedSpot] = []
        rest = self.spots() if spots is None else spots
        while rest and len(scattered) < count:
            chosen = random.choice(rest)
            scattered.append(chosen)
            rest = [spot for spot in rest if (spot.x - chosen.x) ** 2 + (spot.y - chosen.y) ** 2 >= apart**2]
        return scattered


def coverage(drawing: IconDrawing) -> Coverage:
    """Measure the painted area of a drawing."""
    import numpy as np
    from PIL import ImageColor

    x, y, width, height = drawing.frame
    scale = _GRID_CELLS / max(width, height)
    columns, rows = max(4, round(width * scale)), max(4, round(height * scale))
    view = f' preserveAspectRatio="none" viewBox="{x} {y} {width} {height}"'
    image = render_svg(f"<defs>{drawing.defs}</defs>{drawing.body}", columns, rows, view)
    pixels = np.asarray(image).astype(int)
    cells = pixels[..., 3] > _PAINTED
    families = {**palette().colors, **palette().others}
    # All tones, as thin things are mostly outline.
    tones = np.array([ImageColor.getrgb(tone) for tones in families.values() for tone in tones])
    sample = pixels[cells][::3, None, :3]
    nearest = np.abs(sample - tones).sum(axis=-1).argmin(axis=1) // len(Tones._fields)
    color = list(families)[int(np.bincount(nearest, minlength=len(families)).argmax())]
    # The icon's own outline comes first; the strokes of a texture come after it.
    stroke = _STROKE.search(drawing.body)
    pen = min(float(stroke.group(1)) if stroke else math.inf, min(width, height) / 32)
    return Coverage(drawing.frame, cells, color, max(pen, MIN_LINE_WIDTH))
