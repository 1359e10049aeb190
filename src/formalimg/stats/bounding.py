"""What the numbers could be if the missing verdicts were known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from formalimg.stats.generalizing import checked_epsilon, held_level
from formalimg.stats.summarizing import all_levels, checked_bands, mean_of_levels
from formalimg.stats.summary import Observation
from formalimg.stats.tallying import tally


class Figures(NamedTuple):
    """The values of a summary without their intervals."""

    levels: Mapping[int, float]
    overall: float | None
    bands: Mapping[str, float | None]
    generalizability: int | None


class Bounds(NamedTuple):
    """The numbers if all images without a verdict had failed, and if all had passed."""

    worst: Figures
    best: Figures


def missing_bounds(
    observations: Iterable[Observation], *, bands: Mapping[str, Sequence[int]], epsilon: float | None
) -> Bounds:
    """Between which values the numbers of a run must lie, whatever the missing verdicts would have been.

    Args:
        observations: one for each image that was to be scored.
        bands: groups of levels whose rates are averaged.
        epsilon: the rate to hold for G_ε; None for no such number.

    Raises:
        FormalimgError: if an observation or an argument makes no sense.
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
    return Bounds(_figures(worst, bands, epsilon), _figures(best, bands, epsilon))


def _figures(
    counts: Mapping[int, tuple[int, int]], bands: Mapping[str, Sequence[int]], epsilon: float | None
) -> Figures:
    rates = {level: passed / expected for level, (passed, expected) in counts.items()}
    images = sum(expected for _, expected in counts.values())
    held = None
    if epsilon is not None:
        levels = {level: rates.get(level) for level in all_levels(rates, bands)}
        held = held_level(levels, checked_epsilon(epsilon)) if rates else None
    return Figures(
        rates,
        sum(passed for passed, _ in counts.values()) / images if images else None,
        {name: mean_of_levels(chosen, rates) for name, chosen in checked_bands(bands).items()},
        held,
    )
