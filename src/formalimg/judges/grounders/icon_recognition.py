"""Icon recognition by template matching, with a confidence based on the closest and second-closest template.

The templates (`looks.npz`) were drawn by `tools/draw_looks.py`: shipping them makes the grounder independent of the
version of the drawing library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from formalimg.drawing.icon_scene import drawable_classes, natural_aspect
from formalimg.judges.grounders.icon_segmentation import PixelBox, drawing_background
from formalimg.logic.vocabulary import vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRIDS = (24, 12, 8, 6)  # The possible numbers of cells along a side, the finest first
FINEST = GRIDS[0]


class CellGrid(NamedTuple):
    """The number of cells in each direction of an object's grid."""

    across: int
    down: int


def to_cells(image: Image.Image, edges: tuple[float, float, float, float], grid: CellGrid) -> NDArray[np.float32]:
    """Average an area of an image to grid cells, flattened to one row."""
    return np.asarray(image.resize(grid, Image.Resampling.BOX, box=edges), np.float32).reshape(-1)


LOOKS_FILE = "looks.npz"

OTHER = "other"  # The colour of objects that have none of the named colours
MIN_SLIMNESS = 0.7  # Classes whose aspect ratio is farther from a square (in the logarithm) look different in one


def list_kinds() -> list[tuple[str, str]]:
    """Return the class and colour of each template row; slim classes, which look different in a square, have two."""
    colors = (*vocabulary("knolling").words["color"], OTHER)
    return [
        (label, color)
        for label in drawable_classes()
        for _ in range(1 + (abs(math.log(natural_aspect(label))) > MIN_SLIMNESS))
        for color in colors
    ]


_MAX_UPRIGHT_ASPECT = 0.25
"""Classes whose aspect ratio is nearer to a square (in the logarithm) are drawn upright in any box."""


class IconLook(NamedTuple):
    """A class in a colour, upright or rotated by 90 degrees."""

    label: str
    color: str
    turned: bool


class IconTemplates(NamedTuple):
    """The templates of all icon looks on one grid.

    Outlines do not grow with their objects, and images may have been blurred. So a look is stored as a drawing with
    bold outlines and two directions of change.
    """

    looks: tuple[IconLook, ...]  # what each row shows
    kinds: NDArray[np.int64]  # a number that looks of the same class and colour share
    bold: NDArray[np.float32]  # a bold drawing of each look, one row each
    towards_fine: NDArray[np.float32]  # the difference to a drawing with fine outlines
    towards_soft: NDArray[np.float32]  # the difference to a blurred one


@cache
def load_templates(grid: CellGrid) -> IconTemplates:
    """Load the templates, averaged to the given grid."""
    looks, bold, towards_fine = _load_looks()
    finest = CellGrid(FINEST, FINEST)
    bold, towards_fine = average_cells(bold, finest, grid), average_cells(towards_fine, finest, grid)
    pairs = list(dict.fromkeys(look[:2] for look in looks))
    kinds = np.array([pairs.index(look[:2]) for look in looks])
    return IconTemplates(
        looks, kinds, bold, towards_fine, _compute_softening(bold + towards_fine * np.float32(1 / 3), grid)
    )


def average_cells(rows: NDArray[np.float32], grid: CellGrid, coarser: CellGrid) -> NDArray[np.float32]:
    """Average rows of cells to a coarser grid."""
    down, across = grid.down // coarser.down, grid.across // coarser.across
    squares = rows.reshape(len(rows), coarser.down, down, coarser.across, across, 3)
    cells: NDArray[np.float32] = squares.mean(axis=(2, 4)).reshape(len(rows), -1)
    return cells


def _compute_softening(rows: NDArray[np.float32], grid: CellGrid) -> NDArray[np.float32]:
    background = np.array(drawing_background(), np.float32)
    drawn = rows.reshape(-1, grid.down, grid.across, 3) - background
    framed = np.pad(drawn, ((0, 0), (1, 1), (1, 1), (0, 0)))
    blurred = (framed[:, :-2] + 2 * framed[:, 1:-1] + framed[:, 2:]) / 4
    blurred = (blurred[:, :, :-2] + 2 * blurred[:, :, 1:-1] + blurred[:, :, 2:]) / 4
    added: NDArray[np.float32] = (blurred - drawn).reshape(len(rows), -1)
    return added


