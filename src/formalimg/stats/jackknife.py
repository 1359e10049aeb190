"""The jackknife: confidence intervals of correlations and of kappa, by leaving out one item at a time.

An item is left out with all its cases, so that the interval is as wide as clustering demands. Limits are taken on
Fisher's scale, where a correlation varies about as much near 1 as near 0, with Student's t for few items. Where answers
are yes or no, perfect agreement varies nowhere; half an unseen item of each kind that speaks against the value is then
added for each limit (`unseen_limits`), as the bootstrap of rates draws an unseen item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import atanh, fsum, sqrt, tanh
from typing import NamedTuple

from formalimg.stats.intervals import student_quantile
from formalimg.stats.observations import Interval

MIN_ITEMS = 4
"""Fewer items give no interval of a correlation: three points are nearly always on some line."""

UNSEEN = 0.5
"""The weight of an unseen item; with it, simulated intervals held the truth from twenty items on."""

_LAST_BELOW_ONE = 1 - 1e-6
"""Nearer to 1 than this, Fisher's scale would make one item out of few decide everything."""

_LINE = 1e-12
"""Correlations nearer to 1 than this are 1 up to rounding."""


class WithoutItem(NamedTuple):
    """A statistic without one item (None: undefined), and how many items there are of which this is so."""

    value: float | None
    items: int


def jackknife_limit(
    value: float, without: Iterable[WithoutItem], degrees: int, confidence: float, *, upper: bool
) -> float:
    """Return one limit of a correlation."""
    transformed = [(_fisher_z(estimate.value or 0.0), estimate.items) for estimate in without]
    items = sum(times for _, times in transformed)
    middle = fsum(z * times for z, times in transformed) / items
    spread = fsum(times * (z - middle) ** 2 for z, times in transformed)
    reach = student_quantile(confidence, max(1, degrees)) * sqrt(spread * (items - 1) / items)
    return tanh(_fisher_z(value) + (reach if upper else -reach))


def jackknife_interval(
    value: float, without: Iterable[WithoutItem], degrees: int, confidence: float
) -> Interval | None:
    """Return the interval of a correlation; None where leaving out items changes nothing, as where it is 1 or −1."""
    estimates = list(without)
    low, high = (jackknife_limit(value, estimates, degrees, confidence, upper=upper) for upper in (False, True))
    return Interval(min(low, value), max(high, value)) if low < high and 1 - abs(value) >= _LINE else None


def unseen_limits(value: float, limit: Callable[[bool], float]) -> Interval:
    """Return the interval from the limits of a statistic of yes and no."""
    return Interval(max(-1.0, min(limit(False), value)), min(1.0, max(limit(True), value)))


def _fisher_z(value: float) -> float:
    return atanh(max(-_LAST_BELOW_ONE, min(_LAST_BELOW_ONE, value)))
