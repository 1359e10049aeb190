"""Calibration of CF-World's gate: accuracy and F1 of score thresholds against human labels (appendix B of the paper).

Images pass a threshold that their score reaches. So nothing changes between two neighbouring scores, and the
thresholds that are best are ranges: all those above one score, up to and including the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from formalimg.analysis.counterfactual_scores import group_scores
from formalimg.analysis.human_ratings import Rating, load_label_file
from formalimg.analysis.rated_images import RatedImage, match_ratings, one_judge
from formalimg.analysis.rating_files import RatingFile
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunRecord
from formalimg.stats import Interval, ScoreProfile, clopper_pearson, majority
from formalimg.suites import suite, suite_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Measure: TypeAlias = Literal["accuracy", "F1"]

_DECIMALS = 9
"""Scores that are equal to so many decimals differ only by rounding."""

_MIDDLE = 0.5


class LabelledScore(NamedTuple):
    """The score of an image, and whether raters recognise what it shows."""

    score: float
    recognisable: bool


class ThresholdResult(NamedTuple):
    """Accuracy and F1 of one threshold against human labels.

    Attributes:
        threshold: the score that passes.
        true_positives: recognisable images that pass.
        false_positives: others that pass.
        true_negatives: others that are stopped.
        false_negatives: recognisable images that are stopped.
        accuracy: the share of images for which threshold and label agree.
        interval: its exact interval.
        f1: the harmonic mean of precision and recall; None where nothing is recognisable and nothing passes.
    """

    threshold: float
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    accuracy: float
    interval: Interval
    f1: float | None


class ThresholdRange(NamedTuple):
    """Thresholds that are equally good, up to and including `high`; `low` is one of them only where it says so."""

    low: float
    high: float
    low_included: bool = False


class BestThreshold(NamedTuple):
    """The threshold that is best by one measure.

    Attributes:
        value: the middle of a range of thresholds that are equally good; of several ranges the one whose middle is
            nearest to 0.5, and of two equally near the lower one.
        equally_good: all such ranges.
        reached: the accuracy, or F1, of these thresholds.
        interval: its bootstrap interval over images.
    """

    value: float
    equally_good: tuple[ThresholdRange, ...]
    reached: float
    interval: Interval


def at_thresholds(
    images: Sequence[LabelledScore], thresholds: Iterable[float], confidence: float = 0.95
) -> tuple[ThresholdResult, ...]:
    """Return accuracy and F1 of each of these thresholds."""
    return tuple(_at(_rounded(threshold), images, confidence) for threshold in thresholds)


def all_thresholds(images: Iterable[LabelledScore]) -> list[float]:
    """Return all scores of the images, and 0.00, 0.05, 0.10 … 1.00."""
    return sorted({*(_rounded(image.score) for image in images), *(step / 20 for step in range(21))})


def best_threshold(
    images: Sequence[LabelledScore],
    measure: Measure = "accuracy",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> BestThreshold | None:
    """Return the threshold that agrees best with human labels; None if all images have the same label.

    Args:
        images: scores and labels.
        measure: accuracy, or F1 of the recognisable images.
        confidence: of the interval.
        resamples: how many bootstrap samples it takes.
        seed: of the bootstrap. The order of the images makes no difference.

    Raises:
        FormalimgError: if the confidence is not between 0 and 1, or the resamples are too few for it.
    """
    if not 0 < confidence < 1 or resamples * (1 - confidence) < 2 - 1e-9 or seed < 0:
        raise FormalimgError(
            f"{resamples} resamples with the seed {seed} give no {confidence:g} interval: use 2000, 0 and 0.95"
        )
    if len({image.recognisable for image in images}) < 2:
        return None
    import numpy as np

    kinds = Counter((_rounded(score), label) for score, label in images)
    scores = sorted({score for score, _ in kinds})
    ranges = _ranges(scores)
    counts = np.array([[kinds[score, label] for score in scores] for label in (True, False)], dtype=np.float64)
    reached = _reached(counts[None], measure)[0, : len(ranges)]
    good = _best_ranges(reached, ranges)
    chances = counts.ravel() / counts.sum()
    drawn = np.random.default_rng(seed).multinomial(len(images), chances, size=resamples)
    drawn_reached = _reached(drawn.reshape(resamples, 2, len(scores)).astype(np.float64), measure)
    values = [_nearest_middle(_best_ranges(row[: len(ranges)], ranges)) for row in drawn_reached]
    outside = (1 - confidence) / 2
    low = float(np.quantile(values, outside, method="lower"))
    high = float(np.quantile(values, 1 - outside, method="higher"))
    value = _nearest_middle(good)
    return BestThreshold(value, tuple(good), float(reached.max()), Interval(min(low, value), max(high, value)))


def _at(threshold: float, images: Sequence[LabelledScore], confidence: float) -> ThresholdResult:
    counts = Counter((_rounded(score) >= threshold, label) for score, label in images)
    hits, false_alarms = counts[True, True], counts[True, False]
    rejected, missed = counts[False, False], counts[False, True]
    denominator = 2 * hits + false_alarms + missed
    return ThresholdResult(
        threshold,
        hits,
        false_alarms,
        rejected,
        missed,
        (hits + rejected) / len(images),
        clopper_pearson(hits + rejected, len(images), confidence),
        2 * hits / denominator if denominator else None,
    )


def _rounded(score: float) -> float:
    return round(score, _DECIMALS)


def _ranges(scores: Sequence[float]) -> list[ThresholdRange]:
    """Return the ranges of equivalent thresholds within 0 and 1, from the one that passes everything."""
    found = [ThresholdRange(0.0, scores[0], low_included=True), *map(ThresholdRange, scores, scores[1:])]
    return [*found, ThresholdRange(scores[-1], 1.0)] if scores[-1] < 1 else found


def _reached(counts: Floats, measure: Measure) -> Floats:
    """Return the measure by bootstrap sample (first axis) and range, given counts by label (yes, no) and score."""
    import numpy as np

    up_to = np.concatenate([np.zeros((*counts.shape[:2], 1)), counts.cumsum(axis=2)], axis=2)
    passing = up_to[:, :, -1:] - up_to
    hits, false_alarms = passing[:, 0], passing[:, 1]
    known = up_to[:, 0, -1:]
    if measure == "accuracy":
        correct: Floats = (hits + up_to[:, 1]) / counts.sum(axis=(1, 2))[:, None]
        return correct
    together = hits + false_alarms + known
    f1: Floats = np.divide(2 * hits, together, out=np.zeros_like(hits), where=together > 0)
    return f1


def _best_ranges(reached: Floats, ranges: Sequence[ThresholdRange]) -> list[ThresholdRange]:
    """Return the ranges where the measure is highest; neighbours are joined."""
    import numpy as np

    found: list[ThresholdRange] = []
    last = -2
    for index in np.flatnonzero(reached >= reached.max() - 1e-12).tolist():
        if index == last + 1:
            found[-1] = found[-1]._replace(high=ranges[index].high)
        else:
            found.append(ranges[index])
        last = index
    return found


def _nearest_middle(ranges: Iterable[ThresholdRange]) -> float:
    # Rounded, so that of two middles that are equally near no rounding chooses.
    middles = [_rounded((low + high) / 2) for low, high, _ in ranges]
    return min(middles, key=lambda middle: (_rounded(abs(middle - _MIDDLE)), middle))


PAPER_THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
"""The thresholds of the paper's Table 4."""

