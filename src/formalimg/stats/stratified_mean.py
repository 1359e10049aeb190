"""Means of scores corrected by human labels that were drawn with different probabilities from several cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import NamedTuple

from formalimg.stats.corrected import CorrectedRate, corrected_mean
from formalimg.stats.intervals import normal_quantile

_LEAST, _MOST = 0.0, 1.0


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

    The interval of a cell is that of two further labels, one at each bound: a few labels that all say the same are no
    certainty. A cell without labels keeps the judge's mean, and could have any.

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
    parts = [(len(cell.judge) / total, _mean_of_cell(cell, confidence), _human_variance(cell)) for cell in known]
    estimate = fsum(weight * part.estimate for weight, part, _ in parts)
    width = normal_quantile(confidence)
    between = fsum(weight * (part.estimate - estimate) ** 2 for weight, part, _ in parts)
    spread = width**2 * between / total  # how many images are in each cell is chance, too
    below = fsum((weight * (part.estimate - part.low)) ** 2 for weight, part, _ in parts) + spread
    above = fsum((weight * (part.high - part.estimate)) ** 2 for weight, part, _ in parts) + spread
    alone = between + fsum(weight * variance for weight, _, variance in parts)
    variance = (below + above) / 2 / width**2
    return CorrectedRate(
        estimate,
        max(_LEAST, estimate - sqrt(below)),
        min(_MOST, estimate + sqrt(above)),
        labels,
        alone / variance if variance else float(labels),
        fsum(weight * part.raw for weight, part, _ in parts),
    )


def _mean_of_cell(cell: ScoreCell, confidence: float) -> CorrectedRate:
    mean = fsum(cell.judge) / len(cell.judge)
    if not cell.labelled:
        return CorrectedRate(mean, _LEAST, _MOST, 0, 0.0, mean)
    found = corrected_mean(cell.judge, cell.labelled, confidence)
    more = [(mean, _LEAST), (mean, _MOST)]
    wide = corrected_mean([*cell.judge, mean, mean], [*cell.labelled, *more], confidence)
    return found._replace(low=min(found.estimate, wide.low), high=max(found.estimate, wide.high))


def _human_variance(cell: ScoreCell) -> float:
    """Return the variance of the scores by people, with one further at each bound."""
    scores = [*(human for _, human in cell.labelled), _LEAST, _MOST]
    mean = fsum(scores) / len(scores)
    return fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
