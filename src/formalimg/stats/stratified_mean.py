"""Means of scores corrected by human labels that were drawn with different probabilities from several cells."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum, sqrt
from typing import NamedTuple, TypeAlias

from formalimg.stats.corrected import CorrectedRate, estimate_corrected_mean, judge_weight
from formalimg.stats.intervals import normal_quantile, student_quantile

_NARROWEST = 0.6
"""How much of its own width the interval of a cell keeps at least: with two or three labels it says little but that."""


class CellScore(NamedTuple):
    """An image with its item and the judge's score, 0 to 1, and the score by people where it is labelled."""

    item: Hashable
    judge: float
    human: float | None = None


ScoreCell: TypeAlias = Sequence[CellScore]
"""Images among which labels were drawn at random, such as those of one level with the same answer of the judge."""


def estimate_cell_mean(cells: Sequence[ScoreCell], confidence: float = 0.95) -> CorrectedRate | None:
    """Return the mean score of the images of all cells, corrected by the labels within each of them.

    The intervals of the cells are joined by their squares. Each is as wide as the few labels of its cell demand;
    together there are more labels, so the spread that they estimate is better known. A cell without labels keeps the
    judge's mean, and could have any. Images of the same item count as a cluster.
    """
    labelled_cells = [cell for cell in cells if cell]
    labels = sum(len(_labelled_pairs(cell)) for cell in labelled_cells)
    if not labels:
        return None
    total = sum(map(len, labelled_cells))
    parts = [(len(cell) / total, _mean_of_cell(cell, confidence)) for cell in labelled_cells]
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
    effect = _design_effect(labelled_cells, [part.estimate - estimate for _, part in parts])
    labelled_items = len({image.item for cell in labelled_cells for image in cell if image.human is not None})
    freedom = max(1, min(labels - 2 * len(parts), labelled_items - 1))
    few = student_quantile(confidence, freedom) / width * sqrt(effect)
    alone = between + fsum(len(cell) / total * _human_variance(cell) for cell in labelled_cells)
    return CorrectedRate(
        estimate,
        max(0.0, estimate - few * sqrt(below)),
        min(1.0, estimate + few * sqrt(above)),
        labels,
        min(float(total), alone * 2 * width**2 / (below + above) / effect),
        fsum(weight * part.raw for weight, part in parts),
    )


def _labelled_pairs(cell: ScoreCell) -> list[tuple[float, float]]:
    """Return the scores by the judge and by people of the labelled images."""
    return [(image.judge, image.human) for image in cell if image.human is not None]


def _design_effect(cells: Sequence[ScoreCell], offsets: Sequence[float]) -> float:
    """Return how many images are worth an independent one: 1 where items have one image each.

    It is the variance of the mean when items are drawn, divided by the variance when single images are.
    """
    influences: dict[Hashable, float] = {}
    alone = 0.0
    for cell, offset in zip(cells, offsets, strict=True):
        pairs = _labelled_pairs(cell)
        weight = judge_weight(pairs)
        judge_mean = fsum(image.judge for image in cell) / len(cell)
        remainder = fsum(human - weight * judge for judge, human in pairs) / len(pairs) if pairs else 0.0
        for image in cell:
            influence = offset + weight * (image.judge - judge_mean)
            if image.human is not None:
                influence += len(cell) / len(pairs) * (image.human - weight * image.judge - remainder)
            influences[image.item] = influences.get(image.item, 0.0) + influence
            alone += influence**2
    together = fsum(influence**2 for influence in influences.values())
    return max(1.0, together / alone) if alone else 1.0


def _mean_of_cell(cell: ScoreCell, confidence: float) -> CorrectedRate:
    judge, labelled = [image.judge for image in cell], _labelled_pairs(cell)
    if labelled:
        return estimate_corrected_mean(judge, labelled, confidence)
    mean = fsum(judge) / len(judge)
    return CorrectedRate(mean, 0.0, 1.0, 0, 0.0, mean)


def _human_variance(cell: ScoreCell) -> float:
    """Return the variance of the scores by people, with one further at each bound."""
    scores = [*(human for _, human in _labelled_pairs(cell)), 0.0, 1.0]
    mean = fsum(scores) / len(scores)
    return fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
