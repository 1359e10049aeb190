"""Means of scores corrected by human labels that were drawn with different probabilities from several cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import NamedTuple

from formalimg.stats.corrected import CorrectedRate, corrected_mean
from formalimg.stats.intervals import normal_quantile, student_quantile

_NARROWEST = 0.6
"""How much of its own width the interval of a cell keeps at least: with two or three labels it says little but that."""


class ScoreCell(NamedTuple):
    """Images among which labels were drawn at random, such as those of one level with the same answer of the judge.

    Attributes:
        judge: the judge's score of every image, 0 to 1.
        labelled: for each labelled image the judge's score and the score by people.
    """

    judge: Sequence[float]
    labelled: Sequence[tuple[float, float]]


def corrected_cell_mean(cells: Sequence[ScoreCell], confidence: float = 0.95) -> CorrectedRate | None:
    """Return the mean score of the images of all cells, corrected by the labels within each of them.

    The intervals of the cells are joined by their squares. Each is as wide as the few labels of its cell demand;
    together there are more labels, so the spread that they estimate is better known. A cell without labels keeps the
    judge's mean, and could have any.

    Args:
        cells: the images; cells without images are left out.
        confidence: of the interval.

    Returns:
        The corrected mean; None without labels.
    """
    known = [cell for cell in cells if cell.judge]
    labels = sum(len(cell.labelled) for cell in known)
    if not labels:
        return None
    total = sum(len(cell.judge) for cell in known)
    parts = [(len(cell.judge) / total, _mean_of_cell(cell, confidence)) for cell in known]
    estimate = fsum(weight * part.estimate for weight, part in parts)
    between = fsum(weight * (part.estimate - estimate) ** 2 for weight, part in parts)
    width = normal_quantile(confidence)
    spread = width**2 * between / total  # how many images are in each cell is chance, too
    below, above = spread, spread
    for weight, part in parts:
        student = student_quantile(confidence, max(1, part.labels - 2))
        share = weight * max(_NARROWEST, width / student) if part.labels else weight
        below += (share * (part.estimate - part.low)) ** 2
        above += (share * (part.high - part.estimate)) ** 2
    few = student_quantile(confidence, max(1, labels - 2 * len(parts))) / width
    alone = between + fsum(len(cell.judge) / total * _human_variance(cell) for cell in known)
    return CorrectedRate(
        estimate,
        max(0.0, estimate - few * sqrt(below)),
        min(1.0, estimate + few * sqrt(above)),
        labels,
        min(float(total), alone * 2 * width**2 / (below + above)),
        fsum(weight * part.raw for weight, part in parts),
    )


def _mean_of_cell(cell: ScoreCell, confidence: float) -> CorrectedRate:
    if cell.labelled:
        return corrected_mean(cell.judge, cell.labelled, confidence)
    mean = fsum(cell.judge) / len(cell.judge)
    return CorrectedRate(mean, 0.0, 1.0, 0, 0.0, mean)


def _human_variance(cell: ScoreCell) -> float:
    """Return the variance of the scores by people, with one further at each bound."""
    scores = [*(human for _, human in cell.labelled), 0.0, 1.0]
    mean = fsum(scores) / len(scores)
    return fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
