"""Summary of a run corrected with human labels: levels, bands, Overall and G of verdicts, and mean scores.

Labels may be drawn with different probabilities from several cells, such as levels and answers of the judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import fsum, sqrt
from typing import NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.corrected import (
    AnswerCell,
    CorrectedRate,
    LabelledLevel,
    estimate_corrected_mean,
    judge_weight,
    rate_of_levels,
)
from formalimg.stats.intervals import (
    EffectiveCount,
    design_effect,
    normal_quantile,
    student_quantile,
    validate_confidence,
)
from formalimg.stats.observations import Generalizability, Observation, PassCount, tally_items
from formalimg.stats.summary import all_levels, held_level, highest_level, validate_bands, validate_epsilon


class LabelledObservation(NamedTuple):
    """The verdicts of the judge and of people on one image, each None if missing."""

    item: str
    level: int
    passed: bool | None
    human: bool | None = None


class CorrectedSummary(NamedTuple):
    """The results of a run corrected with human labels, each None if labels are missing."""

    levels: Mapping[int, CorrectedRate | None]  # the corrected rate of each level
    overall: CorrectedRate | None  # of all images
    bands: Mapping[str, CorrectedRate | None]  # the mean of the corrected rates of the levels of each band
    generalizability: Generalizability | None  # G_ε by the corrected rates
    labels: int  # how many labels were used; those of images without a verdict of the judge are not
    confidence: float  # of all intervals


def summarize_corrected(
    observations: Iterable[LabelledObservation],
    *,
    bands: Mapping[str, Sequence[int]],
    epsilon: float | None,
    confidence: float = 0.95,
) -> CorrectedSummary:
    """Summarize a run with corrections from human labels.

    Labels may be drawn with different probabilities by level and answer of the judge, at random within each such cell.
    """
    validate_confidence(confidence)
    if epsilon is not None:
        validate_epsilon(epsilon)
    chosen = {name: sorted(band_levels) for name, band_levels in validate_bands(bands).items()}
    images = list(observations)
    by_level: dict[int, list[LabelledObservation]] = {
        level: [] for level in tally_items(Observation(image.item, image.level, image.passed) for image in images)
    }
    for image in images:
        if image.human not in (True, False, None):  # what merely counts as true is not a label
            raise FormalimgError(f"the label of item {image.item!r} is {image.human!r}: give True, False or None")
        if image.passed is not None:
            by_level[image.level].append(image)
    total = sum(map(len, by_level.values()))
    weights = {level: len(judged) / total for level, judged in by_level.items() if judged}
    rates = {level: _combine_levels({level: 1.0}, by_level, confidence) for level in by_level}
    return CorrectedSummary(
        rates,
        _combine_levels(weights, by_level, confidence),
        {
            name: _combine_levels(dict.fromkeys(sorted(band_levels), 1 / len(band_levels)), by_level, confidence)
            for name, band_levels in chosen.items()
        },
        None if epsilon is None else _corrected_generalizability(epsilon, rates, chosen, confidence),
        sum(image.human is not None for judged in by_level.values() for image in judged),
        confidence,
    )


def _combine_levels(
    weights: Mapping[int, float], by_level: Mapping[int, Sequence[LabelledObservation]], confidence: float
) -> CorrectedRate | None:
    if not all(by_level.get(level) for level in weights):
        return None
    levels = [_build_labelled_level(weight, by_level[level]) for level, weight in weights.items()]
    if not sum(level.labels for level in levels):
        return None
    images = [by_level[level] for level in weights]
    image_effect, label_effect = _design_effects(levels, images)
    return rate_of_levels(levels, confidence, image_effect=image_effect, label_effect=label_effect)


def _build_labelled_level(weight: float, images: Iterable[LabelledObservation]) -> LabelledLevel:
    counts = Counter((observation.passed, observation.human) for observation in images)
    yes, no = (
        AnswerCell(
            sum(counts[answer, human] for human in (True, False, None)),
            counts[answer, True] + counts[answer, False],
            counts[answer, True],
        )
        for answer in (True, False)
    )
    return LabelledLevel(weight, yes, no)


def _design_effects(
    levels: Sequence[LabelledLevel], images: Sequence[Sequence[LabelledObservation]]
) -> tuple[float, float]:
    """Return the design effect for images and for labels, which is 1 if each item has one image.

    It is the variance of the corrected rate when items are drawn, divided by the variance when single images are.
    """
    items = Counter(observation.item for level_images in images for observation in level_images)
    if not items or max(items.values()) == 1:
        return 1.0, 1.0
    influences: list[tuple[Hashable, float]] = []
    agreed, labelled = Counter[str](), Counter[str]()
    for level, observations in zip(levels, images, strict=True):
        yes, no = ((cell.passed + 0.5) / (cell.labels + 1) for cell in (level.judge_yes, level.judge_no))
        mean = (level.judge_yes.images * yes + level.judge_no.images * no) / level.images
        for image in observations:
            cell, rate = (level.judge_yes, yes) if image.passed else (level.judge_no, no)
            by = rate - mean
            if image.human is not None:
                by += cell.images / cell.labels * (image.human - rate)
                labelled[image.item] += 1
                agreed[image.item] += image.human == image.passed
            influences.append((image.item, by * (level.weight / level.images)))
    effect = _influence_effect(influences)
    # Labels that all agree do not show how alike the images of an item are; the design effect allows for that.
    return effect, max(effect, design_effect(Counter(PassCount(agreed[item], n) for item, n in labelled.items())))


def _influence_effect(influences: Iterable[tuple[Hashable, float]]) -> float:
    """Return the design effect of sampling items rather than images, at least 1."""
    by_item: dict[Hashable, float] = {}
    alone = 0.0
    for item, influence in influences:
        by_item[item] = by_item.get(item, 0.0) + influence
        alone += influence * influence
    together = fsum(influence * influence for influence in by_item.values())
    return max(1.0, together / alone) if alone else 1.0


def _corrected_generalizability(
    epsilon: float,
    rates: Mapping[int, CorrectedRate | None],
    bands: Mapping[str, Sequence[int]],
    confidence: float,
) -> Generalizability:
    """Compute G_ε and its interval from the corrected rates."""
    measured = {level: rates.get(level) for level in all_levels(rates, bands)}
    value = held_level({level: None if rate is None else rate.estimate for level, rate in measured.items()}, epsilon)
    if value is None or not any(measured.values()):
        return Generalizability(epsilon, None, None, None)
    low = held_level({level: 0.0 if rate is None else rate.low for level, rate in measured.items()}, epsilon) or 0
    counts = {
        level: None if rate is None else EffectiveCount(rate.estimate * rate.effective_labels, rate.effective_labels)
        for level, rate in measured.items()
    }
    return Generalizability(epsilon, value, min(low, value), max(value, highest_level(counts, epsilon, confidence)))


_NARROWEST = 0.6  # How much of its own width the interval of a cell keeps at least, however few labels it has


class CellScore(NamedTuple):
    """An image with its item, its judge score from 0 to 1, and its human score if labelled."""

    item: Hashable
    judge: float
    human: float | None = None


# Images among which labels were drawn at random, such as those of one level with the same answer of the judge
ScoreCell: TypeAlias = Sequence[CellScore]


def estimate_cell_mean(cells: Sequence[ScoreCell], confidence: float = 0.95) -> CorrectedRate | None:
    """Estimate the mean score of the images in all cells, corrected with the labels of each cell.

    The intervals of the cells are joined by their squares. Each interval is widened for the few labels of its cell; for
    all cells there are more labels, so the spread is better known. A cell without labels keeps the judge's mean, and
    could have any. Images of the same item count as a cluster.
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
    effect = _influence_effect(_influences(labelled_cells, [part.estimate - estimate for _, part in parts]))
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
    """Return the (judge, human) scores of the labelled images."""
    return [(image.judge, image.human) for image in cell if image.human is not None]


