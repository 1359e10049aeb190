"""What every class looks like in every colour: drawn once, scaled to small squares, kept for the process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from formalimg.judges.icons.finding import drawing_background
from formalimg.logic import vocabulary
from formalimg.scenes import CANVAS, Box, Scene, Thing, draw, drawable_classes, natural_aspect

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRIDS = (24, 12, 8, 6)
"""Into how many cells a side can be divided, the finest first."""

_FINEST = GRIDS[0]

OTHER = "other"
"""The colour of what has none of the colours."""

_SHEET = CANVAS // 2
"""The size of the pictures that templates are cut from: a pixel is two units of the canvas."""
_GUTTER = 2
_BOLD_SIDE, _FINE_SIDE = 24, 36
_FINE_LENGTH = 110
"""The smaller side of bold drawings; the least smaller and the least longer side of fine ones, in pixels."""
_SQUEEZED = 0.7
"""Classes whose natural shape is so far from a square (in the logarithm) look different in one."""
_FINE_SQUARE = 72
_NEVER_TURNED = 0.25
"""Classes whose natural shape is so near to a square (in the logarithm) are drawn upright in any box."""


_DRAWING = Lock()
"""Threads that need the templates at the same time wait for one of them to draw."""


class Look(NamedTuple):
    """A class in a colour, upright or turned a quarter."""

    label: str
    color: str
    turned: bool


class Templates(NamedTuple):
    """All looks on one grid.

    Outlines do not grow with the things they are around, and pictures may have been blurred. So a look is a drawing
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


class Grid(NamedTuple):
    """Into how many cells a thing is divided."""

    across: int
    down: int


class _Drawn(NamedTuple):
    label: str
    color: str
    width: int
    height: int


@cache
def templates(grid: Grid) -> Templates:
    """The templates on a grid."""
    with _DRAWING:
        looks, bold, towards_fine = _drawn_looks()
    bold, towards_fine = _averaged(bold, grid), _averaged(towards_fine, grid)
    pairs = list(dict.fromkeys(look[:2] for look in looks))
    kinds = np.array([pairs.index(look[:2]) for look in looks])
    return Templates(looks, kinds, bold, towards_fine, _softening(bold + towards_fine * np.float32(1 / 3), grid))


def as_cells(picture: Image.Image, edges: tuple[float, float, float, float], grid: Grid) -> NDArray[np.float32]:
    """The part of a picture between these edges, as one row of cells."""
    return np.asarray(picture.resize(grid, Image.Resampling.BOX, box=edges), np.float32).reshape(-1)


def _averaged(rows: NDArray[np.float32], grid: Grid) -> NDArray[np.float32]:
    squares = rows.reshape(len(rows), grid.down, _FINEST // grid.down, grid.across, _FINEST // grid.across, 3)
    cells: NDArray[np.float32] = squares.mean(axis=(2, 4)).reshape(len(rows), -1)
    return cells


def _softening(rows: NDArray[np.float32], grid: Grid) -> NDArray[np.float32]:
    """What a slight blur adds to each cell; around a thing is background."""
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
    colors = (*vocabulary("knolling").words["color"], OTHER)
    shapes = [(label, *sizes) for label in drawable_classes() for sizes in _sizes(natural_aspect(label))]
    kinds = [(label, color) for label, *_ in shapes for color in colors]
    bold = _cut([_Drawn(label, color, *size) for label, size, _ in shapes for color in colors])
    fine = _cut([_Drawn(label, color, *size) for label, _, size in shapes for color in colors])
    turning = np.array([abs(math.log(natural_aspect(label))) > _NEVER_TURNED for label, _ in kinds])
    looks = [Look(*kind, False) for kind in kinds]
    looks += [Look(*kind, True) for kind, turns in zip(kinds, turning, strict=True) if turns]
    start, end = (np.concatenate([rows, _turned(rows[turning])]) for rows in (bold, fine))
    return tuple(looks), start, end - start


def _sizes(aspect: float) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """In which sizes a class is drawn, boldly and finely: in its natural shape, and in a square if it is slim."""
    slimness = max(aspect, 1 / aspect)
    bold, fine = _BOLD_SIDE * slimness, max(_FINE_LENGTH, _FINE_SIDE * slimness)
    across, down = min(1, aspect), min(1, 1 / aspect)
    yield (round(bold * across), round(bold * down)), (round(fine * across), round(fine * down))
    if math.log(slimness) > _SQUEEZED:
        yield (_BOLD_SIDE, _BOLD_SIDE), (_FINE_SQUARE, _FINE_SQUARE)


def _turned(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squares of cells turned a quarter clockwise, as drawings are."""
    squares = rows.reshape(-1, _FINEST, _FINEST, 3)
    return np.rot90(squares, -1, axes=(1, 2)).reshape(len(rows), -1)


def _cut(drawn: Sequence[_Drawn]) -> NDArray[np.float32]:
    """The cells of drawings of these sizes, one row each."""
    rows = np.empty((len(drawn), 3 * _FINEST**2), np.float32)
    for sheet in _sheets(drawn):
        boxes = {number: (x, y, x + drawn[number].width, y + drawn[number].height) for number, x, y in sheet}
        things = [
            Thing(drawn[number].label, Box(*(edge * CANVAS / _SHEET for edge in box)), drawn[number].color)
            for number, box in boxes.items()
        ]
        picture = draw(Scene.of(things), _SHEET)
        for number, box in boxes.items():
            rows[number] = as_cells(picture, box, Grid(_FINEST, _FINEST))
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
