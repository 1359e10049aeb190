"""Group-sequential tests of a rate: exact boundaries for looking several times at a growing sample.

Whoever looks after every ten images and stops as soon as a rate seems clear is wrong far more often than one look would
be. A spending function (Hwang, Shih and DeCani, 1990) shares the error probability out over the looks instead: little
of it early, most of it late. The boundaries follow from the binomial distribution of the images that have not been
decided on before, computed number by number; no normal approximation is involved, so the error probability is never
exceeded, however few images there are.

A bound on passes is crossed more often the higher the rate is. So a test of "the rate is below ε" errs at most as often
as at ε itself, which is where the boundaries are computed. Bounds on failures are the same thing for the rate 1 - ε.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import expm1
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import validate_confidence
from formalimg.stats.observations import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GAMMA = -4.0
"""The parameter of the spending function: 0 spends evenly, negative values spend late, much as O'Brien and Fleming."""

_STEPS = 15
"""Bisections of a repeated interval: its ends are known to about 0.00002."""


def spent_by(share: float, alpha: float) -> float:
    """Return how much of an error probability may be spent by the time that this share of all images was seen."""
    return alpha * expm1(-GAMMA * min(1.0, share)) / expm1(-GAMMA)


def look_sizes(total: int, step: int) -> tuple[int, ...]:
    """Return after how many images to look: every so many, and once all of them are there."""
    if total < 1 or step < 1:
        raise FormalimgError(f"{total} images cannot be looked at every {step}: give 1 or more of both")
    return (*range(step, total, step), total)


@lru_cache(maxsize=4096)
def passes_to_cross(looks: tuple[int, ...], total: int, rate: float, alpha: float) -> tuple[int, ...]:
    """Return from how many passes on a rate is declared larger than `rate`, for each look.

    If the true rate is `rate` or less, the chance that the passes reach the bound at any of the looks is at most
    `alpha`; by each look it is at most what the spending function allows by then. Looks must not be chosen by what was
    seen, but they need not be the planned ones: fewer images than planned just leave a part of `alpha` unspent.
    """
    _require_rising(looks, total)
    return bounds_of_trials(looks, [look / total for look in looks], rate, alpha)


def bounds_of_trials(trials: Sequence[int], shares: Sequence[float], rate: float, alpha: float) -> tuple[int, ...]:
    """Return the bounds of looks at these numbers of trials; each may spend up to its share of alpha."""
    import numpy as np

    undecided: NDArray[np.float64] = np.ones(1)  # the chance of so many successes with no bound crossed before
    bounds: list[int] = []
    spent, looked_at = 0.0, 0
    for count, share in zip(trials, shares, strict=True):
        undecided = np.convolve(undecided, _binomial_pmf(count - looked_at, rate))
        tails = np.cumsum(undecided[::-1])
        crossing = int(np.searchsorted(tails, spent_by(share, alpha) - spent, side="right"))
        bound = len(undecided) - crossing
        if crossing:
            spent += float(tails[crossing - 1])
            undecided = undecided[:bound]
        # Where nothing can cross, the bound is out of reach for all that is still undecided.
        bounds.append(bound)
        looked_at = count
        if not len(undecided):
            return (*bounds, *(0 for _ in trials[len(bounds) :]))
    return tuple(bounds)


def chance_to_cross(looks: tuple[int, ...], bounds: Sequence[int], rate: float) -> tuple[float, ...]:
    """Return the chance that the passes have reached their bound by each look, if this is the true rate."""
    import numpy as np

    undecided: NDArray[np.float64] = np.ones(1)
    found: list[float] = []
    crossed, looked_at = 0.0, 0
    for look, bound in zip(looks, bounds, strict=True):
        undecided = np.convolve(undecided, _binomial_pmf(look - looked_at, rate))
        crossed += float(undecided[bound:].sum())
        undecided = undecided[:bound]
        found.append(crossed)
        looked_at = look
    return tuple(found)


@lru_cache(maxsize=4096)
def interval_after_looks(
    looks: tuple[int, ...], passed: tuple[int, ...], total: int, confidence: float = 0.95
) -> Interval:
    """Return the interval of a rate that may be read at every look: all rates that no look so far has refuted.

    It covers the true rate at all looks at once with this confidence, so it is valid whenever and why ever one stops.
    """
    _require_rising(looks, total)
    if not looks or len(passed) != len(looks) or not all(0 <= n <= look for n, look in zip(passed, looks, strict=True)):
        raise FormalimgError("a repeated interval needs the passes of each look: give as many as there are images")
    alpha = (1 - validate_confidence(confidence)) / 2
    failed = tuple(look - n for look, n in zip(looks, passed, strict=True))

    def refutes(successes: tuple[int, ...], rate: float) -> bool:
        return any(map(int.__ge__, successes, passes_to_cross(looks, total, rate, alpha)))

    return Interval(
        smallest_kept(lambda rate: refutes(passed, rate)), 1 - smallest_kept(lambda rate: refutes(failed, rate))
    )


def smallest_kept(is_refuted: Callable[[float], bool], low: float = 0.0, high: float = 1.0) -> float:
    """Return the smallest value that is not refuted, to about 0.00002 of the range; all smaller ones are refuted."""
    if not is_refuted(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return (low + high) / 2


def _require_rising(looks: tuple[int, ...], total: int) -> None:
    if any(later <= earlier for earlier, later in zip((0, *looks), looks, strict=False)) or (
        looks and looks[-1] > total
    ):
        raise FormalimgError(f"the looks {list(looks)} do not rise to at most {total} images: give them in order")


@lru_cache(maxsize=4096)
def _binomial_pmf(n: int, rate: float) -> NDArray[np.float64]:
    """Return the chances of 0 to n successes, built trial by trial, which loses no digits."""
    import numpy as np

    chances: NDArray[np.float64] = np.ones(1)
    for _ in range(n):
        chances = np.convolve(chances, (1 - rate, rate))
    return chances
