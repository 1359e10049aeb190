"""Pass rates and means corrected for errors of the judge, by human labels of a random sample of the same run.

Double sampling: the judge saw all images, people saw some of them. With p the share of images that the judge passed,
the true rate is p P(human yes | judge yes) + (1 - p) P(human yes | judge no), and the labels estimate the two
probabilities. This holds whatever errors the judge makes, because the labels are of the images that it judged. For a
yes/no judge it is prediction-powered inference with the best weight (PPI++); `estimate_corrected_mean` does the same
for scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum, isfinite

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import jeffreys_interval, normal_quantile, student_quantile
from formalimg.stats.labelled_levels import AnswerCell, CorrectedRate, LabelledLevel, rate_of_levels

__all__ = ["CorrectedRate", "corrected_rate", "estimate_corrected_mean", "judge_weight"]

_IMAGINED = 0.5
"""Weight of the two imagined labels, the least and the largest score, that are added when a spread is estimated.

By simulation: with less, means of few labels near the bounds are covered too rarely."""


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
    if not (judge_total > 0 and 0 <= judge_passes <= judge_total):
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
    if not pairs:
        raise FormalimgError("there are no labels to correct by: label some images of the run")
    return rate_of_levels([LabelledLevel(1.0, *cells)], confidence)


def estimate_corrected_mean(
    judge_scores: Sequence[float],
    labelled: Iterable[tuple[float, float]],
    confidence: float = 0.95,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> CorrectedRate:
    """Return the mean of a judge's scores, corrected by labels of a random sample of the images (PPI++).

    The judge counts as much as its scores go along with the labels: a judge whose scores are noise changes nothing,
    and with one that always agrees the mean is that of its scores of all images.
    """
    normal = normal_quantile(confidence)
    least, highest = bounds
    if not least < highest:
        raise FormalimgError(f"scores from {least} to {highest} are not a range: give the least and the largest score")
    scores = [_rescale(score, least, highest) for score in judge_scores]
    pairs = [(_rescale(judge, least, highest), _rescale(human, least, highest)) for judge, human in labelled]
    total, n = len(scores), len(pairs)
    if not 0 < n <= total:
        raise FormalimgError(f"{n} labels were given for {total} images: give at least one, of this run only")
    raw = fsum(scores) / total
    judged, true = fsum(judge for judge, _ in pairs) / n, fsum(human for _, human in pairs) / n
    weight = judge_weight(pairs)
    mean = min(1.0, max(0.0, true + weight * (raw - judged)))
    # What few labels near a bound do not show is imagined, and not predicted by the judge.
    smooth = (n * mean + _IMAGINED) / (n + 2 * _IMAGINED)
    unseen = _IMAGINED * (smooth**2 + (1 - smooth) ** 2)
    alone = unseen + fsum((human - true) ** 2 for _, human in pairs)
    apart = unseen + fsum((human - true - weight * (judge - judged)) ** 2 for judge, human in pairs)
    freedom = max(1.0, n - 2 + 2 * _IMAGINED)
    variance = apart / freedom * (1 / n - 1 / total) + alone / (freedom + 1) / total
    spread = smooth * (1 - smooth)
    trials = spread / variance * (normal / student_quantile(confidence, max(1, n - 2))) ** 2
    low, high = jeffreys_interval(mean * trials, trials, confidence)
    scale = highest - least
    return CorrectedRate(
        least + scale * mean,
        least + scale * min(low, mean),
        least + scale * max(high, mean),
        n,
        min(float(total), alone / (freedom + 1) / variance),
        least + scale * raw,
    )


def judge_weight(pairs: Sequence[tuple[float, float]]) -> float:
    """Return how much a judge's scores count: the slope of people's scores on them, from 0 to 1."""
    if not pairs:
        return 0.0
    judged, true = (fsum(scores) / len(pairs) for scores in zip(*pairs, strict=True))
    spread = fsum((judge - judged) ** 2 for judge, _ in pairs)
    together = fsum((judge - judged) * (human - true) for judge, human in pairs)
    return min(1.0, max(0.0, together / spread)) if spread else 0.0


def _rescale(score: float, least: float, highest: float) -> float:
    if not (isfinite(score) and least <= score <= highest):
        raise FormalimgError(
            f"the score {score!r} does not lie between {least} and {highest}: give the bounds of scores"
        )
    return (score - least) / (highest - least)


def _validate_pair(pair: tuple[bool, bool]) -> tuple[bool, bool]:
    judge, human = pair
    if judge not in (True, False) or human not in (True, False):
        raise FormalimgError(f"{pair!r} is not a label: give what the judge and what people say, each True or False")
    return bool(judge), bool(human)
