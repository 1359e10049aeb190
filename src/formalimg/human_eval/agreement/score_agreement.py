"""Score differences over the same images, between a judge and raters or between two judges of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum, sqrt
from typing import NamedTuple

from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.correlation import Correlation, pearson
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import Interval, Profile
from formalimg.stats.precision_recall import Proportion

NEAR = 0.125  # Scores that differ by no more than this are near each other
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_WIDTH = 0.05
_BINS = 20
_NOISE = 1e-9


class HistogramBin(NamedTuple):
    """Number of images with a difference between `low` and `high`; boundary values belong to the bin nearer to 0."""

    low: float
    high: float
    images: int


class ScorePair(NamedTuple):
    """The scores of one image by a judge and by raters (None if missing), and its item."""

    judge: float | None
    human: float | None
    item: Hashable


class ScoreGap(NamedTuple):
    """The gap between judge scores and rater scores."""

    n: int  # how many images have both scores
    left_out: int  # how many have only one, or none
    judge: float | None  # the mean scores of these images; None if there are none
    human: float | None
    mean: float | None  # the mean difference, judge minus human
    interval: Interval | None  # its normal interval, clustered by item; None where the spread is unknown
    sd: float | None  # the standard deviation of the differences; None for fewer than two
    quantiles: dict[float, float]  # of the differences, by share; empty if there are none
    near: Proportion  # how many differ by no more than 0.125, with its exact interval, clustered by item
    # Pearson's correlation of the scores, with its interval over items; of several levels together, it has much of
    # how they differ
    r: Correlation
    # of the differences, in bins of 0.05, the middle one around 0; the five in the middle are `near`
    histogram: tuple[HistogramBin, ...]


def score_gap(pairs: Sequence[ScorePair], confidence: float = 0.95) -> ScoreGap:
    """Compute the gap between judge scores and human scores."""
    scored = [(judge, human, item) for judge, human, item in pairs if judge is not None and human is not None]
    differences = [judge - human for judge, human, _ in scored]
    items = [item for *_, item in scored]
    n = len(scored)
    mean = fsum(differences) / n if n else None
    near = consistency(
        [(abs(difference) <= NEAR + _NOISE, True) for difference in differences], items=items, confidence=confidence
    )
    return ScoreGap(
        n,
        len(pairs) - n,
        fsum(judge for judge, *_ in scored) / n if n else None,
        fsum(human for _, human, _ in scored) / n if n else None,
        mean,
        mean_interval(differences, confidence, items=items),
        None if mean is None or n < 2 else sqrt(fsum((value - mean) ** 2 for value in differences) / (n - 1)),
        _compute_quantiles(differences),
        Proportion(near.equal, near.n, near.value, near.interval),
        pearson([(judge, human) for judge, human, _ in scored], confidence, items=items),
        _build_histogram(differences),
    )


class JudgeScoreDifference(NamedTuple):
    """The difference between the scores of two judges."""

    n: int  # how many images both scored
    left_out: int  # how many only one of them scored, or neither
    first: float | None  # the mean scores of these images; None if there are none
    second: float | None
    difference: float | None  # the mean difference, first minus second
    interval: Interval | None  # its normal interval, clustered by item; None where the spread is unknown
    sd: float | None  # the standard deviation of the differences; None for fewer than two
    near: Proportion  # how many differ by no more than 0.125, with its exact interval, clustered by item
    r: Correlation  # Pearson's correlation of the scores


def score_difference(
    pairs: Sequence[tuple[float | None, float | None, str]], confidence: float
) -> JudgeScoreDifference:
    """Compute the difference between two judges from pairs of scores, each with the item of the image."""
    gap = score_gap([ScorePair(*pair) for pair in pairs], confidence)
    means = gap.judge, gap.human, gap.mean
    return JudgeScoreDifference(gap.n, gap.left_out, *means, gap.interval, gap.sd, gap.near, gap.r)


def _compute_quantiles(differences: Sequence[float]) -> dict[float, float]:
    if not differences:
        return {}
    import numpy as np

    return {share: float(value) for share, value in zip(QUANTILES, np.quantile(differences, QUANTILES), strict=True)}


def _build_histogram(differences: Sequence[float]) -> tuple[HistogramBin, ...]:
    counts = Counter(map(_find_bin, differences))

    def edge(halves: int) -> float:
        return max(-1.0, min(1.0, round(halves * _WIDTH / 2, 3)))

    return tuple(
        HistogramBin(edge(2 * number - 1), edge(2 * number + 1), counts[number]) for number in range(-_BINS, _BINS + 1)
    )


def _find_bin(difference: float) -> int:
    steps = max(0, ceil((abs(difference) - _WIDTH / 2 - _NOISE) / _WIDTH))
    return steps if difference > 0 else -steps


class ScoredCounts(NamedTuple):
    """Numbers of images scored by both judges, by only one of them, and by neither."""

    both: int
    only_first: int
    only_second: int
    neither: int


def count_scored(scored: Iterable[tuple[bool, bool]]) -> ScoredCounts:
    """Count images by which of the two judges scored them."""
    counts = Counter(scored)
    return ScoredCounts(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


class QuestionScores(NamedTuple):
    """The scores of two judges for one question about an image (None if unknown), and their reasons if available."""

    question: str
    dimension: str
    first: float | None
    second: float | None
    first_reason: str
    second_reason: str

    @property
    def distance(self) -> float:
        """The absolute difference of the scores; 0 if either is unknown."""
        return 0.0 if self.first is None or self.second is None else abs(self.first - self.second)


class ScoreDisagreement(NamedTuple):
    """An image scored differently by two judges, as a whole or on individual questions."""

    item: str
    sample: int
    level: int
    first: float
    second: float
    questions: tuple[QuestionScores, ...]

    @property
    def largest(self) -> QuestionScores | None:
        """The question with the largest score difference; None if all scores are equal."""
        largest = max(self.questions, key=lambda question: question.distance, default=None)
        return largest if largest is not None and largest.distance else None


@dataclass(frozen=True)
class JudgeScoreAgreement:
    """Agreement between the scores of two judges for the same images of one run, before any gate."""

    run: str  # the name of the run folder
    suite: str  # the benchmark
    first: Identity  # the judges
    second: Identity
    images: ScoredCounts  # how many images they scored
    scores: JudgeScoreDifference  # the differences of their scores
    scores_by_level: Mapping[int, JudgeScoreDifference]
    # the same for each dimension by itself: the mean of its questions
    scores_by_dimension: Mapping[str, JudgeScoreDifference]
    passed: Consistency  # how often they agree on whether an image passes, with a score of 0.5 or more
    passed_by_level: Mapping[int, Consistency]
    # the images that they score differently, the largest differences first
    disagreements: tuple[ScoreDisagreement, ...]
    profile: Profile  # the formula that sums up questions
    confidence: float  # of all intervals
    within_levels: Correlation  # the correlation of their scores within levels
