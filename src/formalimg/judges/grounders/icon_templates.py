"""Icon templates: all classes in all colours as grids of cells, loaded from a packaged file.

Drawing takes seconds and loading takes none. And a grounder with shipped templates sees the same in every version of
the library that draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from formalimg.drawing.icon_scene import draw, drawable_classes, natural_aspect
from formalimg.judges.grounders.icon_segmentation import drawing_background
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

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
_SHEET = CANVAS // 2  # The size of the images that templates are cut from: a pixel is two units of the canvas
_GUTTER = 2
_BOLD_SIDE, _FINE_SIDE = 24, 36
_FINE_LENGTH = 110  # The smaller side of bold drawings; the minimum smaller and longer side of fine ones, in pixels
_MIN_SLIMNESS = 0.7  # Classes whose aspect ratio is farther from a square (in the logarithm) look different in one
_FINE_SQUARE = 72


class DrawnLooks(NamedTuple):
    """Drawings of all classes in all colours on the finest grid, with bold and with fine outlines."""

    bold: NDArray[np.uint8]
    fine: NDArray[np.uint8]


class _TemplateSize(NamedTuple):
    """The class, colour and pixel size of a template drawing."""

    label: str
    color: str
    width: int
    height: int


def list_kinds() -> list[tuple[str, str]]:
    """Return the class and colour of each template row; slim classes have two rows per colour."""
    return [(label, color) for label, *_ in _list_shapes() for color in _list_colors()]


def draw_looks() -> DrawnLooks:
    """Draw the templates of all classes in all colours, which takes several seconds."""
    bold = _cut_cells(
        [_TemplateSize(label, color, *size) for label, size, _ in _list_shapes() for color in _list_colors()]
    )
    fine = _cut_cells(
        [_TemplateSize(label, color, *size) for label, _, size in _list_shapes() for color in _list_colors()]
    )
    return DrawnLooks(bold, fine)


def _list_colors() -> tuple[str, ...]:
    return (*vocabulary("knolling").words["color"], OTHER)


def _list_shapes() -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    return [(label, *sizes) for label in drawable_classes() for sizes in _list_sizes(natural_aspect(label))]


def _list_sizes(aspect: float) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the bold and fine sizes of a class, at its natural aspect ratio and, if slim, as a square."""
    slimness = max(aspect, 1 / aspect)
    bold, fine = _BOLD_SIDE * slimness, max(_FINE_LENGTH, _FINE_SIDE * slimness)
    across, down = min(1, aspect), min(1, 1 / aspect)
    yield (round(bold * across), round(bold * down)), (round(fine * across), round(fine * down))
    if math.log(slimness) > _MIN_SLIMNESS:
        yield (_BOLD_SIDE, _BOLD_SIDE), (_FINE_SQUARE, _FINE_SQUARE)


def _cut_cells(drawn: Sequence[_TemplateSize]) -> NDArray[np.uint8]:
    """Draw the templates and return their cells, one row each."""
    rows = np.empty((len(drawn), 3 * FINEST**2), np.uint8)
    for sheet in _pack_sheets(drawn):
        boxes = {number: (x, y, x + drawn[number].width, y + drawn[number].height) for number, x, y in sheet}
        objects = [
            SceneObject(drawn[number].label, Box(*(edge * CANVAS / _SHEET for edge in box)), drawn[number].color)
            for number, box in boxes.items()
        ]
        image = draw(Scene.of(objects), _SHEET)
        for number, box in boxes.items():
            rows[number] = to_cells(image, box, CellGrid(FINEST, FINEST))
    return rows


def _pack_sheets(drawn: Sequence[_TemplateSize]) -> Iterator[list[tuple[int, int, int]]]:
    """Pack drawings onto sheets, and yield the index and top left corner of each drawing per sheet."""
    sheet: list[tuple[int, int, int]] = []
    x = y = shelf = 0
    for number in sorted(range(len(drawn)), key=lambda number: -drawn[number].height):
        width, height = drawn[number].width + _GUTTER, drawn[number].height + _GUTTER
        if x + width > _SHEET:
            x, y, shelf = 0, y + shelf, 0
        if y + height > _SHEET:
            yield sheet
            sheet, x, y, shelf = [], 0, 0, 0
        sheet.append((number, x, y))
        x, shelf = x + width, max(shelf, height)
    yield sheet


_MAX_UPRIGHT_ASPECT = 0.25
"""Classes whose aspect ratio is nearer to a square (in the logarithm) are drawn upright in any box."""


class IconLook(NamedTuple):
    """A class in a colour, upright or rotated by 90 degrees."""

    label: str
    color: str
    turned: bool


class IconTemplates(NamedTuple):
    """The templates of all icon looks on one grid.

    Outlines do not grow with the objects they are around, and images may have been blurred. So a look is a drawing
    with bold outlines and two directions of change.
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
    """Return the difference that a slight blur makes to each cell."""
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
    """Rotate square grids of cells by 90 degrees clockwise."""
    squares = rows.reshape(-1, FINEST, FINEST, 3)
    return np.rot90(squares, -1, axes=(1, 2)).reshape(len(rows), -1)
