"""Fisher's exact test of two shares, one-sided, and its power: by counts, without any approximation for small ones."""

from __future__ import annotations

from functools import cache
from math import exp, fsum, lgamma, log, log1p

from formalimg.errors import FormalimgError


def fisher_lower(part: int, whole: int, other_part: int, other_whole: int) -> float:
    """Return the p-value of a share being lower than another one (Fisher's exact test, one-sided)."""
    if not (0 <= part <= whole and 0 <= other_part <= other_whole):
        raise FormalimgError(
            f"{part} of {whole} and {other_part} of {other_whole} are no shares: give no more successes than trials"
        )
    successes, total = part + other_part, whole + other_whole
    fewest = max(0, successes - other_whole)
    base = _log_choose(total, whole)
    terms = (
        exp(_log_choose(successes, count) + _log_choose(total - successes, whole - count) - base)
        for count in range(fewest, part + 1)
    )
    return min(1.0, fsum(terms))


@cache
def errors_to_notice(whole: int, other_whole: int, alpha: float, least_share: float = 0.0) -> int | None:
    """Return how many errors in a group are significant if the other group has none; None if no number is."""
    for errors in range(1, whole + 1):
        if errors >= least_share * whole and fisher_lower(whole - errors, whole, other_whole, other_whole) <= alpha:
            return errors
    return None


def power_to_notice(error_rate: float, whole: int, errors: int) -> float:
    """Return the chance of at least so many errors in a group."""
    if error_rate <= 0 or error_rate >= 1:
        return float((error_rate >= 1 and errors <= whole) or errors <= 0)
    return min(
        1.0,
        fsum(
            exp(_log_choose(whole, count) + count * log(error_rate) + (whole - count) * log1p(-error_rate))
            for count in range(errors, whole + 1)
        ),
    )


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
