"""Summary of a run: pass rate per level, bands, generalizability and coverage, with bounds for missing verdicts.

Generalizability G_ε is the highest level up to which a model holds a pass rate of ε. G is overestimated only if the
first lost level seems to be held. So the lower end of its interval follows from the levels' own intervals: it is the
last level up to which all of them lie above ε.

For the upper end, test level by level whether the model may hold all levels so far. One level with far too few passes
refutes it, or all of them together; each of the two tests gets half of the error probability, and in the first the
levels share it. The upper end is the highest level that is not refuted. It is too low only if the true G is refuted,
so testing all levels needs no further correction.

A bootstrap would not do: where several rates lie close to ε, some of the resamples lose each of them, and nearly all
lose one or the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import exp, log1p
from typing import NamedTuple, get_args

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import LevelDraws, band_interval, resample_level
from formalimg.stats.intervals import (
    MIN_ITEMS_TO_RESAMPLE,
    TOLERANCE,
    BootstrapConfig,
    EffectiveCount,
    binomial_interval,
    bootstrap_config,
    effective_count,
    effective_items,
    interval_of_pooled_levels,
    item_clustered_interval,
    log_binomial_tail,
)
from formalimg.stats.observations import (
    Band,
    Generalizability,
    ItemTally,
    MissingPolicy,
    Observation,
    PassCounts,
    Rate,
    Summary,
    pass_counts,
    tally_items,
    total_counts,
)


def summarize(
    observations: Iterable[Observation],
    *,
    bands: Mapping[str, Sequence[int]],
    epsilon: float | None,
    missing: MissingPolicy = "exclude",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Summary:
    """Summarize a run with rates per level, overall and per band, and with G_ε.

    Args:
        observations: one for each image that was to be scored, in any order; several for one item are its samples.
        bands: groups of levels whose rates are averaged, as in `Suite.bands`.
        epsilon: the rate to hold for G_ε; None to skip G_ε.
        missing: how to treat images without a verdict.
        confidence: of all intervals.
        resamples: number of bootstrap resamples per band.
        seed: of the bootstrap. The same observations and seed give the same numbers.
    """
    validate_missing(missing)
    config = bootstrap_config(confidence, resamples, seed)
    tallies = tally_items(observations)
    everything = [tally for items in tallies.values() for tally in items.values()]
    unscored = sum(tally.expected - tally.scored for tally in everything)
    if missing == "error" and unscored:
        raise FormalimgError(
            f"{unscored} of {sum(tally.expected for tally in everything)} images have no verdict: resume the run to "
            "get them, or choose to leave them out (missing: exclude) or to count them as failures (missing: fail)"
        )
    levels = {level: _level_rate(items.values(), missing, confidence) for level, items in tallies.items()}
    kinds = {level: pass_counts(items.values(), missing) for level, items in tallies.items()}
    drawn = cache(lambda level: resample_level(level, kinds[level], config))  # a level may be in several bands
    valid_bands = validate_bands(bands)
    return Summary(
        levels,
        _level_rate(everything, missing, confidence),
        {name: _band_rate(chosen, levels, kinds, config, drawn) for name, chosen in valid_bands.items()},
        None if epsilon is None else _generalizability_estimate(epsilon, levels, kinds, valid_bands, confidence),
        missing,
        confidence,
    )


def validate_missing(missing: str) -> None:
    """Raise an error if the rule for missing verdicts is unknown."""
    if missing not in get_args(MissingPolicy):
        raise FormalimgError(f"unknown rule {missing!r} for missing verdicts: use {', '.join(get_args(MissingPolicy))}")


def validate_bands(bands: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Return the bands, and raise an error if a band has no levels or duplicate levels."""
    for name, levels in bands.items():
        if not levels or len(set(levels)) < len(levels):
            raise FormalimgError(f"the band {name!r} has the levels {list(levels)}: give at least one, and none twice")
    return {name: tuple(levels) for name, levels in bands.items()}


def mean_of_levels(levels: Iterable[int], values: Mapping[int, float | None]) -> float | None:
    """Return the mean rate of the levels, or None if a level has no rate."""
    rates = [values.get(level) for level in levels]
    known_rates = [rate for rate in rates if rate is not None]
    return sum(known_rates) / len(known_rates) if len(known_rates) == len(rates) else None


def all_levels(observed: Iterable[int], bands: Mapping[str, Sequence[int]]) -> range:
    """Return the full range of levels that are observed or part of a band."""
    expected_levels = {*observed, *(level for levels in bands.values() for level in levels)}
    return range(min(expected_levels), max(expected_levels) + 1) if expected_levels else range(0)


def _level_rate(tallies: Iterable[ItemTally], missing: MissingPolicy, confidence: float) -> Rate:
    items = list(tallies)
    kinds = pass_counts(items, missing)
    passed, counted = total_counts(kinds)
    return Rate(
        sum(item.passed for item in items),
        sum(item.scored for item in items),
        sum(item.expected for item in items),
        passed / counted if counted else None,
        item_clustered_interval(kinds, confidence) if counted else None,
    )


def _band_rate(
    chosen: tuple[int, ...],
    rates: Mapping[int, Rate],
    kinds: Mapping[int, PassCounts],
    config: BootstrapConfig,
    drawn: Callable[[int], LevelDraws],
) -> Band:
    value = mean_of_levels(chosen, {level: rate.value for level, rate in rates.items()})
    present = [rates[level] for level in chosen if level in rates]
    expected = sum(rate.expected for rate in present)
    coverage = sum(rate.scored for rate in present) / expected if expected else 0.0
    if value is None:
        return Band(chosen, None, None, coverage)
    counts = {level: kinds[level] for level in chosen}
    if min(map(effective_items, counts.values())) < MIN_ITEMS_TO_RESAMPLE:
        return Band(chosen, value, interval_of_pooled_levels(value, list(counts.values()), config.confidence), coverage)
    return Band(chosen, value, band_interval({level: drawn(level) for level in counts}, value, config), coverage)


