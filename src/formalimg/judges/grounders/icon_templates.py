"""Objects as squares of cells: what is compared when an object is recognized."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from formalimg.judges.grounders.icon_segmentation import drawing_background
from formalimg.logic import vocabulary
from formalimg.scenes import CANVAS, Box, Scene, SceneObject, draw, drawable_classes, natural_aspect

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


LOOKS_FILE = "looks.npz"

OTHER = "other"
"""The colour of what has none of the colours."""

_SHEET = CANVAS // 2
"""The size of the images that looks are cut from: a pixel is two units of the canvas."""
_GUTTER = 2
_BOLD_SIDE, _FINE_SIDE = 24, 36
_FINE_LENGTH = 110
"""The smaller side of bold drawings; the least smaller and the least longer side of fine ones, in pixels."""
_SQUEEZED = 0.7
"""Classes whose natural shape is so far from a square (in the logarithm) look different in one."""
_FINE_SQUARE = 72


class DrawnLooks(NamedTuple):
    """All classes in all colours, on the finest grid: one row for each of `kinds_drawn`, bold and fine."""

    bold: NDArray[np.uint8]
    fine: NDArray[np.uint8]


class _Drawn(NamedTuple):
    label: str
    color: str
    width: int
    height: int


def kinds_drawn() -> list[tuple[str, str]]:
    """The class and colour of each row; slim classes have two rows in each colour."""
    return [(label, color) for label, *_ in _shapes() for color in _colors()]


def draw_looks() -> DrawnLooks:
    """Draw all of them."""
    bold = _cut([_Drawn(label, color, *size) for label, size, _ in _shapes() for color in _colors()])
    fine = _cut([_Drawn(label, color, *size) for label, _, size in _shapes() for color in _colors()])
    return DrawnLooks(bold, fine)


def _colors() -> tuple[str, ...]:
    return (*vocabulary("knolling").words["color"], OTHER)


def _shapes() -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    return [(label, *sizes) for label in drawable_classes() for sizes in _sizes(natural_aspect(label))]


def _sizes(aspect: float) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """In which sizes a class is drawn, boldly and finely: in its natural shape, and in a square if it is slim."""
    slimness = max(aspect, 1 / aspect)
    bold, fine = _BOLD_SIDE * slimness, max(_FINE_LENGTH, _FINE_SIDE * slimness)
    across, down = min(1, aspect), min(1, 1 / aspect)
    yield (round(bold * across), round(bold * down)), (round(fine * across), round(fine * down))
    if math.log(slimness) > _SQUEEZED:
        yield (_BOLD_SIDE, _BOLD_SIDE), (_FINE_SQUARE, _FINE_SQUARE)


def _cut(drawn: Sequence[_Drawn]) -> NDArray[np.uint8]:
    """The cells of drawings of these sizes, one row each."""
    rows = np.empty((len(drawn), 3 * FINEST**2), np.uint8)
    for sheet in _sheets(drawn):
        boxes = {number: (x, y, x + drawn[number].width, y + drawn[number].height) for number, x, y in sheet}
        objects = [
            SceneObject(drawn[number].label, Box(*(edge * CANVAS / _SHEET for edge in box)), drawn[number].color)
            for number, box in boxes.items()
        ]
        image = draw(Scene.of(objects), _SHEET)
        for number, box in boxes.items():
            rows[number] = as_cells(image, box, Grid(FINEST, FINEST))
    return rows


def _sheets(drawn: Sequence[_Drawn]) -> Iterator[list[tuple[int, int, int]]]:
    """Where on sheets drawings find room: their numbers and left top corners, in shelves, the tallest first."""
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


_NEVER_TURNED = 0.25
"""Classes whose natural shape is so near to a square (in the logarithm) are drawn upright in any box."""


class Look(NamedTuple):
    """A class in a colour, upright or turned a quarter."""

    label: str
    color: str
    turned: bool


class Templates(NamedTuple):
    """All looks on one grid.

    Outlines do not grow with the objects they are around, and images may have been blurred. So a look is a drawing
    with bold outlines and two ways to go from there.

    Attributes:
        looks: what each row shows.
        kinds: the same number for looks of the same class and colour.
        bold: a bold drawing of each look, one row each.
        towards_fine: the way to a drawing with fine outlines.
        towards_soft: the way to a blurred one.
    """

    looks: tuple[Look, ...]
    kinds: NDArray[np.int64]
    bold: NDArray[np.float32]
    towards_fine: NDArray[np.float32]
    towards_soft: NDArray[np.float32]


@cache
def templates(grid: Grid) -> Templates:
    """The templates on a grid."""
    looks, bold, towards_fine = _drawn_looks()
    bold, towards_fine = _averaged(bold, grid), _averaged(towards_fine, grid)
    pairs = list(dict.fromkeys(look[:2] for look in looks))
    kinds = np.array([pairs.index(look[:2]) for look in looks])
    return Templates(looks, kinds, bold, towards_fine, _softening(bold + towards_fine * np.float32(1 / 3), grid))


def _averaged(rows: NDArray[np.float32], grid: Grid) -> NDArray[np.float32]:
    squares = rows.reshape(len(rows), grid.down, FINEST // grid.down, grid.across, FINEST // grid.across, 3)
    cells: NDArray[np.float32] = squares.mean(axis=(2, 4)).reshape(len(rows), -1)
    return cells


def _softening(rows: NDArray[np.float32], grid: Grid) -> NDArray[np.float32]:
    """What a slight blur adds to each cell; around an object is background."""
    background = np.array(drawing_background(), np.float32)
    drawn = rows.reshape(-1, grid.down, grid.across, 3) - background
    framed = np.pad(drawn, ((0, 0), (1, 1), (1, 1), (0, 0)))
    blurred = (framed[:, :-2] + 2 * framed[:, 1:-1] + framed[:, 2:]) / 4
    blurred = (blurred[:, :, :-2] + 2 * blurred[:, :, 1:-1] + blurred[:, :, 2:]) / 4
    added: NDArray[np.float32] = (blurred - drawn).reshape(len(rows), -1)
    return added


@cache
def _drawn_looks() -> tuple[tuple[Look, ...], NDArray[np.float32], NDArray[np.float32]]:
    """All looks on the finest grid: drawn boldly, and the way to a fine drawing."""
    kinds = kinds_drawn()
    with (files("formalimg.judges.grounders") / LOOKS_FILE).open("rb") as file, np.load(file) as drawn:
        bold, fine = (drawn[name].astype(np.float32) for name in ("bold", "fine"))
    turning = np.array([abs(math.log(natural_aspect(label))) > _NEVER_TURNED for label, _ in kinds])
    looks = [Look(*kind, False) for kind in kinds]
    looks += [Look(*kind, True) for kind, turns in zip(kinds, turning, strict=True) if turns]
    start, end = (np.concatenate([rows, _turned(rows[turning])]) for rows in (bold, fine))
    return tuple(looks), start, end - start


def _turned(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squares of cells turned a quarter clockwise, as drawings are."""
    squares = rows.reshape(-1, FINEST, FINEST, 3)
    return np.rot90(squares, -1, axes=(1, 2)).reshape(len(rows), -1)
