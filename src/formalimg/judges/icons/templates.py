"""What every class looks like in every colour, on grids of small squares."""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from formalimg.judges.icons.cells import FINEST, Grid
from formalimg.judges.icons.drawing_looks import LOOKS_FILE, kinds_drawn
from formalimg.judges.icons.finding import drawing_background
from formalimg.scenes import natural_aspect

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    with (files("formalimg.judges.icons") / LOOKS_FILE).open("rb") as file, np.load(file) as drawn:
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
