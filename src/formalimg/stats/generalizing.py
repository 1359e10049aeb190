"""G_ε: up to which level a model holds a rate."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.errors import FormalimgError

NOISE = 1e-12
"""How far a rate may lie below ε by the rounding of floats alone; counts up to a million stay apart."""


def generalizability(rates: Mapping[int, float], epsilon: float) -> int:
    """The largest level K such that the rates of all levels up to K are at least ε; 0 if the first is below.

    It stops at the first level that is lost, whatever comes after it.

    Args:
        rates: the rate of each level, 0 to 1; levels without a gap.
        epsilon: the rate to hold, 0 to 1.

    Raises:
        FormalimgError: if there is no level, a level is left out, or a number is no rate.
    """
    checked_epsilon(epsilon)
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
    """G_ε where the rates of some levels are unknown: None if it depends on one of them."""
    held = 0
    for level in sorted(rates):
        rate = rates[level]
        if rate is None:
            return None
        if rate < epsilon - NOISE:
            return held
        held = level
    return held


def checked_epsilon(epsilon: float) -> float:
    """The rate to hold, if it is one."""
    if not 0 <= epsilon <= 1:
        raise FormalimgError(f"the rate to hold is {epsilon!r}, which does not lie between 0 and 1: 70 % is 0.7")
    return epsilon
