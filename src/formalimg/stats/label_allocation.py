"""Where human labels narrow a corrected pass rate most: Neyman allocation over levels and answers of the judge."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import validate_confidence
from formalimg.stats.labelled_levels import AnswerCell, LabelledLevel, rate_of_levels

_GUESSED_ERROR = 0.2
"""How often a judge is taken to be wrong before there are labels."""

_GUESS_WEIGHT = 4
"""How many labels the guess is worth."""

_LEAST = 2
"""How many labels each cell gets first, so that every part of the rate rests on some."""


class LabelAllocation(NamedTuple):
    """How many images to label of each level and answer of the judge."""

    cells: Mapping[tuple[int, bool], int]  # further labels by level and whether the judge passed the image
    half_width: float  # expected half width of the corrected Overall interval after them


def allocate_labels(
    cells: Mapping[tuple[int, bool], int],
    labels: int,
    *,
    cells_known: Mapping[tuple[int, bool], tuple[int, int]] | None = None,
    confidence: float = 0.95,
) -> LabelAllocation:
    """Return how many further labels each cell should get, so that the corrected Overall rate is most precise."""
    validate_confidence(confidence)
    so_far = dict.fromkeys(cells, (0, 0)) | dict(cells_known or {})
    for cell, (yes, done) in so_far.items():
        if not 0 <= yes <= done <= cells.get(cell, 0):
            raise FormalimgError(
                f"{yes} of {done} labels say yes, of {cells.get(cell, 0)} images at level {cell[0]} that the judge "
                f"{'passed' if cell[1] else 'failed'}: give labels of this run only"
            )
    labelled = {cell: done for cell, (_, done) in so_far.items()}
    unlabelled = sum(cells.values()) - sum(labelled.values())
    if not 0 <= labels <= unlabelled:
        raise FormalimgError(
            f"{labels} labels were asked for, of {unlabelled} images without one: ask for {unlabelled} or fewer"
        )
    if not sum(cells.values()):
        raise FormalimgError("there are no images to label: give the number of images of each level and answer")
    rates = {cell: _guess_rate(cell[1], *so_far[cell]) for cell in cells}
    queue = [(_labelling_priority(cells[cell], rates[cell], labelled[cell]), cell) for cell in cells]
    queue = [(priority, cell) for priority, cell in queue if labelled[cell] < cells[cell]]
    heapify(queue)
    for _ in range(labels):
        _, cell = heappop(queue)
        labelled[cell] += 1
        if labelled[cell] < cells[cell]:
            heappush(queue, (_labelling_priority(cells[cell], rates[cell], labelled[cell]), cell))
    new_labels = {cell: labelled[cell] - so_far[cell][1] for cell in cells}
    return LabelAllocation(new_labels, _half_width(cells, rates, labelled, confidence))


def _labelling_priority(images: int, rate: float, labels: int) -> tuple[bool, float]:
    """Return what the cell with the least of gets the next label: too few so far, then how much one more narrows."""
    scale = images**2 * rate * (1 - rate)
    return labels >= _LEAST, -scale / (labels * (labels + 1)) if labels else -2 * scale


def _half_width(
    cells: Mapping[tuple[int, bool], int],
    rates: Mapping[tuple[int, bool], float],
    labelled: Mapping[tuple[int, bool], int],
    confidence: float,
) -> float:
    """Return half the width of the Overall interval if the labels turn out as expected."""
    levels = []
    for level in sorted({level for level, _ in cells}):
        yes, no = (
            AnswerCell(cells[cell], labelled[cell], labelled[cell] * rates[cell])
            if cell in cells
            else AnswerCell(0, 0, 0)
            for cell in ((level, True), (level, False))
        )
        if yes.images + no.images:
            levels.append(LabelledLevel((yes.images + no.images) / sum(cells.values()), yes, no))
    estimate = rate_of_levels(levels, confidence)
    return (estimate.high - estimate.low) / 2


def _guess_rate(passed: bool, yes: int, labels: int) -> float:
    """Return the share of the cell that people pass, as far as it is known."""
    prior = 1 - _GUESSED_ERROR if passed else _GUESSED_ERROR
    return (yes + _GUESS_WEIGHT * prior) / (labels + _GUESS_WEIGHT)
