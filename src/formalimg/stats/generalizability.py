"""Generalizability G_ε: the highest level up to which a model holds a pass rate of ε, and its confidence interval.

G is overestimated only if the first lost level seems to be held. So the lower end follows from the levels' own
intervals: it is the last level up to which all of them lie above ε.

For the upper end, test level by level whether the model may hold all levels so far. One level with far too few passes
refutes it, or all of them together; each of the two tests gets half of the error probability, and in the first the
levels share it. The upper end is the highest level that is not refuted. It is too low only if the true G is refuted,
so testing all levels needs no further correction.

A bootstrap would not do: where several rates lie close to ε, some of the resamples lose each of them, and nearly all
lose one or the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log1p

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import EffectiveCount, binomial_interval, log_binomial_tail

TOLERANCE = 1e-12
"""How far rounding alone may put a rate below ε; counts up to a million stay apart."""


def generalizability(rates: Mapping[int, float], epsilon: float) -> int:
    """Return the largest level K such that the rates of all levels up to K are at least ε; 0 if the first is below.

    It stops at the first level that is lost, whatever comes after it.

    Args:
        rates: the rate of each level, 0 to 1; levels without a gap.
        epsilon: the rate to hold, 0 to 1.

    Raises:
        FormalimgError: if there is no level, a level is left out, or a number is not a rate.
    """
    validate_epsilon(epsilon)
    if not rates:
        raise FormalimgError("there is no level: give the rate of each level")
    for level, rate in rates.items():
        if not 0 <= rate <= 1:
            raise FormalimgError(f"the rate {rate!r} of level {level} does not lie between 0 and 1: 70 % is 0.7")
    if min(rates) < 1:
        raise FormalimgError(f"there is a level {min(rates)}: levels are counted from 1")
    gaps = sorted(set(range(min(rates), max(rates))) - set(rates))
    if gaps:
        raise FormalimgError(f"the rate of level {gaps[0]} is missing: give all levels from the lowest to the highest")
    return held_level(rates, epsilon) or 0


def held_level(rates: Mapping[int, float | None], epsilon: float) -> int | None:
    """Return G_ε where the rates of some levels are unknown: None if it depends on one of them."""
    held = 0
    for level in sorted(rates):
        rate = rates[level]
        if rate is None:
            return None
        if rate < epsilon - TOLERANCE:
            return held
        held = level
    return held


def validate_epsilon(epsilon: float) -> float:
    """Return ε, or raise if it is not a rate."""
    if not 0 <= epsilon <= 1:
        raise FormalimgError(f"the rate to hold is {epsilon!r}, which does not lie between 0 and 1: 70 % is 0.7")
    return epsilon


def generalizability_interval(
    levels: Mapping[int, EffectiveCount | None], epsilon: float, confidence: float
) -> tuple[int, int]:
    """Return the lowest and highest plausible G_ε.

    Levels without a rate count as lost for the lower end and as held for the upper one.
    """
    lows = {level: 0.0 if seen is None else binomial_interval(*seen, confidence).low for level, seen in levels.items()}
    return held_level(lows, epsilon) or 0, highest_level(levels, epsilon, confidence)


def highest_level(levels: Mapping[int, EffectiveCount | None], epsilon: float, confidence: float) -> int:
    """Return the highest plausible G_ε: the highest level for which it is not refuted that all up to it are held."""
    chance = (1 - confidence) / 2
    highest, known, pooled, smallest = 0, 0, EffectiveCount(0.0, 0.0), 1.0
    for level in sorted(levels):
        seen = levels[level]
        if seen is not None:
            known += 1
            pooled = EffectiveCount(pooled.passed + seen.passed, pooled.counted + seen.counted)
            smallest = min(smallest, _p_value_of_so_few(seen, epsilon))
        one_refutes = smallest * max(1, known) <= chance / 2
        if not one_refutes and _p_value_of_so_few(pooled, epsilon) > chance / 2:
            highest = level
    return highest


def _p_value_of_so_few(seen: EffectiveCount, epsilon: float) -> float:
    """Return the probability of so few passes or fewer at a rate of ε; 1 if the observed rate is ε or more."""
    if seen.passed >= (epsilon - TOLERANCE) * seen.counted:
        return 1.0
    return exp(log_binomial_tail(seen.counted - seen.passed, seen.counted, log1p(-epsilon))) if epsilon < 1 else 0.0
