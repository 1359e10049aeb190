"""Recognition of icons by template matching: the closest template, and how far behind the next best is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from formalimg.judges.grounders.icon_segmentation import PixelBox
from formalimg.judges.grounders.icon_templates import GRIDS, CellGrid, IconLook, averaged, templates, to_cells

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

_COARSER = {24: 6, 12: 6, 8: 4, 6: 3}
"""The coarser grid on which most looks are ruled out, by the number of cells along a side."""

_FIRST_LOOKS = 6
"""So many looks, those with the smallest lower bounds, are compared first: the others must be able to beat these."""

_ROUNDING = 0.25
"""What a squared distance in single precision may be too small by, and more."""

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
        for (number, edges), nearest in zip(chosen, _nearest(cells, grid), strict=True):
            recognition = _recognition(edges, nearest, grid)
            if number not in found or recognition.distance < found[number].distance:
                found[number] = recognition
    return [found[number] for number in range(len(objects))]


def _cells(pixels: float) -> int:
    """Return the number of cells for a side of so many pixels."""
    return next((cells for cells in GRIDS if cells * _MIN_PIXELS_PER_CELL <= pixels), GRIDS[-1])


class NearestLooks(NamedTuple):
    """The number of the closest look and of the closest of another kind, and their distances."""

    best: int
    distance: float
    rival: int
    rival_distance: float


def _recognition(edges: PixelBox, nearest: NearestLooks, grid: CellGrid) -> Recognition:
    looks = templates(grid).looks
    limits = _FINE_LIMITS if min(grid) == GRIDS[0] else _COARSE_LIMITS
    best, distance, rival, rival_distance = nearest
    return Recognition(edges, looks[best], distance, looks[rival], rival_distance, limits)


def _nearest(cells: NDArray[np.float32], grid: CellGrid) -> list[NearestLooks]:
    """Return the nearest looks of each row of cells.

    No look is farther on a coarser grid than on the fine one: so most are ruled out there, with few cells.
    """
    coarse = CellGrid(_COARSER[grid.across], _COARSER[grid.down])
    bounds = _lower_bounds(averaged(cells, grid, coarse), grid, coarse)
    first = np.unique(np.argpartition(bounds, _FIRST_LOOKS, axis=1)[:, :_FIRST_LOOKS])
    reached = [_nearest_of(distances, first, grid).rival_distance for distances in _distances(cells, grid, first)]
    rows = np.flatnonzero((bounds <= np.array(reached)[:, None]).any(axis=0))
    return [_nearest_of(distances, rows, grid) for distances in _distances(cells, grid, rows)]


def _nearest_of(distances: NDArray[np.float32], rows: NDArray[np.intp], grid: CellGrid) -> NearestLooks:
    """Return the nearest of some looks, given their distances."""
    kinds = templates(grid).kinds[rows]
    best = int(np.argmin(distances))
    others = np.where(kinds == kinds[best], np.inf, distances)
    rival = int(np.argmin(others))
    return NearestLooks(int(rows[best]), float(distances[best]), int(rows[rival]), float(others[rival]))


def _lower_bounds(cells: NDArray[np.float32], grid: CellGrid, coarse: CellGrid) -> NDArray[np.float64]:
    """Return a lower bound of `_distances` on a grid, from the cells on a coarser one: at any fineness and softness."""
    bold, fine, soft, sums, determinant = _coarse_templates(grid, coarse)
    seen = cells.astype(np.float64)
    along_fine = seen @ fine.T - sums.bold_fine
    along_soft = seen @ soft.T - sums.bold_soft
    squares = _dots(seen, seen)[:, None] - 2 * seen @ bold.T + sums.bold_bold
    explained = sums.soft_soft * along_fine**2 - 2 * sums.fine_soft * along_fine * along_soft
    squares -= (explained + sums.fine_fine * along_soft**2) / determinant
    # The ones in `_products` weigh more among fewer cells: at most by the square of the largest fineness and softness.
    squares -= _MAX_FINENESS**2 + 1
    bounds: NDArray[np.float64] = np.sqrt(np.maximum(squares / seen.shape[1] - _ROUNDING, 0))
    return bounds


class _CoarseTemplates(NamedTuple):
    """All looks on a coarser grid, in double precision."""

    bold: NDArray[np.float64]
    towards_fine: NDArray[np.float64]
    towards_soft: NDArray[np.float64]
    products: _TemplateProducts
    determinant: NDArray[np.float64]


@cache
def _coarse_templates(grid: CellGrid, coarse: CellGrid) -> _CoarseTemplates:
    _, _, *known = templates(grid)
    bold, fine, soft = [averaged(rows, grid, coarse).astype(np.float64) for rows in known]
    sums = _products_of(bold, fine, soft)
    return _CoarseTemplates(bold, fine, soft, sums, sums.fine_fine * sums.soft_soft - sums.fine_soft**2)


def _distances(cells: NDArray[np.float32], grid: CellGrid, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the distance of each row of cells from some looks, at the fineness and softness that fit best."""
    known, sums = templates(grid), _TemplateProducts(*[products[rows] for products in _products(grid)])
    along_fine = cells @ known.towards_fine[rows].T - sums.bold_fine
    along_soft = cells @ known.towards_soft[rows].T - sums.bold_soft
    # Least squares with two unknowns, each clipped to its bounds.
    determinant = np.maximum(sums.fine_fine * sums.soft_soft - sums.fine_soft**2, 1)
    softness = np.clip((sums.fine_fine * along_soft - sums.fine_soft * along_fine) / determinant, 0, 1)
    fineness = np.clip((along_fine - softness * sums.fine_soft) / sums.fine_fine, _MIN_FINENESS, _MAX_FINENESS)
    softness = np.clip((along_soft - fineness * sums.fine_soft) / sums.soft_soft, 0, 1)
    squares = _dots(cells, cells)[:, None] - 2 * cells @ known.bold[rows].T + sums.bold_bold
    squares -= 2 * (fineness * along_fine + softness * along_soft - fineness * softness * sums.fine_soft)
    squares += fineness**2 * sums.fine_fine + softness**2 * sums.soft_soft
    distances: NDArray[np.float32] = np.sqrt(np.maximum(squares, 0) / cells.shape[1])
    return distances


class _TemplateProducts(NamedTuple):
    """Dot products of the cells of each template."""

    bold_bold: NDArray[np.floating]
    bold_fine: NDArray[np.floating]
    bold_soft: NDArray[np.floating]
    fine_fine: NDArray[np.floating]
    fine_soft: NDArray[np.floating]
    soft_soft: NDArray[np.floating]


@cache
def _products(grid: CellGrid) -> _TemplateProducts:
    _, _, bold, fine, soft = templates(grid)
    return _products_of(bold, fine, soft)


def _products_of(
    bold: NDArray[np.floating], fine: NDArray[np.floating], soft: NDArray[np.floating]
) -> _TemplateProducts:
    # A look may have the same outline at all sizes: the ones keep its two directions apart.
    return _TemplateProducts(
        _dots(bold, bold),
        _dots(bold, fine),
        _dots(bold, soft),
        _dots(fine, fine) + 1,
        _dots(fine, soft),
        _dots(soft, soft) + 1,
    )


def _dots(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.floating]:
    found: NDArray[np.floating] = np.einsum("ij,ij->i", one, other)
    return found
