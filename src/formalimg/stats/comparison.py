"""Paired comparison of runs on the same items: mean difference, interval, permutation test, and ranks with ties.

Runs are compared by a mean over items, or over groups of items. Images of one item are alike, so each item counts once,
with the mean over its images. The test flips the signs of these differences (`formalimg.stats.permutation`).

The interval is that of Student's t, with one imagined item on either side of the mean, as far from it as the farthest
item that was seen. Without them it would be too narrow where most items are ties, and have no width if all are.

Several comparisons are adjusted together (`adjust_for_all`): p-values by Holm's method, intervals by Bonferroni's.
An interval and the test beside it never contradict each other: the interval excludes 0 exactly where p is significant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, inf, sqrt
from typing import Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import student_quantile, validate_confidence
from formalimg.stats.observations import (
    Interval,
    MissingPolicy,
    Observation,
    ScoreObservation,
    tally_items,
    validate_score,
)
from formalimg.stats.permutation import holm, sign_flip_test

_ROUNDING = 12  # Decimals of differences: equal scores must not differ by rounding
_BEFORE_LEVEL = ", level "  # Stands between a group and its level in the name of an item
_NO_SPREAD = 1e-9  # Differences that are closer to each other than this are the same


class MeanError(NamedTuple):
    """Standard error of a mean difference and its degrees of freedom, infinite for a single item."""

    value: float
    freedom: int


class PairedDifference(NamedTuple):
    """The mean difference between two runs, on the items with values in both."""

    # first minus second; for a band the mean over its levels, each with the same weight. None if there is no item, or
    # none at one of the levels
    estimate: float | None
    # simultaneous for all comparisons of a report where they were adjusted; without 0 exactly where the (adjusted) p is
    # at most 1 minus the confidence
    interval: Interval | None
    p: float | None  # of the two-sided sign-flip test; None where there is no estimate
    adjusted_p: float | None  # by Holm's method for all comparisons of a report; None where it was not adjusted
    items: int  # number of items compared
    left_out: tuple[str, ...]  # items that only one run has, or without a verdict or score in one, by name
    wins: int = 0  # number of items on which the first is better, and worse
    losses: int = 0
    confidence: float = 0.95  # of the interval; with adjusted p, that all intervals of the report hold
    error: MeanError | None = None  # of the estimate; None where there is none
    # the lowest and the highest estimate, whatever the missing verdicts are; None if none is missing. The interval then
    # reaches from that of the lowest to that of the highest
    bounds: Interval | None = None


class ItemMean(NamedTuple):
    """The mean and level of one item in one run, with a value of None if no image counts."""

    level: int
    value: float | None


ItemMeans: TypeAlias = Mapping[str, ItemMean]  # The means of all items of a run, by name
MissingAs: TypeAlias = MissingPolicy | Literal["pass"]  # `pass` bounds a difference


def item_rates(observations: Iterable[Observation], missing: MissingAs = "exclude") -> dict[str, ItemMean]:
    """Return the pass rate of each item."""
    if missing == "pass":
        observations = (observation._replace(passed=observation.passed is not False) for observation in observations)
    policy: MissingPolicy = "fail" if missing == "fail" else "exclude"
    return {
        item: ItemMean(level, counts.passed / counts.counted(policy) if counts.counted(policy) else None)
        for level, items in tally_items(observations).items()
        for item, counts in items.items()
    }


def group_means(observations: Iterable[ScoreObservation], missing: MissingAs = "exclude") -> dict[str, ItemMean]:
    """Return the mean score of each level of each group, treated as an item."""
    scores: dict[tuple[str, int], list[float]] = {}
    for group, level, _, score in observations:
        level_scores = scores.setdefault((group, level), [])
        if score is not None:
            level_scores.append(validate_score(score))
        elif missing in ("fail", "pass"):
            level_scores.append(float(missing == "pass"))
    return {
        group_name(group, level): ItemMean(level, fsum(values) / len(values) if values else None)
        for (group, level), values in scores.items()
    }


class PairedItems(NamedTuple):
    """The paired items of two runs, as returned by `pair_items`."""

    # level and difference (first minus second) of the items that both have a number for
    differences: Mapping[str, tuple[int, float]]
    left_out: Mapping[str, int]  # the level of each other item

    def difference(
        self, levels: Sequence[int] | None = None, *, confidence: float = 0.95, seed: int = 0
    ) -> PairedDifference:
        """Compute the mean difference over items."""
        included = None if levels is None else frozenset(levels)
        pairs = [pair for pair in self.differences.values() if included is None or pair[0] in included]
        left_out = tuple(name for name, level in self.left_out.items() if included is None or level in included)
        values, counts = [value for _, value in pairs], Counter(level for level, _ in pairs)
        if levels is None:
            weights = [1 / len(values) for _ in values]
        elif all(counts[level] for level in levels):
            weights = [1 / (len(counts) * counts[level]) for level, _ in pairs]
        else:
            weights = []
        return _build_paired_difference(values, weights, left_out, confidence, seed)

    def group_difference(self, *, confidence: float = 0.95, seed: int = 0) -> PairedDifference:
        """Compute the mean difference over groups, averaging the levels with scores in both runs."""
        groups: dict[str, list[float]] = {}
        for name, (_, value) in self.differences.items():
            groups.setdefault(group_of(name), []).append(value)
        values = [round(fsum(level_scores) / len(level_scores), _ROUNDING) for level_scores in groups.values()]
        left_out = dict.fromkeys(group for group in map(group_of, self.left_out) if group not in groups)
        return _build_paired_difference(values, [1 / len(values) for _ in values], tuple(left_out), confidence, seed)


def pair_items(first: ItemMeans, second: ItemMeans) -> PairedItems:
    """Pair the items of two runs."""
    differences: dict[str, tuple[int, float]] = {}
    left_out: dict[str, int] = {}
    for name in sorted({*first, *second}):
        first_mean, second_mean = first.get(name), second.get(name)
        if first_mean is None or second_mean is None:
            left_out[name] = (first_mean or second_mean or ItemMean(0, None)).level
            continue
        if first_mean.level != second_mean.level:
            raise FormalimgError(
                f"item {name!r} is at level {first_mean.level} in one run and at level {second_mean.level} in the "
                "other: compare runs over the same items"
            )
        if first_mean.value is None or second_mean.value is None:
            left_out[name] = first_mean.level
        else:
            differences[name] = first_mean.level, round(first_mean.value - second_mean.value, _ROUNDING)
    return PairedItems(differences, left_out)


def compare_paired(
    first: Iterable[Observation],
    second: Iterable[Observation],
    *,
    levels: Sequence[int] | None = None,
    missing: MissingPolicy = "exclude",
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedDifference:
    """Compare the pass rates of two runs on their common items.

    An item with several images counts once, by the share of its scored images that passed. Items without a verdict
    on both sides take no part in the comparison; they are named instead.
    """
    paired = pair_items(item_rates(first, missing), item_rates(second, missing))
    return paired.difference(levels, confidence=confidence, seed=seed)


def adjust_for_all(differences: Sequence[PairedDifference]) -> tuple[PairedDifference, ...]:
    """Adjust the p-values and intervals of all comparisons for multiple testing.

    The p-values are Holm's: with 95 % confidence, no difference is significant where there is none. The intervals are
    Bonferroni's: with m tests each has the confidence 1 - (1 - confidence) / m, so that with 95 % confidence all of
    them hold. Holm's method can find a difference that Bonferroni's would not; the interval then ends at 0. Comparisons
    without a p-value do not count as tests.
    """
    p_values = [difference.p for difference in differences if difference.p is not None]
    holm_values = iter(holm(p_values))
    adjusted = []
    for difference in differences:
        if difference.p is not None:
            p, interval, confidence = next(holm_values), difference.interval, difference.confidence
            if difference.estimate is not None and difference.error is not None:
                level = 1 - (1 - confidence) / len(p_values)
                interval = _t_interval(difference.estimate, difference.error, level, difference.bounds)
                interval = _fit_interval_to_p(interval, difference.estimate, p, confidence)
            difference = difference._replace(adjusted_p=p, interval=interval)
        adjusted.append(difference)
    return tuple(adjusted)


def is_significant(difference: PairedDifference) -> bool:
    """Return whether the adjusted p-value of a difference is at most 1 minus its confidence."""
    return difference.adjusted_p is not None and _is_significant(difference.adjusted_p, difference.confidence)


def _is_significant(p: float, confidence: float) -> bool:
    return p <= 1 - confidence + _NO_SPREAD


def _fit_interval_to_p(interval: Interval, estimate: float, p: float, confidence: float) -> Interval:
    """Adjust the interval to contain 0 if and only if the test is not significant."""
    low, high = interval
    if not _is_significant(p, confidence):
        return Interval(min(low, 0.0), max(high, 0.0))
    nearest = min(abs(estimate), _NO_SPREAD)
    return Interval(max(low, nearest), high) if estimate > 0 else Interval(low, min(high, -nearest))


def with_missing(
    difference: PairedDifference, worst: PairedDifference, best: PairedDifference, *, is_within: bool = False
) -> PairedDifference:
    """Widen a difference to account for all possible values of missing verdicts."""
    estimate = difference.estimate
    if estimate is None or difference.p is None or worst.estimate is None or best.estimate is None:
        return difference
    p_values = [bound.p for bound in (difference, worst, best) if bound.p is not None]
    error = max(bound.error for bound in (difference, worst, best) if bound.error is not None)
    bounds = Interval(min(worst.estimate, best.estimate), max(worst.estimate, best.estimate))
    estimate = min(max(estimate, bounds.low), bounds.high) if is_within else estimate
    p = max(p_values) if min(estimate, bounds.low) > 0 or max(estimate, bounds.high) < 0 else 1.0
    interval = _t_interval(estimate, error, difference.confidence, bounds)
    interval = _fit_interval_to_p(interval, estimate, p, difference.confidence)
    return difference._replace(estimate=estimate, interval=interval, p=p, error=error, bounds=bounds)


class RankRange(NamedTuple):
    """The range of possible ranks of a run, wider than one rank if it is tied."""

    best: int
    worst: int


def rank_ranges(
    runs: int, pairs: Mapping[tuple[int, int], PairedDifference], *, confidence: float = 0.95
) -> tuple[RankRange, ...]:
    """Compute the rank ranges of runs, including ties.

    A run is behind those that are significantly better, and ahead of those that are significantly worse; all others
    are tied with it.
    """
    separated = [
        (first, second) if difference.estimate > 0 else (second, first)
        for (first, second), difference in pairs.items()
        if difference.estimate
        and difference.adjusted_p is not None
        and _is_significant(difference.adjusted_p, confidence)
    ]
    return count_ranks(runs, separated)


def count_ranks(runs: int, separated: Iterable[tuple[int, int]]) -> tuple[RankRange, ...]:
    """Compute the rank ranges of runs from pairs in which the first is better than the second."""
    ranks = [RankRange(1, runs)] * runs
    for better, worse in separated:
        ranks[better] = ranks[better]._replace(worst=ranks[better].worst - 1)
        ranks[worse] = ranks[worse]._replace(best=ranks[worse].best + 1)
    return tuple(ranks)


def difference_interval(
    differences: Sequence[float], *, weights: Sequence[float] | None = None, confidence: float = 0.95
) -> Interval:
    """Return the confidence interval of a weighted mean of differences between -1 and 1.

    In simulations a 95 % interval covered the true mean in at least 92 % of cases for ten or more items, whether the
    differences were -1, 0 and 1, scores, or very skewed; for fewer, skewed differences the coverage is lower. For a
    single item, the interval is -1 to 1.
    """
    validate_confidence(confidence)
    shares = weights or [1 / len(differences)] * len(differences)
    mean = fsum(share * value for share, value in zip(shares, differences, strict=True))
    return _t_interval(mean, _mean_error(differences, shares, mean), confidence)


def _mean_error(differences: Sequence[float], shares: Sequence[float], mean: float) -> MeanError:
    squares = fsum(share * share for share in shares)
    items = 1 / squares  # the effective number, which is that of the items if all weigh the same
    if items < 2 - _NO_SPREAD:
        return MeanError(inf, 1)
    farthest = max(abs(value - mean) for value in differences)
    if farthest < _NO_SPREAD:  # nothing is known of how far others may be
        farthest = 1.0
    spread = fsum((share * (value - mean)) ** 2 for share, value in zip(shares, differences, strict=True)) / squares
    error = sqrt((items * spread + 2 * farthest**2) / (items * (items + 1)))
    return MeanError(error, int(items - 1 + _NO_SPREAD))


def _t_interval(mean: float, error: MeanError, confidence: float, bounds: Interval | None = None) -> Interval:
    width = student_quantile(confidence, error.freedom) * error.value
    low, high = bounds or (mean, mean)
    return Interval(max(-1.0, min(low, mean) - width), min(1.0, max(high, mean) + width))


def _build_paired_difference(
    values: Sequence[float], weights: Sequence[float], left_out: tuple[str, ...], confidence: float, seed: int
) -> PairedDifference:
    validate_confidence(confidence)
    wins, losses = sum(value > 0 for value in values), sum(value < 0 for value in values)
    if not weights:
        return PairedDifference(None, None, None, None, len(values), left_out, wins, losses, confidence)
    weighted = [weight * value for weight, value in zip(weights, values, strict=True)]
    p, estimate = sign_flip_test(weighted, seed=seed), fsum(weighted)
    error = _mean_error(values, weights, estimate)
    interval = _fit_interval_to_p(_t_interval(estimate, error, confidence), estimate, p, confidence)
    return PairedDifference(estimate, interval, p, None, len(values), left_out, wins, losses, confidence, error)


def estimate_paired_difference(
    estimate: float, error: MeanError, p: float, *, items: int, wins: int, losses: int, confidence: float
) -> PairedDifference:
    """Build a difference from an existing estimate, with the interval implied by its error."""
    interval = _fit_interval_to_p(_t_interval(estimate, error, confidence), estimate, p, confidence)
    return PairedDifference(estimate, interval, p, None, items, (), wins, losses, confidence, error)


def group_name(group: str, level: int) -> str:
    """Return the item name that represents one level of a group in a comparison."""
    return f"{group}{_BEFORE_LEVEL}{level}"


def group_of(name: str) -> str:
    """Return the group encoded in a name from `group_name`."""
    return name.rpartition(_BEFORE_LEVEL)[0]
