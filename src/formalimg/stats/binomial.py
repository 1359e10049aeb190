"""The exact interval of a rate, after Clopper and Pearson."""

from __future__ import annotations

import operator
from math import exp, expm1, inf, lgamma, log, log1p, pi

from formalimg.errors import FormalimgError
from formalimg.stats.summary import Interval

_NEVER = -745.0
"""The logarithm of the smallest probability that a float can hold."""

_TINY = 1e-300
"""Stands for a difference that rounding has made 0, as for one success out of a hundred million."""


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact confidence interval of a rate: it never covers the true rate less often than it says.

    Args:
        successes: how many of `n` succeeded.
        n: how many were tried, at least 1.
        confidence: how often the interval should cover the true rate, between 0 and 1.

    Raises:
        FormalimgError: if these are not counts, or not a confidence.
    """
    try:
        successes, n = operator.index(successes), operator.index(n)
    except TypeError:
        raise FormalimgError(f"{successes!r} of {n!r} are not counts: give whole numbers") from None
    if not (n > 0 and 0 <= successes <= n):
        raise FormalimgError(f"{successes} of {n} is no rate: there must be at least one try, and no more successes")
    return binomial_interval(successes, n, checked_confidence(confidence))


def checked_confidence(confidence: float) -> float:
    """The confidence, if it is one."""
    if not 0 < confidence < 1:
        raise FormalimgError(f"the confidence {confidence!r} does not lie between 0 and 1: use 0.95 for 95 %")
    return confidence


def binomial_interval(successes: float, n: float, confidence: float) -> Interval:
    """The interval of Clopper and Pearson, also for the fractions of tries that weighing leaves."""
    chance = (1 - confidence) / 2
    low = exp(_log_lower_limit(successes, n, chance)) if successes > 0 else 0.0
    # What succeeds is what does not fail, so the upper limit is the lower limit of the failures.
    high = -expm1(_log_lower_limit(n - successes, n, chance)) if successes < n else 1.0
    return Interval(low, high)


def log_tail(least: float, n: float, log_p: float) -> float:
    """The logarithm of the probability of `least` or more successes, for 0 < `least` <= `n` and p <= `least` / `n`."""
    if least == n:
        return n * log_p
    return _log_probability(least, n, log_p) + log(_continued(least, n, log_p))


def _log_lower_limit(successes: float, n: float, chance: float) -> float:
    """The logarithm of the p at which `successes` or more out of `n` have this chance.

    Newton's steps on logarithms, where the tail is nearly a line; the bracket keeps them from leaving.
    """
    if successes == n:
        return log(chance) / n
    below, above = _NEVER, log(successes / n)
    log_p = above
    for _ in range(200):
        continued = _continued(successes, n, log_p)
        excess = _log_probability(successes, n, log_p) + log(continued) - log(chance)
        below, above = (below, log_p) if excess > 0 else (log_p, above)
        step = excess * continued / successes
        if abs(step) <= 1e-15 + 4e-16 * abs(log_p):
            return log_p - step
        log_p = log_p - step if below < log_p - step < above else (below + above) / 2
    return log_p


def _log_probability(successes: float, n: float, log_p: float) -> float:
    """The logarithm of the probability of exactly so many successes, for 0 < `successes` < `n`.

    Written with distances from the expected counts and with what Stirling's formula leaves, because differences of
    logarithms of factorials would cost six digits for a million tries.
    """
    failures, p, q = n - successes, exp(log_p), -expm1(log_p)
    return (
        _stirling_rest(n)
        - _stirling_rest(successes)
        - _stirling_rest(failures)
        + log(n / (2 * pi * successes * failures)) / 2
        - _distance(successes, n * p)
        - _distance(failures, n * q)
    )


def _distance(count: float, expected: float) -> float:
    if expected == 0:  # so far out that the probability is below all floats
        return -count * _NEVER
    ratio = (count - expected) / expected
    return expected * ((1 + ratio) * log1p(ratio) - ratio)


def _stirling_rest(x: float) -> float:
    """What Stirling's formula leaves of the logarithm of x!."""
    if x < 32:
        return lgamma(x + 1) - (x + 0.5) * log(x) + x - log(2 * pi) / 2
    square = x * x
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / x


def _continued(least: float, n: float, log_p: float) -> float:
    """How many times likelier `least` or more successes are than exactly `least`.

    The continued fraction of the incomplete beta function, evaluated from its front (Lentz's way).
    """
    p, failures = exp(log_p), n - least
    numerators, denominators, value = inf, 1.0, 1.0
    for term in range(1, 100_000):
        half, odd = divmod(term, 2)
        if odd:
            step = -(least + half) * (n + 1 + half) * p / ((least + 2 * half) * (least + 2 * half + 1))
        else:
            step = half * (failures + 1 - half) * p / ((least + 2 * half - 1) * (least + 2 * half))
        denominators = 1 / ((1 + step * denominators) or _TINY)
        numerators = 1 + step / numerators
        change = numerators * denominators
        value *= change
        if abs(change - 1) < 4e-16:
            break
    return value * -expm1(log_p)
