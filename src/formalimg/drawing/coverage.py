"""The painted area of a drawing, measured on a small rendering to find positions and tones for marks."""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from formalimg.drawing.icon import MIN_LINE_WIDTH, PixelFrame, Tones, palette
from formalimg.drawing.icon_drawing import IconDrawing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CELLS = 56  # Cells of the grid along the longer side of the frame
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
        found: list[PaintedSpot] = []
        rest = self.spots() if spots is None else spots
        while rest and len(found) < count:
            chosen = random.choice(rest)
            found.append(chosen)
            rest = [spot for spot in rest if (spot.x - chosen.x) ** 2 + (spot.y - chosen.y) ** 2 >= apart**2]
        return found


def coverage(drawing: IconDrawing) -> Coverage:
    """Measure the painted area of a drawing."""
    import numpy as np
    import resvg_py
    from PIL import Image

    left, top, width, height = drawing.frame
    scale = _CELLS / max(width, height)
    columns, rows = max(4, round(width * scale)), max(4, round(height * scale))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns}" height="{rows}" preserveAspectRatio="none"'
        f' viewBox="{left} {top} {width} {height}" fill-rule="evenodd" stroke-linecap="round" stroke-linejoin="round">'
        f"<defs>{drawing.defs}</defs>{drawing.body}</svg>"
    )
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))) as image:
        pixels = np.asarray(image.convert("RGBA")).astype(int)
    cells = pixels[..., 3] > _PAINTED
    families = {**palette().colors, **palette().others}
    # All tones, as thin things are mostly outline.
    tones = np.array([_rgb(tone) for tones in families.values() for tone in tones])
    sample = pixels[cells][::3, None, :3]
    nearest = np.abs(sample - tones).sum(axis=-1).argmin(axis=1) // len(Tones._fields)
    color = list(families)[int(np.bincount(nearest, minlength=len(families)).argmax())]
    # The icon's own outline comes first; the strokes of a texture come after it.
    stroke = _STROKE.search(drawing.body)
    pen = min(float(stroke.group(1)) if stroke else math.inf, min(width, height) / 32)
    return Coverage(drawing.frame, cells, color, max(pen, MIN_LINE_WIDTH))


def _rgb(tone: str) -> list[int]:
    return [int(tone[at : at + 2], 16) for at in (1, 3, 5)]
