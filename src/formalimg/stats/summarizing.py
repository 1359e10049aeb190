"""From observations to the numbers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from formalimg.errors import FormalimgError
from formalimg.stats.binomial import checked_confidence
from formalimg.stats.clustering import clustered_interval, worth
from formalimg.stats.few_items import ENOUGH, pooled_interval, worth_in_items
from formalimg.stats.generalizing import checked_epsilon, held_level
from formalimg.stats.held_interval import held_interval
from formalimg.stats.resampling import Resampling, checked_resampling, draw_level, mean_interval
from formalimg.stats.summary import Band, Generalizability, Interval, Missing, Observation, Rate, Summary
from formalimg.stats.tallying import ItemTally, Outcomes, outcomes, tally, total


def summarize(
    observations: Iterable[Observation],
    *,
    bands: Mapping[str, Sequence[int]],
    epsilon: float | None,
    missing: Missing = "exclude",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Summary:
    """All numbers of a run.

    Args:
        observations: one for each image that was to be scored, in any order; several for one item are its samples.
        bands: groups of levels whose rates are averaged, as in `Suite.bands`.
        epsilon: the rate to hold for G_ε; None for no such number.
        missing: what is done with images that have no verdict.
        confidence: of all intervals.
        resamples: how often bands are resampled for their intervals.
        seed: of the resampling. The same observations and seed give the same numbers.

    Raises:
        FormalimgError: if an observation or an argument makes no sense, or if a verdict is missing and `missing` is
            "error".
    """
    checked_missing(missing)
    how = checked_resampling(checked_confidence(confidence), resamples, seed)
    tallies = tally(observations)
    everything = [each for items in tallies.values() for each in items.values()]
    if missing == "error":
        _refuse_missing(everything)
    levels = {level: _rate(items.values(), missing, confidence) for level, items in tallies.items()}
    kinds = {level: outcomes(items.values(), missing) for level, items in tallies.items()}
    return Summary(
        levels,
        _rate(everything, missing, confidence),
        {name: _band(chosen, levels, kinds, how) for name, chosen in checked_bands(bands).items()},
        None if epsilon is None else _generalizability(epsilon, levels, kinds, checked_bands(bands), confidence),
        missing,
        confidence,
    )


def checked_missing(missing: str) -> None:
    """Refuses what is no rule for missing verdicts."""
    if missing not in get_args(Missing):
        raise FormalimgError(f"unknown rule {missing!r} for missing verdicts: use {', '.join(get_args(Missing))}")


def checked_bands(bands: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """The bands, if each has levels and none twice."""
    for name, levels in bands.items():
        if not levels or len(set(levels)) < len(levels):
            raise FormalimgError(f"the band {name!r} has the levels {list(levels)}: give at least one, and none twice")
    return {name: tuple(levels) for name, levels in bands.items()}


def mean_of_levels(levels: Iterable[int], values: Mapping[int, float | None]) -> float | None:
    """The mean of the rates of these levels; None where one of them has none."""
    rates = [values.get(level) for level in levels]
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if len(known) == len(rates) else None


def all_levels(observed: Iterable[int], bands: Mapping[str, Sequence[int]]) -> range:
    """Every level from the lowest to the highest that was observed or belongs to a band."""
    known = {*observed, *(level for levels in bands.values() for level in levels)}
    return range(min(known), max(known) + 1) if known else range(0)


def _rate(tallies: Iterable[ItemTally], missing: Missing, confidence: float) -> Rate:
    items = list(tallies)
    kinds = outcomes(items, missing)
    passed, counted = total(kinds)
    return Rate(
        sum(item.passed for item in items),
        sum(item.scored for item in items),
        sum(item.expected for item in items),
        passed / counted if counted else None,
        clustered_interval(kinds, confidence) if counted else None,
    )


def _band(chosen: tuple[int, ...], rates: Mapping[int, Rate], kinds: Mapping[int, Outcomes], how: Resampling) -> Band:
    value = mean_of_levels(chosen, {level: rate.value for level, rate in rates.items()})
    present = [rates[level] for level in chosen if level in rates]
    expected = sum(rate.expected for rate in present)
    coverage = sum(rate.scored for rate in present) / expected if expected else 0.0
    if value is None:
        return Band(chosen, None, None, coverage)
    shown = {level: kinds[level] for level in chosen}
    if min(map(worth_in_items, shown.values())) < ENOUGH:
        return Band(chosen, value, pooled_interval(value, list(shown.values()), how.confidence), coverage)
    low, high = mean_interval({level: draw_level(level, those, how) for level, those in shown.items()}, how)
    return Band(chosen, value, Interval(min(low, value), max(high, value)), coverage)


def _generalizability(
    epsilon: float,
    rates: Mapping[int, Rate],
    kinds: Mapping[int, Outcomes],
    bands: Mapping[str, Sequence[int]],
    confidence: float,
) -> Generalizability:
    checked_epsilon(epsilon)
    levels = all_levels(rates, bands)
    value = held_level({level: rates[level].value if level in rates else None for level in levels}, epsilon)
    known = {level: worth(those) for level, those in kinds.items() if those}
    if value is None or not known:
        return Generalizability(epsilon, None, None, None)
    low, high = held_interval({level: known.get(level) for level in levels}, epsilon, confidence)
    return Generalizability(epsilon, value, low, high)


def _refuse_missing(tallies: Iterable[ItemTally]) -> None:
    items = list(tallies)
    expected, unscored = sum(each.expected for each in items), sum(each.expected - each.scored for each in items)
    if unscored:
        raise FormalimgError(
            f"{unscored} of {expected} images have no verdict: resume the run to get them, or choose to leave them "
            "out (missing: exclude) or to count them as failures (missing: fail)"
        )
