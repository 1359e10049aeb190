"""Draw the templates of `builtin/icons`: all classes in all colours, as grids of cells.

python -m tools.draw_looks writes src/formalimg/judges/grounders/looks.npz, which takes some seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import formalimg.judges.grounders
from formalimg.drawing.icon_scene import draw, natural_aspect
from formalimg.judges.grounders.icon_recognition import FINEST, LOOKS_FILE, MIN_SLIMNESS, CellGrid, list_kinds, to_cells
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

_SHEET = CANVAS // 2  # The size of the images that templates are cut from: a pixel is two units of the canvas
_GUTTER = 2
_BOLD_SIDE, _FINE_SIDE = 24, 36
_FINE_LENGTH = 110  # The smaller side of bold drawings; the minimum smaller and longer side of fine ones, in pixels
_FINE_SQUARE = 72


def draw_looks() -> dict[str, NDArray[np.uint8]]:
    """Draw the templates of all classes in all colours with bold and with fine outlines."""
    kinds = list_kinds()
    sizes = {label: list(_list_sizes(natural_aspect(label))) for label, _ in kinds}
    rows: dict[tuple[str, str], int] = {}
    templates: list[tuple[str, str, tuple[int, int], tuple[int, int]]] = []
    for kind in kinds:
        number = rows[kind] = rows.get(kind, -1) + 1
        templates.append((*kind, *sizes[kind[0]][number]))
    return {
        "bold": _cut_cells([(label, color, *bold) for label, color, bold, _ in templates]),
        "fine": _cut_cells([(label, color, *fine) for label, color, _, fine in templates]),
    }


def _list_sizes(aspect: float) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the bold and fine sizes of a class, at its natural aspect ratio and, if slim, as a square."""
    slimness = max(aspect, 1 / aspect)
    bold, fine = _BOLD_SIDE * slimness, max(_FINE_LENGTH, _FINE_SIDE * slimness)
    across, down = min(1, aspect), min(1, 1 / aspect)
    yield (round(bold * across), round(bold * down)), (round(fine * across), round(fine * down))
    if math.log(slimness) > MIN_SLIMNESS:
        yield (_BOLD_SIDE, _BOLD_SIDE), (_FINE_SQUARE, _FINE_SQUARE)


def _cut_cells(drawn: Sequence[tuple[str, str, int, int]]) -> NDArray[np.uint8]:
    """Draw templates of these classes, colours, widths and heights, and return their cells, one row each."""
    rows = np.empty((len(drawn), 3 * FINEST**2), np.uint8)
    for sheet in _pack_sheets([(width, height) for _, _, width, height in drawn]):
        boxes = {number: (x, y, x + drawn[number][2], y + drawn[number][3]) for number, x, y in sheet}
        objects = [
            SceneObject(drawn[number][0], Box(*(edge * CANVAS / _SHEET for edge in box)), drawn[number][1])
            for number, box in boxes.items()
        ]
        image = draw(Scene.of(objects), _SHEET)
        for number, box in boxes.items():
            rows[number] = to_cells(image, box, CellGrid(FINEST, FINEST))
    return rows


def _pack_sheets(sizes: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Pack drawings onto sheets, and yield the index and top left corner of each drawing per sheet."""
    sheet: list[tuple[int, int, int]] = []
    x = y = shelf = 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number][1]):
        width, height = sizes[number][0] + _GUTTER, sizes[number][1] + _GUTTER
        if x + width > _SHEET:
            x, y, shelf = 0, y + shelf, 0
        if y + height > _SHEET:
            yield sheet
            sheet, x, y, shelf = [], 0, 0, 0
        sheet.append((number, x, y))
        x, shelf = x + width, max(shelf, height)
    yield sheet


if __name__ == "__main__":
    looks = draw_looks()
    path = Path(formalimg.judges.grounders.__file__).parent / LOOKS_FILE
    np.savez_compressed(path, bold=looks["bold"], fine=looks["fine"])
