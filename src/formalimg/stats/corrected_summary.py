"""Summary of a run corrected by human labels: levels, bands, Overall and G, stratified over levels and answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import EffectiveCount, design_effect, validate_confidence
from formalimg.stats.labelled_levels import AnswerCell, CorrectedRate, LabelledLevel, rate_of_levels
from formalimg.stats.observations import Generalizability, Observation, PassCount, tally_items
from formalimg.stats.summary import all_levels, held_level, highest_level, validate_bands, validate_epsilon


class LabelledObservation(NamedTuple):
    """The judge's verdict on one image, and that of people where they labelled it; None for unscored or unlabelled."""

    item: str
    level: int
    passed: bool | None
    human: bool | None = None


class CorrectedSummary(NamedTuple):
    """Results of a run corrected by human labels; None where labels are lacking."""

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
    """Return the results of a run, corrected by human labels.

    Labels may be drawn with different probabilities by level and answer of the judge, at random within each such cell.
    """
    validate_confidence(confidence)
    if epsilon is not None:
        validate_epsilon(epsilon)
    chosen = {name: sorted(band_levels) for name, band_levels in validate_bands(bands).items()}
    kept_observations = list(observations)
    tally_items(
        Observation(observation.item, observation.level, observation.passed) for observation in kept_observations
    )
    by_level: dict[int, list[LabelledObservation]] = {
        level: [] for level in sorted({observation.level for observation in kept_observations})
    }
    for one in kept_observations:
        if one.human not in (True, False, None):  # what merely counts as true is not a label
            raise FormalimgError(f"the label of item {one.item!r} is {one.human!r}: give True, False or None")
        if one.passed is not None:
            by_level[one.level].append(one)
    total = sum(map(len, by_level.values()))
    weights = {level: len(images) / total for level, images in by_level.items() if images}
    rates = {level: _combine_levels({level: 1.0}, by_level, confidence) for level in by_level}
    return CorrectedSummary(
        rates,
        _combine_levels(weights, by_level, confidence),
        {
            name: _combine_levels(dict.fromkeys(sorted(band_levels), 1 / len(band_levels)), by_level, confidence)
            for name, band_levels in chosen.items()
        },
        None if epsilon is None else _corrected_generalizability(epsilon, rates, chosen, confidence),
        sum(observation.human is not None for images in by_level.values() for observation in images),
        confidence,
    )


def _combine_levels(
    weights: Mapping[int, float], by_level: Mapping[int, Sequence[LabelledObservation]], confidence: float
) -> CorrectedRate | None:
    """Return the corrected rate of levels with these weights; None where one has no images, or none has labels."""
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
    """Return how many images, and how many labels, are worth an independent one: 1 where items have one image.

    It is the variance of the corrected rate when items are drawn, divided by the variance when single images are.
    """
    items = Counter(observation.item for level_images in images for observation in level_images)
    if not items or max(items.values()) == 1:
        return 1.0, 1.0
    moved: dict[str, float] = dict.fromkeys(items, 0.0)
    alone = 0.0
    agreed, labelled = Counter[str](), Counter[str]()
    for level, those in zip(levels, images, strict=True):
        yes, no = ((cell.passed + 0.5) / (cell.labels + 1) for cell in (level.judge_yes, level.judge_no))
        mean = (level.judge_yes.images * yes + level.judge_no.images * no) / level.images
        for one in those:
            cell, rate = (level.judge_yes, yes) if one.passed else (level.judge_no, no)
            by = rate - mean
            if one.human is not None:
                by += cell.images / cell.labels * (one.human - rate)
                labelled[one.item] += 1
                agreed[one.item] += one.human == one.passed
            by *= level.weight / level.images
            moved[one.item] += by
            alone += by * by
    together = fsum(change * change for change in moved.values())
    effect = max(1.0, together / alone) if alone else 1.0
    # Labels that all agree do not show how alike the images of an item are; the design effect allows for that.
    return effect, max(effect, design_effect(Counter(PassCount(agreed[item], n) for item, n in labelled.items())))


def _corrected_generalizability(
    epsilon: float,
    rates: Mapping[int, CorrectedRate | None],
    bands: Mapping[str, Sequence[int]],
    confidence: float,
) -> Generalizability:
    """Return G_ε by the corrected rates, with the rule of `stats.generalization` for its interval."""
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
