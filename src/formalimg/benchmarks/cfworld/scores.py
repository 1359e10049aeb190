"""Scores of CF-World: weighted score of an image, L1 gate, means by level, PRR, RRR, and their bootstrap intervals.

Groups are resampled with all their levels and images, because levels of one group are correlated. As for rates, each
resample may draw one unseen group: the worst possible for the lower end of an interval, the best for the upper end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import quantile_interval
from formalimg.stats.comparison import difference_interval
from formalimg.stats.intervals import (
    MIN_ITEMS_TO_RESAMPLE,
    TOLERANCE,
    BootstrapConfig,
    binomial_interval,
    bootstrap_config,
)
from formalimg.stats.observations import Interval, MissingPolicy, Profile, ScoreObservation, validate_score
from formalimg.stats.summary import validate_missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

_PRINTED = 2  # Decimals of the means in the published tables, from which PRR and RRR were computed


class MeanScore(NamedTuple):
    """The mean score of the images of a level."""

    value: float | None  # from 0 to 1, after the gate and the rule for missing scores; None if nothing was counted
    interval: Interval | None  # by resampling groups; None where there is no value
    scored: int  # number of images with a score that counts
    expected: int  # number of images that were to be scored
    gated: int  # number of images that count as 0 because the gate of their group is closed
    bounds: Interval | None = None  # the mean if all missing scores were 0, and if all were 1


class ScoreRatio(NamedTuple):
    """PRR or RRR with its confidence interval."""

    value: float | None  # None where a mean is missing, or the divisor is 0
    interval: Interval | None  # None also where a level has fewer than five groups, or where it is unbounded


class ScoreSummary(NamedTuple):
    """All results of a CF-World run, with the rules used to compute them."""

    levels: Mapping[int, MeanScore]
    prr: ScoreRatio  # the Prior Resistance Rate, from levels 1 and 2
    rrr: ScoreRatio  # the Reasoning Retention Rate, from levels 2 and 3
    threshold: float | None  # the score of level 1 below which a group's gate is closed; None for no gate
    missing: MissingPolicy
    confidence: float
    profile: Profile


# --- one image


def weighted_score(answers: Iterable[tuple[str, float, float]], profile: Profile = "paper") -> float | None:
    """Return the weighted score of an image, from 0 to 1; None if nothing was asked.

    In the paper each dimension has one score, so questions of the same dimension share its weight. The published code
    gives each question the full weight: with three questions about logic, the assessment point counts 36 % instead of
    58 %.

    Args:
        answers: dimension, weight and score, from 0 to 1, of each question.
        profile: `paper`, or `official-code`.
    """
    validate_profile(profile)
    answers = list(answers)
    times = Counter(dimension for dimension, *_ in answers)
    weights = []
    for dimension, weight, score in answers:
        validate_score(score)
        if not weight > 0:
            raise FormalimgError(f"a question has the weight {weight}: weights are above 0")
        weights.append(weight / times[dimension] if profile == "paper" else weight)
    if not answers:
        return None
    return fsum(weight * score for weight, (*_, score) in zip(weights, answers, strict=True)) / fsum(weights)


def rescore(score: float, parts: Sequence[tuple[str, float, float]], profile: Profile) -> float:
    """Return the score of an image under a profile, given its score under `paper`."""
    validate_profile(profile)
    for part_score in (*(part[2] for part in parts), score):
        validate_score(part_score)
    if profile == "paper":
        return score
    times = Counter(dimension for dimension, *_ in parts)
    answers = [(dimension, weight * times[dimension], part_score) for dimension, weight, part_score in parts]
    rescored = weighted_score(answers, profile)
    return score if rescored is None else rescored


def validate_profile(profile: str) -> None:
    """Raise an error if the profile is unknown."""
    if profile not in get_args(Profile):
        raise FormalimgError(f"unknown profile {profile!r}: choose from {', '.join(get_args(Profile))}")


# --- the gate

GateState: TypeAlias = Literal["open", "closed", "unknown", "not in the run"]
"""State of the gate of an image: whether level 1 of its group lets it count, or why that is not known."""


def apply_gate(
    observations: Iterable[ScoreObservation], threshold: float, *, profile: Profile = "paper"
) -> list[ScoreObservation]:
    """Set scores above level 1 to 0 if the group's level-1 image scores below the threshold.

    An image without a score stays without one, and an image whose gate is unknown loses its score.
    """
    images = list(observations)
    gated: dict[GateState, float | None] = {"closed": 0.0, "unknown": None, "not in the run": None}
    return [
        image if image.score is None else image._replace(score=gated.get(gate, image.score))
        for image, gate in zip(images, gate_states(images, threshold, profile=profile), strict=True)
    ]


def gate_states(
    observations: Iterable[ScoreObservation], threshold: float, *, profile: Profile = "paper"
) -> list[GateState]:
    """Return the gate of each image; `open` for images of level 1.

    Sample n of level 1 is the gate for sample n of the higher levels, or sample 0 if level 1 has fewer samples. A score
    equal to the threshold opens the gate.
    """
    if not 0 <= threshold <= 1:
        raise FormalimgError(f"the threshold {threshold!r} is not between 0 and 1: use 0.5, as the paper does")
    validate_profile(profile)
    images = list(observations)
    factual: dict[tuple[str, int], float | None] = {}
    for group, level, sample, score in images:
        if score is not None:
            validate_score(score)
        if level == 1 and (group, sample) in factual:
            raise FormalimgError(
                f"group {group!r} has two images of level 1 with the number {sample}: "
                "give each its own sample, or use no gate"
            )
        if level == 1:
            factual[group, sample] = score

    def state(image: ScoreObservation) -> GateState:
        if image.level == 1:
            return "open"
        sample = image.sample if (image.group, image.sample) in factual else 0
        if (image.group, sample) not in factual:
            return "not in the run"
        score = factual[image.group, sample]
        if score is None:
            return "unknown" if profile == "paper" else "closed"
        return "closed" if score < threshold - TOLERANCE else "open"

    return [state(image) for image in images]


# --- levels


def prior_resistance(l1: float | None, l2: float | None) -> float | None:
    """Return the Prior Resistance Rate for two mean scores: L2 / √L1.

    None if a mean is missing or L1 is 0.
    """
    if l1 is None or l2 is None:
        return None
    for mean in (l1, l2):
        validate_score(mean)
    return l2 / sqrt(l1) if l1 > 0 else None


def reasoning_retention(l2: float | None, l3: float | None) -> float | None:
    """Return the Reasoning Retention Rate for two mean scores: L3 / √L2; None if a mean is missing or L2 is 0."""
    return prior_resistance(l2, l3)


class ScoreDifference(NamedTuple):
    """The mean score difference between two levels, over the groups that have both."""

    value: float | None  # the mean over groups of the second level's mean minus the first's; None if no group has both
    interval: Interval | None  # over groups
    groups: int  # how many have both
    left_out: tuple[str, ...]  # the groups that lack one, by name


def score_difference(
    observations: Iterable[ScoreObservation], *, first: int = 1, second: int = 2, confidence: float = 0.95
) -> ScoreDifference:
    """Return the mean difference between the scores of two levels, paired by group; each group counts once."""
    scores: dict[str, tuple[list[float], list[float]]] = {}
    for group, level, _, score in observations:
        if level in (first, second):
            sides = scores.setdefault(group, ([], []))
            if score is not None:
                sides[level == second].append(validate_score(score))
    differences = {group: fsum(b) / len(b) - fsum(a) / len(a) for group, (a, b) in sorted(scores.items()) if a and b}
    left_out = tuple(sorted(scores.keys() - differences))
    if not differences:
        return ScoreDifference(None, None, 0, left_out)
    value = fsum(differences.values()) / len(differences)
    interval = difference_interval(list(differences.values()), confidence=confidence)
    return ScoreDifference(value, interval, len(differences), left_out)


def summarize_scores(
    observations: Iterable[ScoreObservation],
    *,
    threshold: float | None = 0.5,
    missing: MissingPolicy = "exclude",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    profile: Profile = "paper",
) -> ScoreSummary:
    """Return all results of a run of CF-World or one of its probes.

    Args:
        observations: one for each image that was to be scored, in any order, with the score that the judge gave.
        threshold: the score of level 1 that opens the gate of a group; None for no gate.
        missing: how to treat images without a score, or with an unknown gate: leave them out of the means, count them
            as 0 (`fail`), or raise.
        confidence: of all intervals.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap. The same observations and seed give the same numbers.
        profile: `official-code` closes the gate of groups whose level 1 was requested but has no score, and computes
            PRR and RRR from means rounded to two decimals, as the published tables do.
    """
    validate_missing(missing)
    validate_profile(profile)
    config = bootstrap_config(confidence, resamples, seed)
    images = list(observations)
    for group, level, _, score in images:
        if level not in (1, 2, 3):
            raise FormalimgError(f"group {group!r} has an image of level {level}: levels are 1, 2 and 3")
        if score is not None:
            validate_score(score)
    counting, gated = images, Counter[int]()
    if threshold is not None:
        counting = apply_gate(images, threshold, profile=profile)
        states = zip(images, gate_states(images, threshold, profile=profile), strict=True)
        gated = Counter(image.level for image, gate in states if gate == "closed" and image.score is not None)
    unscored = sum(image.score is None for image in counting)
    if missing == "error" and unscored:
        raise FormalimgError(
            f"{unscored} of {len(counting)} images have no score: resume the run to get them, or choose to leave "
            "them out (missing: exclude) or to count them as failures (missing: fail)"
        )
    levels = sorted({image.level for image in counting})
    completed = [
        image._replace(score=0.0) if image.score is None and missing == "fail" else image for image in counting
    ]
    resampled = _ResampledMeans(completed, levels, config) if completed else None
    means = {level: _level_mean(level, counting, completed, gated[level], resampled) for level in levels}

    def ratio(before: int, after: int, min_before: float) -> ScoreRatio:
        values = [means[level].value if level in means else None for level in (before, after)]
        if profile == "official-code":
            values = [None if mean is None else round(mean, _PRINTED) for mean in values]
        value = prior_resistance(*values)  # reasoning retention is the same formula of the next two levels
        if value is None or resampled is None:
            return ScoreRatio(None, None)
        return ScoreRatio(value, resampled.ratio_interval(before, after, value, min_before))

    prr, rrr = ratio(1, 2, threshold or 0.0), ratio(2, 3, 0.0)
    return ScoreSummary(means, prr, rrr, threshold, missing, confidence, profile)


def _level_mean(
    level: int,
    counting: Sequence[ScoreObservation],
    completed: Sequence[ScoreObservation],
    gated: int,
    resampled: _ResampledMeans | None,
) -> MeanScore:
    expected = [image.score for image in counting if image.level == level]
    scores = [image.score for image in completed if image.level == level and image.score is not None]
    scored = sum(score is not None for score in expected)
    if not scores or resampled is None:
        return MeanScore(None, None, scored, len(expected), gated)
    value = min(fsum(scores) / len(scores), 1.0)
    total = fsum(score for score in expected if score is not None)
    bounds = Interval(total / len(expected), min(1.0, (total + len(expected) - scored) / len(expected)))
    return MeanScore(value, resampled.mean_interval(level, value), scored, len(expected), gated, bounds)


class _ResampledMeans:
    """The means of all levels in each bootstrap resample of groups, which includes an unseen group."""

    def __init__(
        self, observations: Iterable[ScoreObservation], levels: Sequence[int], config: BootstrapConfig
    ) -> None:
        import numpy as np

        scores: dict[str, dict[int, list[float]]] = {}
        for group, level, _, score in observations:
            if score is not None:
                scores.setdefault(group, {}).setdefault(level, []).append(score)
        self._config, self._column = config, {level: number for number, level in enumerate(levels)}
        rows = [
            [(fsum(by_level.get(level, ())), len(by_level.get(level, ()))) for level in levels]
            for _, by_level in sorted(scores.items())  # so that the order of observations does not matter
        ]
        table = np.array(rows, dtype=np.float64).reshape(len(scores), len(levels), 2)
        images = table[:, :, 1]
        self._groups = (images > 0).sum(axis=0)
        squares = (images**2).sum(axis=0)
        self._effective_groups: Array = np.divide(
            images.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0
        )
        self._max_images = images.max(axis=0, initial=0.0)
        chances = np.full(len(scores) + 1, 1 / (len(scores) + 1))
        drawn = np.random.default_rng(config.seed).multinomial(len(scores) + 1, chances, size=config.resamples)
        weights = drawn[:, :-1].astype(np.float64)
        self._totals, self._images, self._unseen = weights @ table[:, :, 0], weights @ images, drawn[:, -1]

    def mean_interval(self, level: int, value: float) -> Interval:
        """Return the confidence interval of a level's mean, which is exact and wider if there are few groups."""
        import numpy as np

        column = self._column[level]
        if self._groups[column] < MIN_ITEMS_TO_RESAMPLE:
            groups = float(self._effective_groups[column])
            return binomial_interval(min(value, 1.0) * groups, groups, self._config.confidence)
        low, high = (np.nan_to_num(self._means(level, unseen), nan=unseen) for unseen in (0.0, 1.0))
        return quantile_interval(low, high, value, self._config)

    def ratio_interval(self, before: int, after: int, value: float, min_before: float) -> Interval | None:
        """Return the interval of one level's mean over the root of another level's.

        None if it is unbounded, or if a level has fewer than five groups, too few to resample a root.
        """
        import numpy as np

        if min(self._groups[self._column[level]] for level in (before, after)) < MIN_ITEMS_TO_RESAMPLE:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            low = self._means(after, 0.0) / np.sqrt(self._means(before, 1.0))
            high = self._means(after, 1.0) / np.sqrt(self._means(before, min_before))
        interval = quantile_interval(
            np.nan_to_num(low, nan=0.0), np.where(np.isnan(high), np.inf, high), value, self._config
        )
        return interval if isfinite(interval.high) else None

    def _means(self, level: int, unseen: float) -> Array:
        import numpy as np

        column = self._column[level]
        more = self._unseen * self._max_images[column]
        with np.errstate(invalid="ignore"):
            means: Array = (self._totals[:, column] + more * unseen) / (self._images[:, column] + more)
        return means
