"""Whether two kinds of scores rise and fall together."""

from __future__ import annotations

from collections.abc import Iterable
from math import atanh, fsum, inf, isfinite, sqrt, tanh
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.averaging import normal_width
from formalimg.stats.summary import Interval

_LINE = 1e-12
"""Correlations that are nearer to 1 than this are 1 but for rounding."""


class Correlation(NamedTuple):
    """Pearson's r.

    Attributes:
        value: r, from −1 to 1; None for fewer than three pairs, through which a line can always be drawn, and where all
            scores of one side are the same.
        interval: by Fisher's transformation; None for fewer than four pairs, for which it has no width, and where r
            is 1 or −1, for which it has none that is finite.
        n: how many pairs entered.
        left_out: how many did not, because a score is missing.
    """

    value: float | None
    interval: Interval | None
    n: int
    left_out: int


def pearson(pairs: Iterable[tuple[float | None, float | None]], confidence: float = 0.95) -> Correlation:
    """Pearson's correlation of two kinds of scores, with the interval of Fisher.

    Args:
        pairs: the two scores of each case; None where one is missing.
        confidence: of the interval.

    Raises:
        FormalimgError: if a score is no number, or this is no confidence.
    """
    width = normal_width(confidence)
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
