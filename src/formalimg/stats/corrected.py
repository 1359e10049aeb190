"""Pass rates and means corrected for errors of the judge, by human labels of a random sample of the same run.

Double sampling: the judge saw all images, people saw some. With p the share of images that the judge passed, the true
rate is p P(human yes | judge yes) + (1 - p) P(human yes | judge no), and the labels estimate the two probabilities. It
holds whatever errors the judge makes, because the labels are of the images that it judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum, isfinite, sqrt
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import normal_quantile
from formalimg.stats.observations import Interval


class CorrectedRate(NamedTuple):
    """A pass rate or a mean, corrected by human labels.

    Attributes:
        estimate: the corrected rate, 0 to 1.
        low, high: its confidence interval, for the sampling of images and of labels.
        labels: how many images people labelled.
        effective_labels: how many labels alone, without a judge, would give the same variance.
        raw: the judge's own rate.
    """

    estimate: float
    low: float
    high: float
    labels: int
    effective_labels: float
    raw: float


class AnswerCell(NamedTuple):
    """The images of a level to which the judge gave the same answer.

    Attributes:
        images: how many there are; a fraction where images of an item are alike.
        labels: how many of them people labelled.
        passed: how many of these people passed.
    """

    images: float
    labels: float
    passed: float


class LabelledLevel(NamedTuple):
    """The images of a level, and what it weighs among all levels; the weights add up to 1."""

    weight: float
    judge_yes: AnswerCell
    judge_no: AnswerCell


def corrected_rate(
    judge_passes: int, judge_total: int, labelled: Iterable[tuple[bool, bool]], confidence: float = 0.95
) -> CorrectedRate:
    """Return a judge's pass rate, corrected by labels of a random sample of the images that it judged.

    Args:
        judge_passes: how many images the judge passed.
        judge_total: how many it judged.
        labelled: for each labelled image what the judge and what people say. Every image must have had the same
            chance to be labelled, or every image with the same answer of the judge.
        confidence: of the interval.

    Raises:
        FormalimgError: if the counts are impossible, or the labels cannot be of these images.
    """
    pairs = Counter(_validate_pair(pair) for pair in labelled)
    if not 0 <= judge_passes <= judge_total or judge_total < 1:
        raise FormalimgError(
            f"the judge passed {judge_passes} of {judge_total} images, which is not a rate: give at least one image"
        )
    cells = []
    for answer, images in ((True, judge_passes), (False, judge_total - judge_passes)):
        labels = pairs[answer, True] + pairs[answer, False]
        if labels > images:
            raise FormalimgError(
                f"{labels} labelled images were {'passed' if answer else 'failed'} by the judge, of only {images}: "
                "give labels of this run only, one for each image"
            )
        cells.append(AnswerCell(images, labels, pairs[answer, True]))
    return rate_of_levels([LabelledLevel(1.0, *cells)], confidence)


def rate_of_levels(levels: Sequence[LabelledLevel], confidence: float) -> CorrectedRate:
    """Return the corrected rate of several levels together."""
    width = normal_quantile(confidence)
    estimate = raw = below = above = variance = 0.0
    labels = 0
    for weight, yes, no in levels:
        images = yes.images + no.images
        share = yes.images / images
        raw += weight * share
        labels += round(yes.labels + no.labels)
        rates = []
        for cell in (yes, no):
            part = weight * cell.images / images
            rate = cell.passed / cell.labels if cell.labels else 0.5
            low, high = _wilson(rate, cell.labels, width) if cell.labels else Interval(0.0, 1.0)
            estimate += part * rate
            below += (part * (rate - low)) ** 2
            above += (part * (high - rate)) ** 2
            smooth = (cell.passed + 0.5) / (cell.labels + 1)
            variance += part**2 * smooth * (1 - smooth) / max(cell.labels, 1)
            rates.append(rate)
        between = (weight * (rates[0] - rates[1])) ** 2
        low, high = _wilson(share, images, width)
        risen = (share - low, high - share) if rates[0] >= rates[1] else (high - share, share - low)
        below += between * risen[0] ** 2
        above += between * risen[1] ** 2
        variance += between * share * (1 - share) / images
    estimate = min(1.0, max(0.0, estimate))
    spread = max(estimate * (1 - estimate), variance)
    return CorrectedRate(
        estimate,
        max(0.0, estimate - sqrt(below)),
        min(1.0, estimate + sqrt(above)),
        labels,
        spread / variance if variance else float(labels),
        raw,
    )


def corrected_mean(
    judge_scores: Sequence[float],
    labelled: Iterable[tuple[float, float]],
    confidence: float = 0.95,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> CorrectedRate:
    """Return the mean of a judge's scores, corrected by labels of a random sample of the images (PPI++).

    Args:
        judge_scores: the judge's score of every image, the labelled ones among them.
        labelled: for each labelled image the judge's score and the score by people.
        confidence: of the interval.
        bounds: the least and the largest possible score.

    Raises:
        FormalimgError: if a score lies outside the bounds, or there are more labels than images.
    """
    width = normal_quantile(confidence)
    pairs = [(float(judge), float(human)) for judge, human in labelled]
    least, most = bounds
    for score in (*judge_scores, *(score for pair in pairs for score in pair)):
        if not (isfinite(score) and least <= score <= most):
            raise FormalimgError(f"the score {score!r} does not lie between {least} and {most}: give other bounds")
    total, n = len(judge_scores), len(pairs)
    if not 0 < n <= total:
        raise FormalimgError(f"{n} of {total} images are labelled: give at least one label, of this run only")
    raw = fsum(judge_scores) / total
    judged, true = fsum(judge for judge, _ in pairs) / n, fsum(human for _, human in pairs) / n
    spread = fsum((judge - judged) ** 2 for judge, _ in pairs)
    slope = fsum((judge - judged) * (human - true) for judge, human in pairs) / spread if spread else 0.0
    slope = min(1.0, max(0.0, slope))
    estimate = min(most, max(least, true + slope * (raw - judged)))
    freedom = max(1, n - 1)
    alone = fsum((human - true) ** 2 for _, human in pairs) / freedom
    rest = fsum((human - true - slope * (judge - judged)) ** 2 for judge, human in pairs) / freedom
    variance = rest * (1 / n - 1 / total) + alone / total
    error = width * sqrt(variance)
    effective = alone / variance if variance else float(n)
    return CorrectedRate(estimate, max(least, estimate - error), min(most, estimate + error), n, effective, raw)


def _wilson(rate: float, n: float, width: float) -> Interval:
    square = width * width
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = width * sqrt(rate * (1 - rate) / n + square / (4 * n * n)) / (1 + square / n)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def _validate_pair(pair: tuple[bool, bool]) -> tuple[bool, bool]:
    judge, human = pair
    if judge not in (True, False) or human not in (True, False):
        raise FormalimgError(f"{pair!r} is not a label: give what the judge and what people say, each True or False")
    return bool(judge), bool(human)
