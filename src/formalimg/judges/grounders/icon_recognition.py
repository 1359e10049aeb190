"""What an object is: the look that comes closest_match, and how far the next best is behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from formalimg.judges.grounders.icon_segmentation import Edges
from formalimg.judges.grounders.icon_templates import GRIDS, Grid, Look, as_cells, templates

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image


class Doubts(NamedTuple):
    """When to doubt a recognition.

    Attributes:
        alike: up to this distance, something surely is a drawing.
        unlike: from this distance on, it surely is none.
        distinct: by which share a look must be nearer than its rival to be beyond doubt.
    """

    alike: float
    unlike: float
    distinct: float


_BOLDEST, _FINEST = -0.5, 1.5
"""How much bolder and finer than the drawn templates outlines may be, in steps from bold to fine."""

_COARSE_DOUBTS = Doubts(alike=30, unlike=50, distinct=0.25)
_FINE_DOUBTS = Doubts(alike=24, unlike=36, distinct=0.35)
"""Small objects are seen on coarser grids, on which more looks are alike."""

_PIXELS_PER_CELL = 1.5
"""The least: finer cells would compare the chances of how edges fall on pixels."""


class Recognition(NamedTuple):
    """What something looks like.

    Attributes:
        edges: where it is.
        look: the closest_match look.
        distance: the mean difference from it (root of squares) in levels of 0 to 255.
        rival: the closest_match look of another class or colour.
        rival_distance: the difference from that.
        doubts: when to doubt it.
    """

    edges: Edges
    look: Look
    distance: float
    rival: Look
    rival_distance: float
    doubts: Doubts

    @property
    def confidence(self) -> float:
        """0 to 1: it looks like what it is said to be, and like nothing else."""
        alike, unlike, distinct = self.doubts
        likeness = (unlike - self.distance) / (unlike - alike)
        distinctness = (1 - self.distance / self.rival_distance) / distinct
        return min(1.0, max(0.0, likeness)) * min(1.0, max(0.0, distinctness))


def recognize(image: Image, objects: Sequence[Sequence[Edges]]) -> list[Recognition]:
    """What the objects are that lie between these edges; of several possible edges, those with the closest_match look."""
    possible = [(number, edges) for number, choices in enumerate(objects) for edges in choices]
    grids = [Grid(_cells(edges.right - edges.left), _cells(edges.bottom - edges.top)) for _, edges in possible]
    found: dict[int, Recognition] = {}
    for grid in set(grids):
        chosen = [choice for choice, other in zip(possible, grids, strict=True) if other == grid]
        cells = np.stack([as_cells(image, edges, grid) for _, edges in chosen])
        for (number, edges), distances in zip(chosen, _distances(cells, grid), strict=True):
            recognition = _nearest(edges, distances, grid)
            if number not in found or recognition.distance < found[number].distance:
                found[number] = recognition
    return [found[number] for number in range(len(objects))]


def _cells(pixels: float) -> int:
    """How many cells a side of so many pixels is divided into."""
    return next((cells for cells in GRIDS if cells * _PIXELS_PER_CELL <= pixels), GRIDS[-1])


def _nearest(edges: Edges, distances: NDArray[np.float32], grid: Grid) -> Recognition:
    looks, kinds, *_ = templates(grid)
    best = int(np.argmin(distances))
    rival = int(np.argmin(np.where(kinds == kinds[best], np.inf, distances)))
    doubts = _FINE_DOUBTS if min(grid) == GRIDS[0] else _COARSE_DOUBTS
    return Recognition(edges, looks[best], float(distances[best]), looks[rival], float(distances[rival]), doubts)


def _distances(cells: NDArray[np.float32], grid: Grid) -> NDArray[np.float32]:
    """How far each row of cells is from each look, at the boldness and softness that suit it best."""
    known, sums = templates(grid), _products(grid)
    along_fine = cells @ known.towards_fine.T - sums.bold_fine
    along_soft = cells @ known.towards_soft.T - sums.bold_soft
    # The least squares of two unknowns, each kept within its bounds.
    determinant = np.maximum(sums.fine_fine * sums.soft_soft - sums.fine_soft**2, 1)
    softness = np.clip((sums.fine_fine * along_soft - sums.fine_soft * along_fine) / determinant, 0, 1)
    fineness = np.clip((along_fine - softness * sums.fine_soft) / sums.fine_fine, _BOLDEST, _FINEST)
    softness = np.clip((along_soft - fineness * sums.fine_soft) / sums.soft_soft, 0, 1)
    squares = _dots(cells, cells)[:, None] - 2 * cells @ known.bold.T + sums.bold_bold
    squares -= 2 * (fineness * along_fine + softness * along_soft - fineness * softness * sums.fine_soft)
    squares += fineness**2 * sums.fine_fine + softness**2 * sums.soft_soft
    distances: NDArray[np.float32] = np.sqrt(np.maximum(squares, 0) / cells.shape[1])
    return distances


class _Products(NamedTuple):
    """Sums of products over the cells of each template."""

    bold_bold: NDArray[np.float32]
    bold_fine: NDArray[np.float32]
    bold_soft: NDArray[np.float32]
    fine_fine: NDArray[np.float32]
    fine_soft: NDArray[np.float32]
    soft_soft: NDArray[np.float32]


@cache
def _products(grid: Grid) -> _Products:
    _, _, bold, fine, soft = templates(grid)
    # A look may have the same outline at all sizes: the ones keep its two ways apart.
    return _Products(
        _dots(bold, bold),
        _dots(bold, fine),
        _dots(bold, soft),
        _dots(fine, fine) + 1,
        _dots(fine, soft),
        _dots(soft, soft) + 1,
    )


def _dots(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = np.einsum("ij,ij->i", one, other)
    return found
