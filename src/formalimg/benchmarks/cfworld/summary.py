"""Summary of a CF-World run: mean scores by level, PRR, RRR and level differences, with bootstrap intervals.

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


GroupScores: TypeAlias = Mapping[str, Mapping[int, tuple[float, int]]]
"""The sum of the scores of a group at a level, and their number; levels without scores are left out."""


class ResampledMeans:
    """The means of all levels in each bootstrap resample of groups, which includes an unseen group."""

    def __init__(self, groups: GroupScores, levels: Sequence[int], config: BootstrapConfig) -> None:
        """Draw the resamples, sorting groups by name so that the order of observations does not matter."""
        import numpy as np

        self._config, self._column = config, {level: number for number, level in enumerate(levels)}
        table = np.array(
            [[groups[name].get(level, (0.0, 0)) for level in levels] for name in sorted(groups)], dtype=np.float64
        ).reshape(len(groups), len(levels), 2)
        images = table[:, :, 1]
        self._groups = (images > 0).sum(axis=0)
        squares = (images**2).sum(axis=0)
        self._effective_groups: Array = np.divide(
            images.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0
        )
        self._max_images = images.max(axis=0, initial=0.0)
        chances = np.full(len(groups) + 1, 1 / (len(groups) + 1))
        drawn = np.random.default_rng(config.seed).multinomial(len(groups) + 1, chances, size=config.resamples)
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
        """Return the interval of one level's mean over the root of another level's; None if it is unbounded.

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


class ScoreDifference(NamedTuple):
    """The mean score difference between two levels, over the groups that have both."""

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
    """Return the mean difference between the scores of two levels, paired by group.

    A group counts once, however many images it has. What has no score is left out of its group's mean.
    """
    scores: dict[str, tuple[list[float], list[float]]] = {}
    for group, level, _, score in observations:
        if level in (first, second):
            sides = scores.setdefault(group, ([], []))
            if score is not None:
                sides[level == second].append(validate_score(score))
    differences = {group: fsum(b) / len(b) - fsum(a) / len(a) for group, (a, b) in sorted(scores.items()) if a and b}
    left_out = tuple(sorted(group for group in scores if group not in differences))
    if not differences:
        return ScoreDifference(None, None, 0, left_out)
    value = fsum(differences.values()) / len(differences)
    interval = difference_interval(list(differences.values()), confidence=confidence)
    return ScoreDifference(value, interval, len(differences), left_out)


_PRINTED = 2  # Decimals of the means in the published tables, from which PRR and RRR were computed


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

    Raises:
        FormalimgError: if an observation or an argument is invalid, or if a score is missing and `missing` is
            "error".
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
    draws = ResampledMeans(_sums_by_group(completed), levels, config) if completed else None
    means = {level: _level_mean(level, counting, completed, gated[level], draws) for level in levels}

    def ratio(before: int, after: int, min_before: float) -> ScoreRatio:
        values = [means[level].value if level in means else None for level in (before, after)]
        if profile == "official-code":
            values = [None if mean is None else round(mean, _PRINTED) for mean in values]
        value = prior_resistance(*values)  # reasoning retention is the same formula of the next two levels
        if value is None or draws is None:
            return ScoreRatio(None, None)
        return ScoreRatio(value, draws.ratio_interval(before, after, value, min_before))

    prr, rrr = ratio(1, 2, threshold or 0.0), ratio(2, 3, 0.0)
    return ScoreSummary(means, prr, rrr, threshold, missing, confidence, profile)


def _sums_by_group(observations: Iterable[ScoreObservation]) -> GroupScores:
    scores: dict[str, dict[int, list[float]]] = {}
    for group, level, _, score in observations:
        if score is not None:
            scores.setdefault(group, {}).setdefault(level, []).append(score)
    return {
        group: {level: (fsum(values), len(values)) for level, values in levels.items()}
        for group, levels in scores.items()
    }


def _level_mean(
    level: int,
    counting: Sequence[ScoreObservation],
    completed: Sequence[ScoreObservation],
    gated: int,
    draws: ResampledMeans | None,
) -> MeanScore:
    expected = [image.score for image in counting if image.level == level]
    scores = [image.score for image in completed if image.level == level and image.score is not None]
    scored = sum(score is not None for score in expected)
    if not scores or draws is None:
        return MeanScore(None, None, scored, len(expected), gated)
    value = min(fsum(scores) / len(scores), 1.0)
    total = fsum(score for score in expected if score is not None)
    bounds = Interval(total / len(expected), min(1.0, (total + len(expected) - scored) / len(expected)))
    return MeanScore(value, draws.mean_interval(level, value), scored, len(expected), gated, bounds)
