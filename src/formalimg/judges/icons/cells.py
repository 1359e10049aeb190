"""Objects as squares of cells: what is compared when an object is recognized."""

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
    """Into how many cells an object is divided."""

    across: int
    down: int


def as_cells(image: Image.Image, edges: tuple[float, float, float, float], grid: Grid) -> NDArray[np.float32]:
    """The part of an image between these edges, as one row of cells."""
    return np.asarray(image.resize(grid, Image.Resampling.BOX, box=edges), np.float32).reshape(-1)
