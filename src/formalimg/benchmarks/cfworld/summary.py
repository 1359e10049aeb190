"""Summary of a CF-World run: mean score per level, PRR, RRR and level differences, with bootstrap intervals.

Groups are resampled with all their levels and images, because levels of one group are correlated. As for rates, each
resample may draw one unseen group: the worst possible for the lower end of an interval, the best for the upper end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.benchmarks.cfworld.scores import (
    MeanScore,
    ScoreProfile,
    ScoreRatio,
    ScoreSummary,
    apply_gate,
    gate_states,
    prior_resistance,
    reasoning_retention,
    validate_profile,
)
from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import quantile_interval
from formalimg.stats.comparison import difference_interval
from formalimg.stats.intervals import MIN_ITEMS_TO_RESAMPLE, BootstrapConfig, binomial_interval, bootstrap_config
from formalimg.stats.observations import Interval, MissingPolicy, ScoreObservation, validate_score
from formalimg.stats.summary import validate_missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


class ScoreSum(NamedTuple):
    """What a group contributes to the mean of a level: the sum of its scores and their number."""

    total: float
    images: int


GroupScores: TypeAlias = Mapping[str, Mapping[int, ScoreSum]]
"""Score sums by group and level; levels without scores are left out."""


class ResampledMeans:
    """Means of all levels in each bootstrap resample of groups, with an unseen group."""

    def __init__(self, groups: GroupScores, levels: Sequence[int], config: BootstrapConfig) -> None:
        """Draw the resamples; groups are sorted by name, so that the order of observations does not matter."""
        import numpy as np

        self._config, self._column = config, {level: number for number, level in enumerate(levels)}
        nothing = ScoreSum(0.0, 0)
        table = np.array(
            [[groups[name].get(level, nothing) for level in levels] for name in sorted(groups)], dtype=np.float64
        ).reshape(len(groups), len(levels), 2)
        self._groups = (table[:, :, 1] > 0).sum(axis=0)
        self._effective_groups = _effective_groups(table)
        self._max_images = table[:, :, 1].max(axis=0, initial=0.0)
        chances = np.full(len(groups) + 1, 1 / (len(groups) + 1))
        drawn = np.random.default_rng(config.seed).multinomial(len(groups) + 1, chances, size=config.resamples)
        seen = drawn[:, :-1].astype(np.float64)
        self._totals, self._images, self._unseen = seen @ table[:, :, 0], seen @ table[:, :, 1], drawn[:, -1]

    def mean_interval(self, level: int, value: float) -> Interval:
        """Return the confidence interval of the mean of a level: exact, and wider, where there are few groups."""
        import numpy as np

        column = self._column[level]
        if self._groups[column] < MIN_ITEMS_TO_RESAMPLE:
            groups = float(self._effective_groups[column])
            return binomial_interval(min(value, 1.0) * groups, groups, self._config.confidence)
        low, high = (np.nan_to_num(self._means(level, unseen), nan=unseen) for unseen in (0.0, 1.0))
        return quantile_interval(low, high, value, self._config)

    def ratio_interval(self, before: int, after: int, value: float, min_before: float) -> Interval | None:
        """Return the interval of one level's mean over the root of another's; None if it is unbounded.

        None as well where a level has fewer than five groups: a resampled root says too little then.
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


