"""Paired comparison of two runs, item by item: mean difference with a bootstrap interval, and a permutation test.

The permutation test is the exact sign test; with one image per item it is McNemar's test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import exp, log
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import BootstrapConfig, bootstrap_config, difference_interval
from formalimg.stats.cfworld_scores import ScoreObservation, validate_score
from formalimg.stats.intervals import log_binomial_tail
from formalimg.stats.observations import Interval, ItemTally, Observation, tally


class PairedComparison(NamedTuple):
    """How two runs differ on the items that both have verdicts for.

    Attributes:
        wins: items that the first does better than the second.
        losses: items that the second does better than the first.
        ties: items that both do equally well.
        difference: the mean over these items of the first's rate minus the second's; None if there is no such item.
        interval: its bootstrap interval.
        p_value: the chance of wins and losses at least as uneven as these if neither run is better; None if there is
            no such item.
        only_first: items with a verdict in the first run only.
        only_second: items with a verdict in the second run only.
        unscored: items with a verdict in neither.
    """

    wins: int
    losses: int
    ties: int
    difference: float | None
    interval: Interval | None
    p_value: float | None
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    unscored: tuple[str, ...]


def compare_paired(
    first: Iterable[Observation],
    second: Iterable[Observation],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> PairedComparison:
    """Compare two runs item by item.

    An item with several images counts once, by the share of its scored images that passed. Items without a verdict
    on both sides take no part in the comparison; they are named instead.

    Args:
        first: the observations of one run.
        second: the observations of the other.
        confidence: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.

    Raises:
        FormalimgError: if an item is at different levels in the two runs, or an observation is invalid.
    """
    config = bootstrap_config(confidence, resamples, seed)
    here, there = _by_item(first), _by_item(second)
    names = sorted({*here, *there})
    for name in names:
        if name in here and name in there and here[name][0] != there[name][0]:
            raise FormalimgError(
                f"item {name!r} is at level {here[name][0]} in one run and at level {there[name][0]} in the other: "
                "compare runs over the same items"
            )
    return _comparison({name: (_share(here.get(name)), _share(there.get(name))) for name in names}, config)


def compare_paired_scores(
    first: Iterable[ScoreObservation],
    second: Iterable[ScoreObservation],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> PairedComparison:
    """Compare the scores of two runs group by group, as `compare_paired` compares items.

    A group counts once, by the mean over its levels that have a score in both runs; a level with several images
    counts once too. The names in what is found are those of groups.

    Args:
        first: the scores in one run.
        second: the scores in the other.
        confidence: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.

    Raises:
        FormalimgError: if a score is not between 0 and 1.
    """
    config = bootstrap_config(confidence, resamples, seed)
    here, there = _level_means(first), _level_means(second)
    return _comparison(
        {name: _means(here.get(name, {}), there.get(name, {})) for name in sorted({*here, *there})}, config
    )


def _comparison(
    rates: Mapping[str, tuple[Fraction | None, Fraction | None]], config: BootstrapConfig
) -> PairedComparison:
    differences = [one - other for one, other in rates.values() if one is not None and other is not None]
    wins, losses = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    difference, interval = None, None
    if differences:
        difference = float(sum(differences) / len(differences))
        counts = {float(each): n for each, n in sorted(Counter(differences).items())}
        interval = difference_interval(counts, difference, config)
    return PairedComparison(
        wins,
        losses,
        len(differences) - wins - losses,
        difference,
        interval,
        _sign_test(wins, losses) if differences else None,
        tuple(name for name, (one, other) in rates.items() if one is not None and other is None),
        tuple(name for name, (one, other) in rates.items() if one is None and other is not None),
        tuple(name for name, (one, other) in rates.items() if one is None and other is None),
    )


def _level_means(observations: Iterable[ScoreObservation]) -> dict[str, dict[int, Fraction]]:
    """Return the exact mean score of each level, by group; levels without a score are left out."""
    scores: dict[str, dict[int, list[Fraction]]] = {}
    for group, level, _, score in observations:
        levels = scores.setdefault(group, {})
        if score is not None:
            levels.setdefault(level, []).append(Fraction(validate_score(score)))
    return {group: {level: _mean(scored) for level, scored in levels.items()} for group, levels in scores.items()}


def _means(here: Mapping[int, Fraction], there: Mapping[int, Fraction]) -> tuple[Fraction | None, Fraction | None]:
    """Return the means over the levels that both have; over one side's own where the other has none of them."""
    both = here.keys() & there.keys()
    one, other = ([side[level] for level in (both or side)] for side in (here, there))
    if not both and here and there:  # nothing to compare, so neither counts
        return None, None
    return _mean(one) if one else None, _mean(other) if other else None


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction()) / len(values)


def _by_item(observations: Iterable[Observation]) -> dict[str, tuple[int, ItemTally]]:
    return {item: (level, counts) for level, items in tally(observations).items() for item, counts in items.items()}


def _share(item: tuple[int, ItemTally] | None) -> Fraction | None:
    return Fraction(item[1].passed, item[1].scored) if item and item[1].scored else None


def _sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p-value of the exact sign test (a permutation test)."""
    if wins == losses:
        return 1.0
    return min(1.0, 2 * exp(log_binomial_tail(max(wins, losses), wins + losses, log(0.5))))
