"""Summary of a run: pass rate per level, bands, generalizability and coverage, with bounds for missing verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, get_args

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import BootstrapConfig, LevelDraws, band_interval, bootstrap_config, resample_level
from formalimg.stats.generalizability import generalizability_interval, held_level, validate_epsilon
from formalimg.stats.intervals import (
    MIN_ITEMS_TO_RESAMPLE,
    clustered_interval,
    effective_count,
    effective_items,
    pooled_interval,
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
    tally,
    total,
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
    """Return all results of a run: rates per level, overall, per band, and G_ε.

    Args:
        observations: one for each image that was to be scored, in any order; several for one item are its samples.
        bands: groups of levels whose rates are averaged, as in `Suite.bands`.
        epsilon: the rate to hold for G_ε; None to skip G_ε.
        missing: how to treat images without a verdict.
        confidence: of all intervals.
        resamples: number of bootstrap resamples per band.
        seed: of the bootstrap. The same observations and seed give the same numbers.

    Raises:
        FormalimgError: if an observation or an argument is invalid, or if a verdict is missing and `missing` is
            "error".
    """
    validate_missing(missing)
    config = bootstrap_config(confidence, resamples, seed)
    tallies = tally(observations)
    everything = [each for items in tallies.values() for each in items.values()]
    if missing == "error":
        _reject_missing(everything)
    levels = {level: _rate(items.values(), missing, confidence) for level, items in tallies.items()}
    kinds = {level: pass_counts(items.values(), missing) for level, items in tallies.items()}
    drawn = cache(lambda level: resample_level(level, kinds[level], config))  # a level may be in several bands
    return Summary(
        levels,
        _rate(everything, missing, confidence),
        {name: _band(chosen, levels, kinds, config, drawn) for name, chosen in validate_bands(bands).items()},
        None if epsilon is None else _generalizability(epsilon, levels, kinds, validate_bands(bands), confidence),
        missing,
        confidence,
    )


def validate_missing(missing: str) -> None:
    """Raise unless this is a rule for missing verdicts."""
    if missing not in get_args(MissingPolicy):
        raise FormalimgError(f"unknown rule {missing!r} for missing verdicts: use {', '.join(get_args(MissingPolicy))}")


def validate_bands(bands: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Return the bands, or raise if one has no levels or one twice."""
    for name, levels in bands.items():
        if not levels or len(set(levels)) < len(levels):
            raise FormalimgError(f"the band {name!r} has the levels {list(levels)}: give at least one, and none twice")
    return {name: tuple(levels) for name, levels in bands.items()}


def mean_of_levels(levels: Iterable[int], values: Mapping[int, float | None]) -> float | None:
    """Return the mean rate of these levels; None where one of them has none."""
    rates = [values.get(level) for level in levels]
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if len(known) == len(rates) else None


def all_levels(observed: Iterable[int], bands: Mapping[str, Sequence[int]]) -> range:
    """Return every level from the lowest to the highest that was observed or belongs to a band."""
    known = {*observed, *(level for levels in bands.values() for level in levels)}
    return range(min(known), max(known) + 1) if known else range(0)


def _rate(tallies: Iterable[ItemTally], missing: MissingPolicy, confidence: float) -> Rate:
    items = list(tallies)
    kinds = pass_counts(items, missing)
    passed, counted = total(kinds)
    return Rate(
        sum(item.passed for item in items),
        sum(item.scored for item in items),
        sum(item.expected for item in items),
        passed / counted if counted else None,
        clustered_interval(kinds, confidence) if counted else None,
    )


def _band(
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
    shown = {level: kinds[level] for level in chosen}
    if min(map(effective_items, shown.values())) < MIN_ITEMS_TO_RESAMPLE:
        return Band(chosen, value, pooled_interval(value, list(shown.values()), config.confidence), coverage)
    return Band(chosen, value, band_interval({level: drawn(level) for level in shown}, value, config), coverage)


def _generalizability(
    epsilon: float,
    rates: Mapping[int, Rate],
    kinds: Mapping[int, PassCounts],
    bands: Mapping[str, Sequence[int]],
    confidence: float,
) -> Generalizability:
    validate_epsilon(epsilon)
    levels = all_levels(rates, bands)
    value = held_level({level: rates[level].value if level in rates else None for level in levels}, epsilon)
    known = {level: effective_count(those) for level, those in kinds.items() if those}
    if value is None or not known:
        return Generalizability(epsilon, None, None, None)
    low, high = generalizability_interval({level: known.get(level) for level in levels}, epsilon, confidence)
    return Generalizability(epsilon, value, low, high)


def _reject_missing(tallies: Iterable[ItemTally]) -> None:
    items = list(tallies)
    expected, unscored = sum(each.expected for each in items), sum(each.expected - each.scored for each in items)
    if unscored:
        raise FormalimgError(
            f"{unscored} of {expected} images have no verdict: resume the run to get them, or choose to leave them "
            "out (missing: exclude) or to count them as failures (missing: fail)"
        )


class PointEstimates(NamedTuple):
    """Point estimates of a summary, without intervals."""

    levels: Mapping[int, float]
    overall: float | None
    bands: Mapping[str, float | None]
    generalizability: int | None


class MissingBounds(NamedTuple):
    """Results if all images without a verdict had failed, and if all had passed."""

    worst: PointEstimates
    best: PointEstimates


def missing_bounds(
    observations: Iterable[Observation], *, bands: Mapping[str, Sequence[int]], epsilon: float | None
) -> MissingBounds:
    """Return the range of the results over all possible values of the missing verdicts.

    Args:
        observations: one for each image that was to be scored.
        bands: groups of levels whose rates are averaged.
        epsilon: the rate to hold for G_ε; None to skip G_ε.

    Raises:
        FormalimgError: if an observation or an argument is invalid.
    """
    tallies = tally(observations)
    counts = {
        level: (
            sum(item.passed for item in items.values()),
            sum(item.scored for item in items.values()),
            sum(item.expected for item in items.values()),
        )
        for level, items in tallies.items()
    }
    worst = {level: (passed, expected) for level, (passed, _, expected) in counts.items()}
    best = {level: (passed + expected - scored, expected) for level, (passed, scored, expected) in counts.items()}
    return MissingBounds(_point_estimates(worst, bands, epsilon), _point_estimates(best, bands, epsilon))


def _point_estimates(
    counts: Mapping[int, tuple[int, int]], bands: Mapping[str, Sequence[int]], epsilon: float | None
) -> PointEstimates:
    rates = {level: passed / expected for level, (passed, expected) in counts.items()}
    images = sum(expected for _, expected in counts.values())
    held = None
    if epsilon is not None:
        levels = {level: rates.get(level) for level in all_levels(rates, bands)}
        held = held_level(levels, validate_epsilon(epsilon)) if rates else None
    return PointEstimates(
        rates,
        sum(passed for passed, _ in counts.values()) / images if images else None,
        {name: mean_of_levels(chosen, rates) for name, chosen in validate_bands(bands).items()},
        held,
    )