def _effective_groups(table: Array) -> Array:
    """Return the effective number of groups per level."""
    import numpy as np

    images = table[:, :, 1]
    squares = (images**2).sum(axis=0)
    groups: Array = np.divide(images.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    return groups


class ScoreDifference(NamedTuple):
    """Mean difference of the scores of two levels over the groups that have both."""

    value: float | None  # the mean over groups of the second level's mean minus the first's; None if no group has both
    interval: Interval | None  # its interval, over groups
    groups: int  # how many groups have both
    left_out: tuple[str, ...]  # the groups that lack one, by name


def score_difference(
    observations: Iterable[ScoreObservation],
    *,
    first: int = 1,
    second: int = 2,
    confidence: float = 0.95,
) -> ScoreDifference:
    """Return how much higher the scores of one level are than those of another, group by group.

    A group counts once, however many images it has. What has no score is left out of its group's mean.
    """
    scores: dict[str, tuple[list[float], list[float]]] = {}
    for group, level, _, score in observations:
        if level in (first, second):
            mine = scores.setdefault(group, ([], []))
            if score is not None:
                mine[level == second].append(validate_score(score))
    known = {group: fsum(b) / len(b) - fsum(a) / len(a) for group, (a, b) in scores.items() if a and b}
    left_out = tuple(sorted(group for group in scores if group not in known))
    if not known:
        return ScoreDifference(None, None, 0, left_out)
    value = fsum(known.values()) / len(known)
    interval = difference_interval([known[group] for group in sorted(known)], confidence=confidence)
    return ScoreDifference(value, interval, len(known), left_out)


_PRINTED = 2
"""Decimals of the means in the published tables, from which PRR and RRR were computed."""


def summarize_scores(
    observations: Iterable[ScoreObservation],
    *,
    threshold: float | None = 0.5,
    missing: MissingPolicy = "exclude",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    profile: ScoreProfile = "paper",
) -> ScoreSummary:
    """Return all results of a run of CF-World or of one of its probes.

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

    Raises:
        FormalimgError: if an observation or an argument is invalid, or if a score is missing and `missing` is
            "error".
    """
    validate_missing(missing)
    validate_profile(profile)
    config = bootstrap_config(confidence, resamples, seed)
    seen = [_checked(one) for one in observations]
    counting = seen if threshold is None else apply_gate(seen, threshold, profile=profile)
    gated = Counter() if threshold is None else _gated(seen, threshold, profile)
    if missing == "error":
        _reject_missing(counting)
    levels = sorted({one.level for one in counting})
    shown = [one._replace(score=0.0) if one.score is None and missing == "fail" else one for one in counting]
    draws = ResampledMeans(_by_group(shown), levels, config) if shown else None
    means = {level: _mean(level, counting, shown, gated[level], draws) for level in levels}

    def ratio(before: int, after: int, min_before: float) -> ScoreRatio:
        one, other = (means[level].value if level in means else None for level in (before, after))
        if profile == "official-code":
            one, other = _round_as_published(one), _round_as_published(other)
        value = prior_resistance(one, other) if before == 1 else reasoning_retention(one, other)
        if value is None or draws is None:
            return ScoreRatio(None, None)
        return ScoreRatio(value, draws.ratio_interval(before, after, value, min_before))

    prr, rrr = ratio(1, 2, threshold or 0.0), ratio(2, 3, 0.0)
    return ScoreSummary(means, prr, rrr, threshold, missing, confidence, profile)


def _checked(one: ScoreObservation) -> ScoreObservation:
    if one.level not in (1, 2, 3):
        raise FormalimgError(f"group {one.group!r} has an image of level {one.level}: levels are 1, 2 and 3")
    if one.score is not None:
        validate_score(one.score)
    return one


def _gated(seen: Sequence[ScoreObservation], threshold: float, profile: ScoreProfile) -> Counter[int]:
    """Count the scored images of each level behind a closed gate."""
    before = zip(seen, gate_states(seen, threshold, profile=profile), strict=True)
    return Counter(one.level for one, gate in before if gate == "closed" and one.score is not None)


def _by_group(observations: Iterable[ScoreObservation]) -> dict[str, dict[int, ScoreSum]]:
    scores: dict[str, dict[int, list[float]]] = {}
    for group, level, _, score in observations:
        if score is not None:
            scores.setdefault(group, {}).setdefault(level, []).append(score)
    return {
        group: {level: ScoreSum(fsum(those), len(those)) for level, those in levels.items()}
        for group, levels in scores.items()
    }


def _mean(
    level: int,
    counting: Sequence[ScoreObservation],
    shown: Sequence[ScoreObservation],
    gated: int,
    draws: ResampledMeans | None,
) -> MeanScore:
    here = [one.score for one in counting if one.level == level]
    scores = [one.score for one in shown if one.level == level and one.score is not None]
    scored = sum(score is not None for score in here)
    if not scores or draws is None:
        return MeanScore(None, None, scored, len(here), gated)
    value = min(fsum(scores) / len(scores), 1.0)
    known = fsum(score for score in here if score is not None)
    bounds = Interval(known / len(here), min(1.0, (known + len(here) - scored) / len(here)))
    return MeanScore(value, draws.mean_interval(level, value), scored, len(here), gated, bounds)


def _round_as_published(mean: float | None) -> float | None:
    return None if mean is None else round(mean, _PRINTED)


def _reject_missing(observations: Sequence[ScoreObservation]) -> None:
    without = sum(one.score is None for one in observations)
    if without:
        raise FormalimgError(
            f"{without} of {len(observations)} images have no score: resume the run to get them, or choose to leave "
            "them out (missing: exclude) or to count them as failures (missing: fail)"
        )
