"""Recognition of icons by template matching: the closest template, and how far behind the next best is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from formalimg.judges.grounders.icon_segmentation import PixelBox
from formalimg.judges.grounders.icon_templates import GRIDS, CellGrid, IconLook, templates, to_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image


class ConfidenceLimits(NamedTuple):
    """How distances become a confidence.

    Attributes:
        alike: up to this distance, an object surely is a drawing.
        unlike: from this distance on, it surely is not.
        distinct: by which share a template must be nearer than its rival for full confidence.
    """

    alike: float
    unlike: float
    distinct: float


_MIN_FINENESS, _MAX_FINENESS = -0.5, 1.5
"""How much bolder or finer than the templates outlines may be, in steps from bold to fine."""

_COARSE_LIMITS = ConfidenceLimits(alike=30, unlike=50, distinct=0.25)
_FINE_LIMITS = ConfidenceLimits(alike=24, unlike=36, distinct=0.35)
"""Small objects are compared on coarser grids, on which more templates are alike."""

_MIN_PIXELS_PER_CELL = 1.5
"""Finer cells would compare how edges happen to fall on pixels."""


class Recognition(NamedTuple):
    """What an object looks like.

    Attributes:
        edges: where it is, in pixels.
        look: the closest look.
        distance: the root mean square difference from it, in levels of 0 to 255.
        rival: the closest look of another class or colour.
        rival_distance: the difference from that.
        limits: how distances become the confidence.
    """

    edges: PixelBox
    look: IconLook
    distance: float
    rival: IconLook
    rival_distance: float
    limits: ConfidenceLimits

    @property
    def confidence(self) -> float:
        """0 to 1: high if the object is close to its template and far from all others."""
        alike, unlike, distinct = self.limits
        likeness = (unlike - self.distance) / (unlike - alike)
        distinctness = (1 - self.distance / self.rival_distance) / distinct
        return min(1.0, max(0.0, likeness)) * min(1.0, max(0.0, distinctness))


def recognize(image: Image, objects: Sequence[Sequence[PixelBox]]) -> list[Recognition]:
    """Recognize the objects in these boxes; of several candidate boxes for an object, the one that matches best."""
    possible = [(number, edges) for number, choices in enumerate(objects) for edges in choices]
    grids = [CellGrid(_cells(edges.right - edges.left), _cells(edges.bottom - edges.top)) for _, edges in possible]
    found: dict[int, Recognition] = {}
    for grid in set(grids):
        chosen = [choice for choice, other in zip(possible, grids, strict=True) if other == grid]
        cells = np.stack([to_cells(image, edges, grid) for _, edges in chosen])
        for (number, edges), distances in zip(chosen, _distances(cells, grid), strict=True):
            recognition = _nearest(edges, distances, grid)
            if number not in found or recognition.distance < found[number].distance:
                found[number] = recognition
    return [found[number] for number in range(len(objects))]


def _cells(pixels: float) -> int:
    """Return the number of cells for a side of so many pixels."""
    return next((cells for cells in GRIDS if cells * _MIN_PIXELS_PER_CELL <= pixels), GRIDS[-1])


def _nearest(edges: PixelBox, distances: NDArray[np.float32], grid: CellGrid) -> Recognition:
    looks, kinds, *_ = templates(grid)
    best = int(np.argmin(distances))
    rival = int(np.argmin(np.where(kinds == kinds[best], np.inf, distances)))
    limits = _FINE_LIMITS if min(grid) == GRIDS[0] else _COARSE_LIMITS
    return Recognition(edges, looks[best], float(distances[best]), looks[rival], float(distances[rival]), limits)


def _distances(cells: NDArray[np.float32], grid: CellGrid) -> NDArray[np.float32]:
    """Return the distance of each row of cells from each look, at the fineness and softness that fit best."""
    known, sums = templates(grid), _products(grid)
    along_fine = cells @ known.towards_fine.T - sums.bold_fine
    along_soft = cells @ known.towards_soft.T - sums.bold_soft
    # Least squares with two unknowns, each clipped to its bounds.
    determinant = np.maximum(sums.fine_fine * sums.soft_soft - sums.fine_soft**2, 1)
    softness = np.clip((sums.fine_fine * along_soft - sums.fine_soft * along_fine) / determinant, 0, 1)
    fineness = np.clip((along_fine - softness * sums.fine_soft) / sums.fine_fine, _MIN_FINENESS, _MAX_FINENESS)
    softness = np.clip((along_soft - fineness * sums.fine_soft) / sums.soft_soft, 0, 1)
    squares = _dots(cells, cells)[:, None] - 2 * cells @ known.bold.T + sums.bold_bold
    squares -= 2 * (fineness * along_fine + softness * along_soft - fineness * softness * sums.fine_soft)
    squares += fineness**2 * sums.fine_fine + softness**2 * sums.soft_soft
    distances: NDArray[np.float32] = np.sqrt(np.maximum(squares, 0) / cells.shape[1])
    return distances


class _TemplateProducts(NamedTuple):
    """Dot products of the cells of each template."""

    bold_bold: NDArray[np.float32]
    bold_fine: NDArray[np.float32]
    bold_soft: NDArray[np.float32]
    fine_fine: NDArray[np.float32]
    fine_soft: NDArray[np.float32]
    soft_soft: NDArray[np.float32]


@cache
def _products(grid: CellGrid) -> _TemplateProducts:
    _, _, bold, fine, soft = templates(grid)
    # A look may have the same outline at all sizes: the ones keep its two directions apart.
    return _TemplateProducts(
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