_FACTUAL = 1


@dataclass(frozen=True)
class GateCalibration:
    """Thresholds on the scores of factual images against human labels.

    Attributes:
        judge: the judge that scored.
        runs: the runs, by folder.
        raters: the names of the raters; one empty name where the file has none.
        labels: how many labels they gave.
        images: how many images have both a label and a score; all figures are of these.
        recognisable: how many of them raters recognise.
        undecided: labelled images with as many yes as no.
        unscored: labelled images that have no score, by reason.
        without_image: labels for items or samples that their run does not have, one line each.
        not_labelled: factual images of the runs without labels.
        table: the thresholds of the paper.
        curve: all thresholds that make a difference, and a grid of 0.05.
        best, best_f1: the threshold with the best accuracy, and with the best F1; None if all labels are the same.
        profile: the formula of the scores.
        confidence: of all intervals.
    """

    judge: Identity
    runs: tuple[str, ...]
    raters: tuple[str, ...]
    labels: int
    images: int
    recognisable: int
    undecided: int
    unscored: Mapping[str, int]
    without_image: tuple[str, ...]
    not_labelled: int
    table: tuple[ThresholdResult, ...]
    curve: tuple[ThresholdResult, ...]
    best: BestThreshold | None
    best_f1: BestThreshold | None
    profile: ScoreProfile
    confidence: float


def calibrate_gate(
    labels: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> GateCalibration:
    """Compare thresholds on the judge's scores of factual images with human labels.

    Args:
        labels: the labels, as `read_labels` returns them, or their file; of several for one image the majority counts.
        runs: runs of cf-world, each opened with the judge to calibrate. Labels name them by folder or by model.
        profile: `official-code` for scores in which each question has its full weight.
        confidence: of all intervals.
        resamples: how many bootstrap samples the interval of the best threshold takes.
        seed: of the bootstrap.

    Raises:
        RatingsError: if labels do not fit the runs; all of them are named.
        FormalimgError: if the runs are of another suite or of several judges, or no labelled image has a score.
    """
    judge = one_judge(runs)
    for run in runs:
        if not suite(run.manifest.suite).has_gate:
            gated = ", ".join(name for name in suite_names() if suite(name).has_gate)
            raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: only {gated} has a gate to calibrate")
    file = load_label_file(labels) if isinstance(labels, str | Path) else RatingFile("", tuple(labels))
    matched = match_ratings(file, runs, _check_label, levels=frozenset({_FACTUAL}))
    scores = {
        RatedImage(run.folder.name, it.item, it.sample): it
        for run in runs
        for it in group_scores(run, profile)
        if it.level == _FACTUAL
    }
    decided = {
        image: majority(value == 1 for value in matched.ratings[image][None].values()) for image in matched.outcomes
    }
    known: list[LabelledScore] = []
    for image, label in decided.items():
        score = scores[image].score
        if score is not None and label is not None:
            known.append(LabelledScore(score, label))
    unscored = Counter(scores[image].reason for image in decided if scores[image].score is None)
    if not known:
        raise FormalimgError(
            f"none of the {len(decided)} labelled images has both a score and a majority: judge the runs, or label "
            "other images"
        )
    best, best_f1 = (
        best_threshold(known, measure, confidence=confidence, resamples=resamples, seed=seed)
        for measure in ("accuracy", "F1")
    )
    return GateCalibration(
        judge,
        tuple(run.folder.name for run in runs),
        matched.raters,
        len(file.rows),
        len(known),
        sum(image.recognisable for image in known),
        sum(label is None for label in decided.values()),
        dict(sorted(unscored.items())),
        matched.without_image,
        matched.not_rated,
        at_thresholds(known, PAPER_THRESHOLDS, confidence),
        at_thresholds(known, all_thresholds(known), confidence),
        best,
        best_f1,
        profile,
        confidence,
    )


def _check_label(run: RunRecord, label: Rating) -> str:
    level = run.items[label.item].level
    if level == _FACTUAL:
        return ""
    return f"item {label.item} is of level {level}: label the factual images, of level {_FACTUAL}"