def _influences(cells: Sequence[ScoreCell], offsets: Sequence[float]) -> Iterator[tuple[Hashable, float]]:
    """Yield the item of each image and the influence of the image on the mean."""
    for cell, offset in zip(cells, offsets, strict=True):
        pairs = _labelled_pairs(cell)
        weight = judge_weight(pairs)
        judge_mean = fsum(image.judge for image in cell) / len(cell)
        remainder = fsum(human - weight * judge for judge, human in pairs) / len(pairs) if pairs else 0.0
        for image in cell:
            influence = offset + weight * (image.judge - judge_mean)
            if image.human is not None:
                influence += len(cell) / len(pairs) * (image.human - weight * image.judge - remainder)
            yield image.item, influence


def _mean_of_cell(cell: ScoreCell, confidence: float) -> CorrectedRate:
    judge, labelled = [image.judge for image in cell], _labelled_pairs(cell)
    if labelled:
        return estimate_corrected_mean(judge, labelled, confidence)
    mean = fsum(judge) / len(judge)
    return CorrectedRate(mean, 0.0, 1.0, 0, 0.0, mean)


def _human_variance(cell: ScoreCell) -> float:
    scores = [*(human for _, human in _labelled_pairs(cell)), 0.0, 1.0]
    mean = fsum(scores) / len(scores)
    return fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
