"""Rates and means as ConceptMix prints them: a figure and what is to be added and taken away."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import fsum, isfinite, sqrt

from formalimg.errors import FormalimgError
from formalimg.stats.binomial import checked_confidence, clopper_pearson
from formalimg.stats.summary import Interval

_ROUNDING = 1e-13
"""An error that is smaller than this share of the values is none but for rounding."""


def largest_side(successes: int, n: int, confidence: float = 0.95) -> float:
    """The ± of a rate as ConceptMix prints it: the larger side of the exact interval.

    Args:
        successes: how many of `n` succeeded.
        n: how many were tried, at least 1.
        confidence: of the interval.

    Raises:
        FormalimgError: if these are not counts, or not a confidence.
    """
    low, high = clopper_pearson(successes, n, confidence)
    return max(successes / n - low, high - successes / n)


def mean_interval(
    values: Iterable[float], confidence: float = 0.95, *, items: Sequence[Hashable] | None = None
) -> Interval | None:
    """The normal interval of a mean, such as that of the share of concepts that images show.

    The values may be anything, so nothing keeps the interval between 0 and 1. None is given back where the spread
    cannot be told: for fewer than two values or items, and where all of them are the same. The normal interval would
    have no width then, and claim a certainty that equal values do not give.

    Args:
        values: what was measured.
        confidence: how often the interval should hold the true mean, between 0 and 1.
        items: for each value the item it belongs to, where items have several values. Values of one item are alike,
            and the interval is as wide as that demands. None if each value stands for itself.

    Raises:
        FormalimgError: if a value is no number, or this is no confidence.
    """
    measured = [float(value) for value in values]
    if not all(map(isfinite, measured)):
        raise FormalimgError("a mean can be taken of numbers only: leave out what was not measured")
    if items is not None and len(items) != len(measured):
        raise FormalimgError(f"{len(measured)} values belong to {len(items)} items: name an item for each value")
    width = normal_width(confidence)
    names: Sequence[Hashable] = range(len(measured)) if items is None else items
    if len(set(names)) < 2:
        return None
    mean = fsum(measured) / len(measured)
    apart: dict[Hashable, float] = {}
    for name, value in zip(names, measured, strict=True):
        apart[name] = apart.get(name, 0.0) + value - mean
    # The mean moves by the sum of what an item's values are apart from it; with one value each this is sd / sqrt(n).
    error = sqrt(fsum(each * each for each in apart.values()) * len(apart) / (len(apart) - 1)) / len(measured)
    if error <= _ROUNDING * max(map(abs, measured)):
        return None
    return Interval(mean - width * error, mean + width * error)


def normal_width(confidence: float) -> float:
    """So many standard errors on either side make a normal interval of this confidence: 1.96 for 95 %."""
    from statistics import NormalDist  # here, because it takes long to load

    return NormalDist().inv_cdf((1 + checked_confidence(confidence)) / 2)
