"""Correlation of scores and agreement of rankings: Pearson's r and Spearman's rho, with Fisher confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import atanh, fsum, inf, isfinite, sqrt, tanh
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import normal_quantile
from formalimg.stats.observations import Interval

_LINE = 1e-12
"""Correlations nearer to 1 than this are 1 up to rounding."""


class Correlation(NamedTuple):
    """A correlation coefficient with its confidence interval.

    Attributes:
        value: the coefficient, from −1 to 1; None for fewer than three pairs, and where all scores of one side are
            the same.
        interval: by Fisher's transformation; None for fewer than four pairs, for which it has no width, and where r
            is 1 or −1, for which it has none that is finite.
        n: number of pairs that entered.
        left_out: number of pairs left out because a score is missing.
    """

    value: float | None
    interval: Interval | None
    n: int
    left_out: int


def pearson(pairs: Iterable[tuple[float | None, float | None]], confidence: float = 0.95) -> Correlation:
    """Return Pearson's correlation of paired scores, with Fisher's confidence interval.

    Args:
        pairs: the two scores of each case; None where one is missing.
        confidence: of the interval.

    Raises:
        FormalimgError: if a score is not a number, or the confidence is invalid.
    """
    width = normal_quantile(confidence)
    given = list(pairs)
    both = [(float(one), float(other)) for one, other in given if one is not None and other is not None]
    if not all(isfinite(score) for pair in both for score in pair):
        raise FormalimgError("a correlation can be taken of numbers only: give None where a score is missing")
    n, left_out = len(both), len(given) - len(both)
    r = _r(both)
    if r is None:
        return Correlation(None, None, n, left_out)
    if n < 4 or 1 - abs(r) < _LINE:
        return Correlation(r, None, n, left_out)
    reach = width / sqrt(n - 3)
    return Correlation(r, Interval(tanh(atanh(r) - reach), tanh(atanh(r) + reach)), n, left_out)


def _r(both: list[tuple[float, float]]) -> float | None:
    if len(both) < 3 or any(len(set(side)) < 2 for side in zip(*both, strict=True)):
        return None
    middle, other_middle = (fsum(side) / len(side) for side in zip(*both, strict=True))
    apart = [(one - middle, other - other_middle) for one, other in both]
    spread = sqrt(fsum(one * one for one, _ in apart)) * sqrt(fsum(other * other for _, other in apart))
    if not 0 < spread < inf:  # differences that are too small or too large for floats
        return None
    return max(-1.0, min(1.0, fsum(one * other for one, other in apart) / spread))


class RankAgreement(NamedTuple):
    """Rank correlation of two scorings of the same models, level by level.

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
    """Return the rank of each value, from 1 for the smallest; equal values share the mean of their ranks."""
    order = sorted(values)
    below: dict[float, int] = {}
    for number, value in enumerate(order):
        below.setdefault(value, number)
    up_to = {value: number for number, value in enumerate(order, 1)}
    return [(below[value] + 1 + up_to[value]) / 2 for value in values]


def spearman(pairs: Iterable[tuple[float | None, float | None]], confidence: float = 0.95) -> Correlation:
    """Return Spearman's rank correlation: Pearson's correlation of the ranks, with mean ranks for ties.

    The interval is that of Fisher's transformation with the variance (1 + ρ²/2) / (n − 3) of Bonett and Wright. It is
    None for fewer than four pairs, and where the rankings are the same or opposite; the correlation itself is None for
    fewer than three pairs, and where all scores of one side are the same.

    Args:
        pairs: the two scores of each case; None where one is missing. Such cases are left out before ranking, and
            counted.
        confidence: of the interval.

    Raises:
        FormalimgError: if a score is not a number, or the confidence is invalid.
    """
    width = normal_quantile(confidence)
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
    """Return how well two scorings rank models alike, per level and on average, as in FormalImg (3.3).

    Args:
        levels: for each level the two scores of each model, such as its rate by people and by the judge; None where
            one is missing.
        confidence: of the intervals.

    Raises:
        FormalimgError: if a score is not a number, or the confidence is invalid.
    """
    by_level = {level: spearman(pairs, confidence) for level, pairs in sorted(levels.items())}
    known = [found.value for found in by_level.values() if found.value is not None]
    mean = fsum(known) / len(known) if known else None
    return RankAgreement(by_level, mean, len(known), len(by_level) - len(known))
