"""Drawing what every class looks like in every colour, for the file that ships.

Drawing takes seconds and reading takes none. And a grounder that reads sees the same in every version of the library
that draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from formalimg.judges.icons.cells import FINEST, Grid, as_cells
from formalimg.logic import vocabulary
from formalimg.scenes import CANVAS, Box, Scene, SceneObject, draw, drawable_classes, natural_aspect

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
