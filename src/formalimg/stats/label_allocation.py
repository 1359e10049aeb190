"""Where human labels narrow a corrected pass rate most: Neyman allocation over levels and answers of the judge."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import normal_quantile

_GUESSED_ERROR = 0.2
"""How often a judge is taken to be wrong before there are labels."""

_GUESS_WEIGHT = 4
"""How many labels the guess is worth."""

_LEAST = 2


class LabelAllocation(NamedTuple):
    """How many images to label of each level and answer of the judge.

    Attributes:
        cells: further labels by level and whether the judge passed the image.
        half_width: expected half width of the corrected Overall interval after them.
    """

    cells: Mapping[tuple[int, bool], int]
    half_width: float


def allocate_labels(
    cells: Mapping[tuple[int, bool], int],
    labels: int,
    *,
    known: Mapping[tuple[int, bool], tuple[int, int]] | None = None,
    confidence: float = 0.95,
) -> LabelAllocation:
    """Return how many further labels each cell should get, so that the corrected Overall rate is most precise.

    Args:
        cells: number of images by level and whether the judge passed them.
        labels: how many further labels there will be.
        known: labels so far of each cell: how many said yes, and how many there are.
        confidence: of the interval whose half width is returned.

    Raises:
        FormalimgError: if a count is impossible, or there are more labels than images.
    """
    width = normal_quantile(confidence)
    so_far = dict(known or {})
    for cell, images in cells.items():
        yes, done = so_far.get(cell, (0, 0))
        if images < 0 or not 0 <= yes <= done <= images:
            raise FormalimgError(f"{yes} of {done} labels say yes, of {images} images of {cell}: give possible counts")
    for cell in so_far:
        if cell not in cells:
            raise FormalimgError(f"there are labels of {cell}, but no images: give labels of this run only")
    left = {cell: images - so_far.get(cell, (0, 0))[1] for cell, images in cells.items()}
    if not 0 <= labels <= sum(left.values()):
        raise FormalimgError(f"{labels} labels are asked for, of {sum(left.values())} images: ask for no more")
    total = sum(cells.values())
    if not total:
        raise FormalimgError("there are no images: give the number of images of each cell")
    rates = {cell: _guess(cell[1], *so_far.get(cell, (0, 0))) for cell in cells}
    given = dict.fromkeys(cells, 0)
    done_of = {cell: so_far.get(cell, (0, 0))[1] for cell in cells}

    def gain(cell: tuple[int, bool]) -> tuple[float, float, int, bool]:
        n = done_of[cell] + given[cell]
        scale = cells[cell] ** 2 * rates[cell] * (1 - rates[cell])
        return (float(n < _LEAST), scale / (n * (n + 1)) if n else scale * 2, *cell)

    for _ in range(labels):
        best = max((cell for cell in cells if given[cell] < left[cell]), key=gain)
        given[best] += 1
    variance = 0.0
    for cell, images in cells.items():
        n = max(1, done_of[cell] + given[cell])
        variance += (images / total) ** 2 * rates[cell] * (1 - rates[cell]) / n
    for level in {level for level, _ in cells}:
        yes, no = cells.get((level, True), 0), cells.get((level, False), 0)
        if yes and no:
            apart = rates[level, True] - rates[level, False]
            variance += yes * no / (yes + no) / total**2 * apart**2
    return LabelAllocation(given, width * sqrt(variance))


def _guess(passed: bool, yes: int, labels: int) -> float:
    """Return the share of the cell that people pass, as far as it is known."""
    prior = 1 - _GUESSED_ERROR if passed else _GUESSED_ERROR
    return (yes + _GUESS_WEIGHT * prior) / (labels + _GUESS_WEIGHT)
