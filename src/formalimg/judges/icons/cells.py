"""Things as squares of cells: what is compared when a thing is recognized."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRIDS = (24, 12, 8, 6)
"""Into how many cells a side can be divided, the finest first."""

FINEST = GRIDS[0]


class Grid(NamedTuple):
    """Into how many cells a thing is divided."""

    across: int
    down: int


def as_cells(picture: Image.Image, edges: tuple[float, float, float, float], grid: Grid) -> NDArray[np.float32]:
    """The part of a picture between these edges, as one row of cells."""
    return np.asarray(picture.resize(grid, Image.Resampling.BOX, box=edges), np.float32).reshape(-1)
