"""Confidence intervals of rates and means: exact (Clopper-Pearson), clustered by item, pooled, Jeffreys, normal.

Images of one item are correlated: four images of each of 200 items carry more information than 200 images, and less
than 800. The design effect is the number of images worth one independent image. `clustered_interval` takes the exact
interval of the counts divided by it, as Korn and Graubard do for surveys. With one image per item the design effect
is 1 and the interval is the plain one.

`pooled_interval` covers a mean of levels with too few items for the bootstrap, which learns next to nothing from two
items about unseen ones. The mean of several rates varies no more than the rate of as many trials that all have the
same chance (Hoeffding, 1956), so the exact interval of the pooled trials is safe, and rather too wide where the levels
differ.

`fraction_interval` is for means of values between 0 and 1, such as shares of concepts. Their variance is at most that
of yes and no with the same mean, so they are worth at least as many yes/no trials, whose exact interval it takes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from math import exp, expm1, fsum, inf, isfinite, lgamma, log, log1p, pi, sqrt
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.observations import Interval, PassCounts, total_counts

MIN_ITEMS_TO_RESAMPLE = 5  # With at least this many items per level, bootstrap intervals have their nominal coverage
_ROUNDING = 1e-13  # A standard error below this share of the values is rounding
_LOG_MIN_FLOAT = -745.0  # The logarithm of the smallest positive float
_NO_DISTANCE = 1e-30  # The square of a t statistic that is rounding
TOLERANCE = 1e-12  # How far rounding alone may put a rate below another; counts up to a million stay apart
_TINY = 1e-300  # Replaces a difference that rounding made 0, as for one success out of a hundred million


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Return the exact (Clopper-Pearson) interval of a rate, which never covers it less often than its confidence."""
    try:
        successes, n = operator.index(successes), operator.index(n)
    except TypeError:
        raise FormalimgError(f"{successes!r} of {n!r} are not counts: give whole numbers") from None
    if not (n > 0 and 0 <= successes <= n):
        raise FormalimgError(f"{successes} of {n} is not a rate: give at least one trial and no more successes")
    return binomial_interval(successes, n, validate_confidence(confidence))


def validate_confidence(confidence: float) -> float:
    """Return the confidence, and raise an error unless it is between 0 and 1."""
    if not 0 < confidence < 1:
        raise FormalimgError(f"the confidence {confidence!r} is not between 0 and 1: use 0.95 for 95 %")
    return confidence


def binomial_interval(successes: float, n: float, confidence: float) -> Interval:
    """Return the Clopper-Pearson interval of a rate, allowing fractional counts."""
    chance = (1 - confidence) / 2
    low = exp(_log_lower_limit(successes, n, chance)) if successes > 0 else 0.0
    # What succeeds is what does not fail, so the upper limit is the lower limit of the failures.
    high = -expm1(_log_lower_limit(n - successes, n, chance)) if successes < n else 1.0
    return Interval(low, high)


def log_binomial_tail(successes: float, n: float, log_p: float) -> float:
    """Return the log probability of `successes` or more successes out of `n`.

    Requires 0 < `successes` <= `n` and p <= `successes` / `n`.
    """
    if successes == n:
        return n * log_p
    return _log_probability(successes, n, log_p) + log(_evaluate_continued_fraction(successes, n, log_p))


def _log_lower_limit(successes: float, n: float, chance: float) -> float:
    """Return log p for which the probability of `successes` or more out of `n` equals `chance`.

    Uses Newton's method on logarithms, where the tail is nearly linear; a bracket prevents divergence.
    """
    if successes == n:
        return log(chance) / n
    below, above = _LOG_MIN_FLOAT, 0.0
    log_p = log(successes / max(n, successes + 0.5))
    for _ in range(200):
        continued = _evaluate_continued_fraction(successes, n, log_p)
        excess = _log_probability(successes, n, log_p) + log(continued) - log(chance)
        below, above = (below, log_p) if excess > 0 else (log_p, above)
        step = excess * continued / successes
        if abs(step) <= 1e-15 + 4e-16 * abs(log_p):
            return log_p - step
        log_p = log_p - step if below < log_p - step < above else (below + above) / 2
    return log_p


def _log_probability(successes: float, n: float, log_p: float) -> float:
    """Return the log probability of exactly `successes` successes, for 0 < `successes` < `n`.

    Uses deviations from the expected counts and the remainder of Stirling's formula, because differences of logarithms
    of factorials would lose six digits for a million trials.
    """
    failures, p, q = n - successes, exp(log_p), -expm1(log_p)
    if failures <= 0:  # half a failure less than none, which Jeffreys' interval of n out of n asks for
        factorials = lgamma(n + 1) - lgamma(successes + 1) - lgamma(failures + 1)
        return factorials + successes * log_p + failures * log(q)
    return (
        _stirling_error(n)
        - _stirling_error(successes)
        - _stirling_error(failures)
        + log(n / (2 * pi * successes * failures)) / 2
        - _binomial_deviance(successes, n * p)
        - _binomial_deviance(failures, n * q)
    )


