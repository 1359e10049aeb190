"""Pass rates and means corrected for judge errors using human labels for a random sample of the run.

Double sampling: the judge saw all images, people saw some of them. With p the share of images that the judge passed,
the true rate is p P(human yes | judge yes) + (1 - p) P(human yes | judge no), and the labels estimate the two
probabilities. This holds whatever errors the judge makes, because the labels are of the images that it judged. For a
yes/no judge it is prediction-powered inference with the best weight (PPI++); `estimate_corrected_mean` does the same
for scores.

The rate is a sum over levels and answers of the judge. Normal intervals fail here, as some of these cells have few
labels or labels that all agree. So each answer gets the Jeffreys interval of its labels and each level the Wilson
interval of its judge's rate, and the distances from the estimate to the limits are added as squares, separately below
and above (MOVER, the method of variance estimates recovery).

Over several levels, the labels of an answer are worth fewer labels where they are spread unevenly, and more where
levels differ. For this, each level's rate is shrunk towards that of all levels, because few labels do not determine it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isfinite, sqrt
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import jeffreys_interval, normal_quantile, student_quantile
from formalimg.stats.observations import Interval

# How many labels the rate of all levels is worth beside those of a level, when a variance is estimated. By simulation:
# the intervals of six models over ten levels, with 25 to 400 labels, then hold.
_TOWARDS_ALL = 16


class CorrectedRate(NamedTuple):
    """A pass rate or mean corrected with human labels."""

    estimate: float  # the corrected rate, 0 to 1
    low: float  # its confidence interval, for the sampling of images and of labels
    high: float
    labels: int  # how many images people labelled
    # how many labels alone, without a judge, would give the same variance. Next to nothing where the judge gave an
    # answer of which no image is labelled
    effective_labels: float
    raw: float  # the judge's own rate


class AnswerCell(NamedTuple):
    """The images of a level with the same answer by the judge."""

    images: int  # how many there are
    labels: int  # how many of them people labelled
    passed: float  # how many of these people passed; a fraction where it is what is expected


class LabelledLevel(NamedTuple):
    """The images of a level by judge answer, and the normalized weight of the level."""

    weight: float
    judge_yes: AnswerCell
    judge_no: AnswerCell

    @property
    def images(self) -> int:
        """Number of images with either answer."""
        return self.judge_yes.images + self.judge_no.images

    @property
    def labels(self) -> int:
        """Number of labelled images."""
        return self.judge_yes.labels + self.judge_no.labels


class _AnswerRate(NamedTuple):
    """Pooled data for all images with the same answer by the judge."""

    weight: float  # share of the images that the labels speak for
    unknown: float  # share of the images that no label speaks for
    rate: float  # how many of them people pass
    smooth: float  # the same, drawn away from 0 and 1 by half a label each
    trials: float  # effective number of labels


def rate_of_levels(
    levels: Sequence[LabelledLevel], confidence: float, *, image_effect: float = 1.0, label_effect: float = 1.0
) -> CorrectedRate:
    """Compute the corrected rate over several levels.

    A cell without labels takes the rate of the nearest levels that have labels of the same answer. If most images of an
    answer are in such cells, their rate is unknown, and the interval allows for all or none of them to pass.
    """
    answers = (
        _answer_rate([(level.weight * level.judge_yes.images / level.images, level.judge_yes) for level in levels]),
        _answer_rate([(level.weight * level.judge_no.images / level.images, level.judge_no) for level in levels]),
    )
    normal = normal_quantile(confidence)
    below, above, variance = [], [], []
    for answer in answers:
        trials = answer.trials / label_effect
        low, high = jeffreys_interval(answer.rate * trials, trials, confidence)
        below.append((answer.weight * (answer.rate - low)) ** 2)
        above.append((answer.weight * (high - answer.rate)) ** 2)
        if answer.weight:
            variance.append(answer.weight**2 * answer.smooth * (1 - answer.smooth) / trials)
    for level in levels:
        if not (level.judge_yes.images and level.judge_no.images):
            continue  # nothing tells what people would say of the other answer
        gain = level.weight * (_draw_rate(level.judge_yes, answers[0]) - _draw_rate(level.judge_no, answers[1]))
        share, images = level.judge_yes.images / level.images, level.images / image_effect
        low, high = _wilson_interval(share, images, normal)
        fewer, more = (low, high) if gain > 0 else (high, low)
        below.append((gain * (share - fewer)) ** 2)
        above.append((gain * (more - share)) ** 2)
        variance.append(gain**2 * share * (1 - share) / images)
    unknown = fsum(answer.unknown for answer in answers)
    variance.append(unknown**2 / 4)
    known_sum = fsum(answer.weight * answer.rate for answer in answers)
    smooth = fsum(answer.weight * answer.smooth for answer in answers) + unknown / 2
    return CorrectedRate(
        min(1.0, known_sum + unknown / 2),
        max(0.0, known_sum - sqrt(fsum(below))),
        min(1.0, known_sum + unknown + sqrt(fsum(above))),
        sum(level.labels for level in levels),
        smooth * (1 - smooth) / fsum(variance),
        fsum(level.weight * level.judge_yes.images / level.images for level in levels),
    )


def _answer_rate(cells: Sequence[tuple[float, AnswerCell]]) -> _AnswerRate:
    everything = fsum(weight for weight, _ in cells)
    cells_used, unknown = _stand_in(cells)
    weight = fsum(weight for weight, _ in cells_used)
    if not weight:
        return _AnswerRate(0.0, everything, 0.5, 0.5, 0.0)
    rate = min(1.0, fsum(weight * (cell.passed / cell.labels) for weight, cell in cells_used) / weight)
    if len(cells_used) == 1:
        labels = cells_used[0][1].labels
        return _AnswerRate(weight, unknown, rate, (rate * labels + 0.5) / (labels + 1), labels)
    evenly = weight**2 / fsum(weight**2 / cell.labels for weight, cell in cells_used)
    smooth = (rate * evenly + 0.5) / (evenly + 1)
    spread = 0.0
    for cell_weight, cell in cells_used:
        smoothed = (cell.passed / cell.labels * evenly + 0.5) / (evenly + 1)
        drawn = (cell.labels * smoothed + _TOWARDS_ALL * smooth) / (cell.labels + _TOWARDS_ALL)
        spread += cell_weight**2 * drawn * (1 - drawn) / cell.labels
    return _AnswerRate(weight, unknown, rate, smooth, weight**2 * smooth * (1 - smooth) / spread)


def _stand_in(cells: Sequence[tuple[float, AnswerCell]]) -> tuple[list[tuple[float, AnswerCell]], float]:
    """Return the labelled cells, reweighted to represent unlabelled ones, and the weight left unrepresented."""
    labelled = [index for index, (_, cell) in enumerate(cells) if cell.labels]
    weights = {index: cells[index][0] for index in labelled}
    lacking = [index for index, (weight, cell) in enumerate(cells) if weight and not cell.labels]
    unknown = fsum(cells[index][0] for index in lacking)
    if unknown <= fsum(weights.values()):
        for gap in lacking:
            distance = min(abs(gap - index) for index in labelled)
            nearest = [index for index in labelled if abs(gap - index) == distance]
            for index in nearest:
                weights[index] += cells[gap][0] / len(nearest)
        unknown = 0.0
    return [(weight, cells[index][1]) for index, weight in weights.items()], unknown


def _draw_rate(cell: AnswerCell, answer: _AnswerRate) -> float:
    """Return the rate of a cell, shrunk towards the rate of all levels by two pseudo-labels."""
    return (cell.passed + 2 * answer.smooth) / (cell.labels + 2)


def _wilson_interval(rate: float, n: float, normal: float) -> Interval:
    """Return the Wilson interval of a rate, which is accurate enough for the large number of images."""
    square = normal * normal
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = normal * sqrt(rate * (1 - rate) / n + square / (4 * n * n)) / (1 + square / n)
    return Interval(min(rate, middle - half), max(rate, middle + half))


# Weight of the two imagined labels, the least and the largest score, that are added when a spread is estimated. By
# simulation: with less, means of few labels near the bounds are covered too rarely.
_IMAGINED = 0.5


def corrected_rate(
    judge_passes: int, judge_total: int, labelled: Iterable[tuple[bool, bool]], confidence: float = 0.95
) -> CorrectedRate:
    """Correct a judge's pass rate with human labels for a random sample of its images.

    Args:
        judge_passes: how many images the judge passed.
        judge_total: how many it judged.
        labelled: the answers of the judge and of people for each labelled image. All images, or all images with the
            same answer of the judge, must have been equally likely to be labelled.
        confidence: of the interval.
    """
    pairs = Counter((bool(judge), bool(human)) for judge, human in _validate_pairs(labelled))
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
    """Correct the mean of a judge's scores with labels for a random sample of the images (PPI++).

    The weight of the judge depends on how well its scores predict the labels: a judge whose scores are noise changes
    nothing, and for one that always agrees, the result is the mean of its scores of all images.
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
    """Return the weight of a judge's scores: the regression slope of human scores on them, limited to 0 to 1."""
    if not pairs:
        return 0.0
    judged, true = (fsum(scores) / len(pairs) for scores in zip(*pairs, strict=True))
    spread = fsum((judge - judged) ** 2 for judge, _ in pairs)
    together = fsum((judge - judged) * (human - true) for judge, human in pairs)
    return min(1.0, max(0.0, together / spread)) if spread else 0.0


def _rescale(score: float, least: float, highest: float) -> float:
    if not (isfinite(score) and least <= score <= highest):
        raise FormalimgError(f"the score {score!r} is not between {least} and {highest}: give the bounds of scores")
    return (score - least) / (highest - least)


def _validate_pairs(pairs: Iterable[tuple[bool, bool]]) -> Iterator[tuple[bool, bool]]:
    for pair in pairs:
        if any(answer not in (True, False) for answer in pair):
            raise FormalimgError(
                f"{pair!r} is not a label: give what the judge and what people say, each True or False"
            )
        yield pair