def _generalizability_estimate(
    epsilon: float,
    rates: Mapping[int, Rate],
    kinds: Mapping[int, PassCounts],
    bands: Mapping[str, Sequence[int]],
    confidence: float,
) -> Generalizability:
    validate_epsilon(epsilon)
    levels = all_levels(rates, bands)
    value = held_level({level: rates[level].value if level in rates else None for level in levels}, epsilon)
    effective = {level: effective_count(level_kinds) for level, level_kinds in kinds.items() if level_kinds}
    if value is None or not effective:
        return Generalizability(epsilon, None, None, None)
    low, high = generalizability_interval({level: effective.get(level) for level in levels}, epsilon, confidence)
    return Generalizability(epsilon, value, low, high)


class PointEstimates(NamedTuple):
    """Point estimates of a summary, without intervals."""

    levels: Mapping[int, float]
    overall: float | None
    bands: Mapping[str, float | None]
    generalizability: int | None


class MissingBounds(NamedTuple):
    """The results under the assumptions that all missing verdicts are failures, or all are passes."""

    worst: PointEstimates
    best: PointEstimates


def missing_bounds(
    observations: Iterable[Observation], *, bands: Mapping[str, Sequence[int]], epsilon: float | None
) -> MissingBounds:
    """Compute the range of results over all possible values of the missing verdicts."""
    worst, best = {}, {}
    for level, items in tally_items(observations).items():
        passed, scored, expected = map(sum, zip(*items.values(), strict=True))
        worst[level], best[level] = (passed, expected), (passed + expected - scored, expected)
    return MissingBounds(_point_estimates(worst, bands, epsilon), _point_estimates(best, bands, epsilon))


def _point_estimates(
    counts: Mapping[int, tuple[int, int]], bands: Mapping[str, Sequence[int]], epsilon: float | None
) -> PointEstimates:
    rates = {level: passed / expected for level, (passed, expected) in counts.items()}
    images = sum(expected for _, expected in counts.values())
    general = None
    if epsilon is not None:
        levels = {level: rates.get(level) for level in all_levels(rates, bands)}
        general = held_level(levels, validate_epsilon(epsilon)) if rates else None
    return PointEstimates(
        rates,
        sum(passed for passed, _ in counts.values()) / images if images else None,
        {name: mean_of_levels(chosen, rates) for name, chosen in validate_bands(bands).items()},
        general,
    )


def generalizability(rates: Mapping[int, float], epsilon: float) -> int:
    """Return the largest level K with rates of at least ε at all levels up to K, or 0 if there is none."""
    validate_epsilon(epsilon)
    if not rates:
        raise FormalimgError("there is no level: give the rate of each level")
    for level, rate in rates.items():
        if not 0 <= rate <= 1:
            raise FormalimgError(f"the rate {rate!r} of level {level} is not between 0 and 1: 70 % is 0.7")
    if min(rates) < 1:
        raise FormalimgError(f"there is a level {min(rates)}: levels are counted from 1")
    gaps = sorted(set(range(min(rates), max(rates))) - set(rates))
    if gaps:
        raise FormalimgError(f"the rate of level {gaps[0]} is missing: give all levels from the lowest to the highest")
    return held_level(rates, epsilon) or 0


def held_level(rates: Mapping[int, float | None], epsilon: float) -> int | None:
    """Return G_ε with some rates unknown, or None if it depends on an unknown rate."""
    highest = 0
    for level in sorted(rates):
        rate = rates[level]
        if rate is None:
            return None
        if rate < epsilon - TOLERANCE:
            break
        highest = level
    return highest


def validate_epsilon(epsilon: float) -> float:
    """Return ε, and raise an error if it is not a valid rate."""
    if not 0 <= epsilon <= 1:
        raise FormalimgError(f"the rate to hold is {epsilon!r}, which is not between 0 and 1: 70 % is 0.7")
    return epsilon


def generalizability_interval(
    levels: Mapping[int, EffectiveCount | None], epsilon: float, confidence: float
) -> tuple[int, int]:
    """Return the lowest and highest plausible G_ε.

    Levels without a rate count as lost for the lower end and as held for the upper one.
    """
    lows = {
        level: 0.0 if count is None else binomial_interval(*count, confidence).low for level, count in levels.items()
    }
    return held_level(lows, epsilon) or 0, highest_level(levels, epsilon, confidence)


def highest_level(levels: Mapping[int, EffectiveCount | None], epsilon: float, confidence: float) -> int:
    """Return the highest plausible G_ε, the last level up to which the data do not refute a rate of ε."""
    chance = (1 - confidence) / 2
    highest, known_counts, pooled, smallest = 0, 0, EffectiveCount(0.0, 0.0), 1.0
    for level in sorted(levels):
        count = levels[level]
        if count is not None:
            known_counts += 1
            pooled = EffectiveCount(pooled.passed + count.passed, pooled.counted + count.counted)
            smallest = min(smallest, _p_value_of_so_few(count, epsilon))
        one_refutes = smallest * max(1, known_counts) <= chance / 2
        if not one_refutes and _p_value_of_so_few(pooled, epsilon) > chance / 2:
            highest = level
    return highest


def _p_value_of_so_few(count: EffectiveCount, epsilon: float) -> float:
    """Return the probability of at most the observed passes at a rate of ε, or 1 if the observed rate is higher."""
    if count.passed >= (epsilon - TOLERANCE) * count.counted:
        return 1.0
    return exp(log_binomial_tail(count.counted - count.passed, count.counted, log1p(-epsilon))) if epsilon < 1 else 0.0