@cache
def _load_looks() -> tuple[tuple[IconLook, ...], NDArray[np.float32], NDArray[np.float32]]:
    """Load the bold drawings of all looks on the finest grid, and their differences from the fine ones."""
    kinds = list_kinds()
    with (files("formalimg.judges.grounders") / LOOKS_FILE).open("rb") as file, np.load(file) as drawn:
        bold, fine = (drawn[name].astype(np.float32) for name in ("bold", "fine"))
    turning = np.array([abs(math.log(natural_aspect(label))) > _MAX_UPRIGHT_ASPECT for label, _ in kinds])
    looks = [IconLook(*kind, False) for kind in kinds]
    looks += [IconLook(*kind, True) for kind, turns in zip(kinds, turning, strict=True) if turns]
    start, end = (np.concatenate([rows, _rotate_cells(rows[turning])]) for rows in (bold, fine))
    return tuple(looks), start, end - start


def _rotate_cells(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    squares = rows.reshape(-1, FINEST, FINEST, 3)
    return np.rot90(squares, -1, axes=(1, 2)).reshape(len(rows), -1)


# --- recognition


class ConfidenceLimits(NamedTuple):
    """Limits for converting template distances to a confidence."""

    alike: float  # up to this distance, an object surely is a drawing
    unlike: float  # from this distance on, it surely is not
    distinct: float  # by which share a template must be nearer than its rival for full confidence


_MIN_FINENESS, _MAX_FINENESS = -0.5, 1.5
"""How much bolder or finer than the templates outlines may be, in steps from bold to fine."""

_COARSE_LIMITS = ConfidenceLimits(alike=30, unlike=50, distinct=0.25)
_FINE_LIMITS = ConfidenceLimits(alike=24, unlike=36, distinct=0.35)
"""Small objects are compared on coarser grids, on which more templates are alike."""

_COARSER = {24: 6, 12: 6, 8: 4, 6: 3}
"""The coarser grid on which most looks are ruled out, by the number of cells along a side."""

_FIRST_LOOKS = 6
"""So many looks, those with the smallest lower bounds, are compared first: the others must be able to beat these."""

_ROUNDING = 0.25  # What a squared distance in single precision may be too small by, and more
_MIN_PIXELS_PER_CELL = 1.5  # Finer cells would compare how edges happen to fall on pixels


class Recognition(NamedTuple):
    """The recognized class and colour of an object, with the distances to the closest templates."""

    edges: PixelBox  # where it is, in pixels
    look: IconLook  # the closest look
    distance: float  # the root mean square difference from it, in levels of 0 to 255
    rival: IconLook  # the closest look of another class or colour
    rival_distance: float  # the difference from that
    limits: ConfidenceLimits  # how distances become the confidence

    @property
    def confidence(self) -> float:
        """The confidence from 0 to 1, high if the object is close to one template and far from all others."""
        alike, unlike, distinct = self.limits
        likeness = (unlike - self.distance) / (unlike - alike)
        distinctness = (1 - self.distance / self.rival_distance) / distinct
        return min(1.0, max(0.0, likeness)) * min(1.0, max(0.0, distinctness))


def recognize_icons(image: Image.Image, objects: Sequence[Sequence[PixelBox]]) -> list[Recognition]:
    """Recognize the object in each group of candidate boxes, using the box that matches best."""
    possible = [(number, edges) for number, choices in enumerate(objects) for edges in choices]
    grids = [
        CellGrid(_count_cells(edges.right - edges.left), _count_cells(edges.bottom - edges.top))
        for _, edges in possible
    ]
    recognitions: dict[int, Recognition] = {}
    for grid in set(grids):
        chosen = [choice for choice, cell_grid in zip(possible, grids, strict=True) if cell_grid == grid]
        cells = np.stack([to_cells(image, edges, grid) for _, edges in chosen])
        for (number, edges), nearest in zip(chosen, _find_nearest(cells, grid), strict=True):
            recognition = _build_recognition(edges, nearest, grid)
            if number not in recognitions or recognition.distance < recognitions[number].distance:
                recognitions[number] = recognition
    return [recognitions[number] for number in range(len(objects))]


def _count_cells(pixels: float) -> int:
    """Return the number of grid cells for an object side of the given length."""
    return next((cells for cells in GRIDS if cells * _MIN_PIXELS_PER_CELL <= pixels), GRIDS[-1])


class NearestLooks(NamedTuple):
    """The indices and distances of the closest look and of the closest look of another kind."""

    best: int
    distance: float
    rival: int
    rival_distance: float


def _build_recognition(edges: PixelBox, nearest: NearestLooks, grid: CellGrid) -> Recognition:
    looks = load_templates(grid).looks
    limits = _FINE_LIMITS if min(grid) == GRIDS[0] else _COARSE_LIMITS
    best, distance, rival, rival_distance = nearest
    return Recognition(edges, looks[best], distance, looks[rival], rival_distance, limits)


def _find_nearest(cells: NDArray[np.float32], grid: CellGrid) -> list[NearestLooks]:
    bounds = _lower_bounds(cells, grid)
    first = np.argpartition(bounds, _FIRST_LOOKS, axis=1)[:, :_FIRST_LOOKS]
    objects = np.repeat(np.arange(len(cells)), _FIRST_LOOKS)
    distances = _compute_distances(cells, grid, objects, first.reshape(-1)).reshape(first.shape)
    reached = [_nearest_of(row, looks, grid).rival_distance for row, looks in zip(distances, first, strict=True)]
    objects, rows = np.nonzero(bounds <= np.square(reached)[:, None])
    distances = _compute_distances(cells, grid, objects, rows)
    ends = np.searchsorted(objects, np.arange(1, len(cells)))
    parts = zip(np.split(distances, ends), np.split(rows, ends), strict=True)
    return [_nearest_of(row, looks, grid) for row, looks in parts]


def _nearest_of(distances: NDArray[np.float32], rows: NDArray[np.intp], grid: CellGrid) -> NearestLooks:
    kinds = load_templates(grid).kinds[rows]
    best = int(np.argmin(distances))
    rivals = np.where(kinds == kinds[best], np.inf, distances)
    rival = int(np.argmin(rivals))
    return NearestLooks(int(rows[best]), float(distances[best]), int(rows[rival]), float(rivals[rival]))


def _lower_bounds(cells: NDArray[np.float32], grid: CellGrid) -> NDArray[np.float32]:
    """Return a lower bound of the squared distance between each row of cells and each look."""
    coarse = _coarse_grid(grid)
    coarse_templates = _coarse_templates(grid)
    coarse_cells = average_cells(cells, grid, coarse)
    # One vector after the other, for the reason in `_pair_products`.
    along_bold, along_fine, along_soft = (coarse_templates.directions[:, None] @ coarse_cells[:, :, None])[..., 0]
    along_fine -= coarse_templates.bold_fine
    along_soft -= coarse_templates.bold_soft
    changed = np.clip(along_fine, coarse_templates.least_fine, coarse_templates.most_fine)
    squares = _dot_rows(coarse_cells, coarse_cells)[:, None] + coarse_templates.bold_bold
    squares -= 2 * along_bold
    squares += changed * (changed - 2 * along_fine)
    changed = np.clip(along_soft, 0, coarse_templates.most_soft)
    squares += changed * (changed - 2 * along_soft)
    bounds: NDArray[np.float32] = squares / np.float32(coarse_cells.shape[1]) - np.float32(_ROUNDING)
    return bounds


class _CoarseTemplates(NamedTuple):
    """The templates of all icon looks, averaged to a coarser grid."""

    # each bold drawing; its direction towards a fine one, and the part of that towards a soft one that is orthogonal
    # to it, both of length 1
    directions: NDArray[np.float32]
    bold_bold: NDArray[np.float32]  # dot products of the bold drawings with themselves
    bold_fine: NDArray[np.float32]  # those with the second direction
    bold_soft: NDArray[np.float32]  # those with the third direction
    least_fine: NDArray[np.float32]  # how far a look can change along the second direction
    most_fine: NDArray[np.float32]  # the same, at most
    most_soft: NDArray[np.float32]  # how far a look can change along the third direction


def _coarse_grid(grid: CellGrid) -> CellGrid:
    return CellGrid(_COARSER[grid.across], _COARSER[grid.down])


@cache
def _coarse_templates(grid: CellGrid) -> _CoarseTemplates:
    _, _, *drawn_rows = load_templates(grid)
    bold, fine, soft = [average_cells(rows, grid, _coarse_grid(grid)).astype(np.float64) for rows in drawn_rows]
    fine_length, towards_fine = _normalize_rows(fine)
    shared = _dot_rows(soft, towards_fine)
    soft_length, towards_soft = _normalize_rows(soft - shared[:, None] * towards_fine)
    return _CoarseTemplates(
        np.stack([bold, towards_fine, towards_soft]).astype(np.float32),
        _dot_rows(bold, bold).astype(np.float32),
        _dot_rows(bold, towards_fine).astype(np.float32),
        _dot_rows(bold, towards_soft).astype(np.float32),
        (_MIN_FINENESS * fine_length + np.minimum(shared, 0)).astype(np.float32),
        (_MAX_FINENESS * fine_length + np.maximum(shared, 0)).astype(np.float32),
        soft_length.astype(np.float32),
    )


def _normalize_rows(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the length of each row and the rows scaled to unit length, leaving zero rows unchanged."""
    lengths = np.sqrt(_dot_rows(rows, rows))
    return lengths, rows / np.where(lengths > 0, lengths, 1)[:, None]


def _compute_distances(
    cells: NDArray[np.float32], grid: CellGrid, objects: NDArray[np.intp], rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return the distances between paired objects and looks, with best-fitting outline width and blur."""
    grid_templates, sums = load_templates(grid), _TemplateProducts(*_dot_products(grid)[:, rows])
    object_cells = cells[objects]
    along_fine = _pair_products(object_cells, grid_templates.towards_fine[rows]) - sums.bold_fine
    along_soft = _pair_products(object_cells, grid_templates.towards_soft[rows]) - sums.bold_soft
    # Least squares with two unknowns, each clipped to its bounds.
    determinant = np.maximum(sums.fine_fine * sums.soft_soft - sums.fine_soft**2, 1)
    softness = np.clip((sums.fine_fine * along_soft - sums.fine_soft * along_fine) / determinant, 0, 1)
    fineness = np.clip((along_fine - softness * sums.fine_soft) / sums.fine_fine, _MIN_FINENESS, _MAX_FINENESS)
    softness = np.clip((along_soft - fineness * sums.fine_soft) / sums.soft_soft, 0, 1)
    squares = (
        _dot_rows(cells, cells)[objects] - 2 * _pair_products(object_cells, grid_templates.bold[rows]) + sums.bold_bold
    )
    squares -= 2 * (fineness * along_fine + softness * along_soft - fineness * softness * sums.fine_soft)
    squares += fineness**2 * sums.fine_fine + softness**2 * sums.soft_soft
    distances: NDArray[np.float32] = np.sqrt(np.maximum(squares, 0) / cells.shape[1])
    return distances


class _TemplateProducts(NamedTuple):
    """Dot products between the components of each template."""

    bold_bold: NDArray[np.float32]
    bold_fine: NDArray[np.float32]
    bold_soft: NDArray[np.float32]
    fine_fine: NDArray[np.float32]
    fine_soft: NDArray[np.float32]
    soft_soft: NDArray[np.float32]


@cache
def _dot_products(grid: CellGrid) -> NDArray[np.float32]:
    _, _, bold, fine, soft = load_templates(grid)
    # A look may have the same outline at all sizes: the ones keep its two directions apart.
    with_bold = [_dot_rows(bold, bold), _dot_rows(bold, fine), _dot_rows(bold, soft)]
    return np.stack([*with_bold, _dot_rows(fine, fine) + 1, _dot_rows(fine, soft), _dot_rows(soft, soft) + 1])


def _pair_products(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    # One pair after the other: a product of matrices would start threads, which cost more than they save here.
    products: NDArray[np.float32] = (first[:, None, :] @ second[:, :, None])[:, 0, 0]
    return products


def _dot_rows(first: NDArray[np.floating], second: NDArray[np.floating]) -> NDArray[np.floating]:
    products: NDArray[np.floating] = np.einsum("ij,ij->i", first, second)
    return products
