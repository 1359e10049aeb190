"""Whether two rank the same objects alike: Spearman's correlation, also level by level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import atanh, fsum, isfinite, sqrt, tanh
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.averaging import normal_width
from formalimg.stats.correlating import Correlation, pearson
from formalimg.stats.summary import Interval


class RankAgreement(NamedTuple):
    """How alike two rank models, level by level.

    Attributes:
        by_level: Spearman's correlation at each level.
        mean: the mean of those that are defined, each level weighing the same; None if none is.
        levels: how many levels the mean is of.
        left_out: at how many levels there is none, because there are fewer than three models or all are scored the
            same.
    """

    by_level: Mapping[int, Correlation]
    mean: float | None
    levels: int
    left_out: int


def average_ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 1, the smallest; equal values share the mean of their ranks."""
    order = sorted(values)
    below: dict[float, int] = {}
    for number, value in enumerate(order):
        below.setdefault(value, number)
    up_to = {value: number for number, value in enumerate(order, 1)}
    return [(below[value] + 1 + up_to[value]) / 2 for value in values]


def spearman(pairs: Iterable[tuple[float | None, float | None]], confidence: float = 0.95) -> Correlation:
    """Spearman's rank correlation: Pearson's of the ranks, of which equal scores share the mean.

    The interval is that of Fisher's transformation with the variance (1 + ρ²/2) / (n − 3) of Bonett and Wright. It is
    None for fewer than four pairs, and where the rankings are the same or opposite; the correlation itself is None for
    fewer than three pairs, and where all scores of one side are the same.

    Args:
        pairs: the two scores of each case; None where one is missing. Such cases are left out before ranking, and
            counted.
        confidence: of the interval.

    Raises:
        FormalimgError: if a score is no number, or this is no confidence.
    """
    width = normal_width(confidence)
    given = list(pairs)
    both = [(float(one), float(other)) for one, other in given if one is not None and other is not None]
    if not all(isfinite(score) for pair in both for score in pair):
        raise FormalimgError("only numbers can be ranked: give None where a score is missing")
    ranked = [average_ranks(side) for side in zip(*both, strict=True)]
    found = pearson(list(zip(*ranked, strict=True)), confidence)
    left_out = len(given) - len(both)
    if found.value is None or found.interval is None:
        return Correlation(found.value, None, len(both), left_out)
    middle, reach = atanh(found.value), width * sqrt((1 + found.value**2 / 2) / (len(both) - 3))
    return Correlation(found.value, Interval(tanh(middle - reach), tanh(middle + reach)), len(both), left_out)


def rank_agreement(
    levels: Mapping[int, Iterable[tuple[float | None, float | None]]], confidence: float = 0.95
) -> RankAgreement:
    """How alike two rank models at each level, and on average, as FormalImg tells of people and its judge (3.3).

    Args:
        levels: for each level the two scores of each model, such as its rate by people and by the judge; None where
            one is missing.
        confidence: of the intervals.

    Raises:
        FormalimgError: if a score is no number, or this is no confidence.
    """
    by_level = {level: spearman(pairs, confidence) for level, pairs in sorted(levels.items())}
    known = [found.value for found in by_level.values() if found.value is not None]
    mean = fsum(known) / len(known) if known else None
    return RankAgreement(by_level, mean, len(known), len(by_level) - len(known))