def _binomial_deviance(count: float, expected: float) -> float:
    if expected == 0:  # so far out that the probability is below all floats
        return -count * _LOG_MIN_FLOAT
    ratio = (count - expected) / expected
    return expected * ((1 + ratio) * log1p(ratio) - ratio)


def _stirling_error(x: float) -> float:
    if x < 32:
        return lgamma(x + 1) - (x + 0.5) * log(x) + x - log(2 * pi) / 2
    square = x * x
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / x


def _evaluate_continued_fraction(successes: float, n: float, log_p: float) -> float:
    """Return P(`successes` or more) / P(exactly `successes`).

    Evaluates the continued fraction of the incomplete beta function from its front (Lentz's method).
    """
    p, failures = exp(log_p), n - successes
    numerators, denominators, value = inf, 1.0, 1.0
    for term in range(1, 100_000):
        half, odd = divmod(term, 2)
        if odd:
            step = -(successes + half) * (n + 1 + half) * p / ((successes + 2 * half) * (successes + 2 * half + 1))
        else:
            step = half * (failures + 1 - half) * p / ((successes + 2 * half - 1) * (successes + 2 * half))
        denominators = 1 / ((1 + step * denominators) or _TINY)
        numerators = 1 + step / numerators
        change = numerators * denominators
        value *= change
        if abs(change - 1) < 4e-16:
            break
    return value * -expm1(log_p)


def jeffreys_interval(passed: float, n: float, confidence: float) -> Interval:
    """Return the Jeffreys interval of a rate, allowing fractional counts.

    It has its nominal coverage on average over rates, whereas Clopper-Pearson has at least this coverage at each rate.
    Use it for the terms of a sum, whose errors average out. Without trials it is 0 to 1.
    """
    if n <= 0:
        return Interval(0.0, 1.0)
    chance = (1 - confidence) / 2
    low = exp(_log_lower_limit(passed + 0.5, n, chance)) if passed > 0 else 0.0
    high = -expm1(_log_lower_limit(n - passed + 0.5, n, chance)) if passed < n else 1.0
    return Interval(min(low, passed / n), max(high, passed / n))


@lru_cache(maxsize=4096)
def student_quantile(confidence: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's t, such as 2.06 for 95 % and 25 degrees of freedom."""
    # (freedom / (freedom + t^2)) has a beta distribution.
    share = exp(_log_lower_limit(freedom / 2, (freedom - 1) / 2, 1 - validate_confidence(confidence)))
    return sqrt(freedom * (1 - share) / share)


def student_p(t: float, freedom: float) -> float:
    """Return the two-sided p-value of a t statistic."""
    square = t * t
    if square < _NO_DISTANCE:
        return 1.0
    if square < 1:  # the other tail, whose fraction converges here
        return -expm1(log_binomial_tail(1 / 2, (freedom - 1) / 2, log(square) - log(freedom + square)))
    return exp(log_binomial_tail(freedom / 2, (freedom - 1) / 2, -log1p(square / freedom)))


class EffectiveCount(NamedTuple):
    """The numbers of passed and counted images, divided by the design effect."""

    passed: float
    counted: float


def item_clustered_interval(kinds: PassCounts, confidence: float) -> Interval:
    """Return the exact interval of a rate, clustered by item using effective counts."""
    return binomial_interval(*effective_count(kinds), confidence)


def effective_count(kinds: PassCounts) -> EffectiveCount:
    """Return the counts divided by the design effect."""
    effect = design_effect(kinds)
    return EffectiveCount(*(count / effect for count in total_counts(kinds)))


def design_effect(kinds: PassCounts) -> float:
    """Return the design effect of clustering, from 1 to the largest number of images per item.

    It is the variance of the rate when items are drawn, divided by the variance when single images are drawn. Two
    imagined items, one that always passes and one that always fails, are added, because items that all fail do not show
    how alike images are; they are then assumed to be quite alike.
    """
    if all(kind.counted == 1 for kind in kinds):
        return 1.0
    passed, counted = total_counts(kinds)
    pseudo_images = counted / sum(kinds.values())
    images = counted + 2 * pseudo_images
    rate = (passed + pseudo_images) / images
    spread = (pseudo_images * (1 - rate)) ** 2 + (pseudo_images * rate) ** 2
    spread += sum(items * (kind.passed - kind.counted * rate) ** 2 for kind, items in kinds.items())
    return max(1.0, spread / (images * rate * (1 - rate)))


def effective_items(kinds: PassCounts) -> float:
    """Return the effective number of items, which is the actual number if all have equally many images."""
    _, counted = total_counts(kinds)
    return counted**2 / sum(items * kind.counted**2 for kind, items in kinds.items())


def interval_of_pooled_levels(mean: float, levels: Sequence[PassCounts], confidence: float) -> Interval:
    """Return the exact interval of a mean rate, treating all levels as small as the smallest one.

    All images of an item count as one, because few items do not show how alike their images are.
    """
    tries = len(levels) * min(map(effective_items, levels))
    return binomial_interval(mean * tries, tries, confidence)


def mean_interval(
    values: Iterable[float], confidence: float = 0.95, *, items: Sequence[Hashable] | None = None
) -> Interval | None:
    """Return the normal confidence interval of a mean, such as the mean share of concepts shown.

    The values may be anything, so nothing keeps the interval between 0 and 1. Return None where the spread cannot be
    estimated: for fewer than two values or items, and where all of them are the same. The normal interval would have
    no width then, and claim a certainty that equal values do not give.
    """
    measured = [float(value) for value in values]
    if not all(map(isfinite, measured)):
        raise FormalimgError("a mean can be taken of numbers only: leave out what was not measured")
    names = _value_items(measured, items)
    width = normal_quantile(confidence)
    if len(set(names)) < 2:
        return None
    mean = fsum(measured) / len(measured)
    # The mean moves by the sum of what an item's values are apart from it; with one value each this is sd / sqrt(n).
    count = len(set(names))
    error = sqrt(_sum_clustered_squares(measured, names, mean) * count / (count - 1)) / len(measured)
    if error <= _ROUNDING * max(map(abs, measured)):
        return None
    return Interval(mean - width * error, mean + width * error)


def fraction_interval(
    values: Iterable[float], confidence: float = 0.95, *, items: Sequence[Hashable] | None = None
) -> Interval | None:
    """Return the confidence interval of the mean of values between 0 and 1, or None if there are no values.

    It is the exact interval of as many yes/no trials as the values are worth, by their variance. Two imagined items,
    one all 0 and one all 1, are added, as for `design_effect`, because values that are all the same do not show how
    much others differ. For values of 0 and 1 it is the interval of Clopper and Pearson.
    """
    validate_confidence(confidence)
    measured = [float(value) for value in values]
    if not all(0 <= value <= 1 for value in measured):
        raise FormalimgError("a fraction lies between 0 and 1: leave out what was not measured")
    names = _value_items(measured, items)
    if not measured:
        return None
    total, n = fsum(measured), len(measured)
    imagined = n / len(set(names))
    mean = (total + imagined) / (n + 2 * imagined)
    spread = imagined**2 * (mean**2 + (1 - mean) ** 2) + _sum_clustered_squares(measured, names, mean)
    trials = n * (n + 2 * imagined) * mean * (1 - mean) / spread
    return binomial_interval(min(total / n, 1.0) * trials, trials, confidence)


def _value_items(values: Sequence[float], items: Sequence[Hashable] | None) -> Sequence[Hashable]:
    if items is not None and len(items) != len(values):
        raise FormalimgError(f"{len(values)} values belong to {len(items)} items: name an item for each value")
    return range(len(values)) if items is None else items


def _sum_clustered_squares(values: Sequence[float], names: Sequence[Hashable], mean: float) -> float:
    apart: dict[Hashable, float] = {}
    for name, value in zip(names, values, strict=True):
        apart[name] = apart.get(name, 0.0) + value - mean
    return fsum(deviation * deviation for deviation in apart.values())


def find_smallest(is_enough: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest sufficient number between `low` and `high` by bisection, or `high` if there is none."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def normal_quantile(confidence: float) -> float:
    """Return the two-sided quantile of the normal distribution, such as 1.96 for 95 %."""
    from statistics import NormalDist  # here, because it takes long to load

    return NormalDist().inv_cdf((1 + validate_confidence(confidence)) / 2)


class BootstrapConfig(NamedTuple):
    """The confidence, number of resamples and seed of a bootstrap."""

    confidence: float
    resamples: int
    seed: int


def bootstrap_config(confidence: float, resamples: int, seed: int) -> BootstrapConfig:
    """Return a validated bootstrap configuration."""
    validate_confidence(confidence)
    if resamples * (1 - confidence) < 2 - TOLERANCE:
        raise FormalimgError(f"{resamples} resamples are too few for a confidence of {confidence}: use 2000")
    if seed < 0:
        raise FormalimgError(f"the seed {seed} is negative: use 0 or more")
    return BootstrapConfig(confidence, resamples, seed)
