"""Permutation tests: sign flips of a mean difference, Fisher's exact test, and Holm's correction.

If neither of two runs is better, the difference on an item could as well have had the other sign. The p-value is the
share of all ways to choose the signs that move the sum at least as far from 0 as the observed ones. With one image per
item every difference is -1, 0 or 1, and this is McNemar's exact test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from math import exp, fsum, isfinite, lgamma, log, log1p
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import log_binomial_tail

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RESAMPLES = 9_999  # Random choices of signs where there are too many to try all: p is 0.0001 at least
_MAX_ENUMERATED = 16  # With so many differences or fewer, all choices of signs are tried
_MAX_DENOMINATOR = 60  # Differences are taken to be multiples of the smallest one divided by 1, 2, … up to this
_MAX_CONVOLUTION = 30_000_000  # How many additions an exact distribution may take, about a tenth of a second
_ROUNDING = 1e-9  # Sums that differ by less than this share are equal up to rounding


def sign_flip_test(differences: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """Return the two-sided p-value of the hypothesis that differences are symmetric around zero.

    The statistic is the sum, so that differences that are weighted before make a weighted mean. The p-value is exact
    for up to sixteen differences other than 0, and where all of them are multiples of one step, as shares of the same
    number of images are. Otherwise the signs are drawn at random.
    """
    if not all(map(isfinite, differences)):
        raise FormalimgError("a difference is not a number: leave out items that one of the runs has no number for")
    if resamples < 1:
        raise FormalimgError(f"{resamples} resamples are too few: use {RESAMPLES}")
    sizes = Counter(sorted(abs(difference) for difference in differences if difference))
    observed = abs(sum(sorted(differences)))  # sorted, so that the order of items does not matter
    if not sizes or observed <= _ROUNDING * max(sizes):
        return 1.0
    steps = _as_steps(sizes)
    if steps is not None and len(steps) == 1:
        (n,) = steps.values()
        more = round((n + observed / max(sizes)) / 2)  # from the number of positive ones
        return min(1.0, 2 * exp(log_binomial_tail(more, n, log(0.5))))
    if sizes.total() <= _MAX_ENUMERATED:
        return _enumerate_p(sizes, observed)
    if steps is not None and sizes.total() * sum(size * n for size, n in steps.items()) <= _MAX_CONVOLUTION:
        return _convolve_p(steps, round(observed * max(steps) / max(sizes)))
    return _sample_p(sizes, observed, resamples, seed)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values for multiple testing with Holm's method, preserving their order.

    The chance that any true hypothesis has a corrected p-value of 0.05 or less is at most 5 %, however they depend on
    each other.
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise FormalimgError(f"the p-value {p!r} is not between 0 and 1: leave out tests without one")
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    scaled = (min(1.0, (len(order) - rank) * p_values[n]) for rank, n in enumerate(order))
    corrected = dict(zip(order, accumulate(scaled, max), strict=True))
    return tuple(corrected[n] for n in range(len(p_values)))


def _as_steps(sizes: Mapping[float, int]) -> dict[int, int] | None:
    """Convert the sizes to integer multiples of a common step, or return None if there is no such step."""
    smallest = min(sizes)
    for parts in range(1, _MAX_DENOMINATOR + 1):
        multiples = [size * parts / smallest for size in sizes]
        if all(abs(multiple - round(multiple)) <= _ROUNDING * multiple for multiple in multiples):
            steps: Counter[int] = Counter()
            for multiple, n in zip(multiples, sizes.values(), strict=True):
                steps[round(multiple)] += n
            return dict(steps)
    return None


def _enumerate_p(sizes: Mapping[float, int], observed: float) -> float:
    import numpy as np

    sums = np.zeros(1)
    for size, n in sizes.items():
        for _ in range(n):
            sums = np.concatenate([sums - size, sums + size])
    return float(np.mean(np.abs(sums) >= observed * (1 - _ROUNDING)))


def _convolve_p(steps: Mapping[int, int], observed: int) -> float:
    """Return the exact p-value by convolving the distribution of the sum of positive differences."""
    import numpy as np

    distribution = np.ones(1)
    for size, n in sorted(steps.items(), reverse=True):
        longer = np.zeros(len(distribution) + size * n)
        for positive, chance in enumerate(_binomial_chances(n)):
            longer[positive * size : positive * size + len(distribution)] += chance * distribution
        distribution = longer
    # The sum is twice the positive part minus all; the distribution is symmetric.
    at_least = (len(distribution) - 1 + observed) // 2
    return min(1.0, 2 * float(distribution[at_least:].sum()))


def _binomial_chances(n: int) -> NDArray[np.float64]:
    import numpy as np

    ratios = np.log(np.arange(n, 0, -1) / np.arange(1, n + 1))
    chances: NDArray[np.float64] = np.exp(np.concatenate([[0.0], np.cumsum(ratios)]) - n * log(2))
    return chances


def _sample_p(sizes: Mapping[float, int], observed: float, resamples: int, seed: int) -> float:
    import numpy as np

    generator = np.random.default_rng(seed)
    sums = np.zeros(resamples)
    for size, n in sizes.items():
        # A single difference is a coin; of several of one size, only the number of positive ones matters.
        positive = (
            np.unpackbits(np.frombuffer(generator.bytes(-(-resamples // 8)), np.uint8))[:resamples]
            if n == 1
            else generator.binomial(n, 0.5, size=resamples)
        )
        sums += size * (2.0 * positive - n)
    reached = int(np.count_nonzero(np.abs(sums) >= observed * (1 - _ROUNDING)))
    return (reached + 1) / (resamples + 1)


def fisher_lower(part: int, whole: int, other_part: int, other_whole: int) -> float:
    """Return the one-sided p-value of Fisher's exact test that the first share is lower."""
    if not (0 <= part <= whole and 0 <= other_part <= other_whole):
        raise FormalimgError(
            f"{part} of {whole} and {other_part} of {other_whole} are invalid: give no more successes than trials"
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
    """Return the smallest significant number of errors if the other group has none, or None if there is none."""
    for errors in range(1, whole + 1):
        if errors >= least_share * whole and fisher_lower(whole - errors, whole, other_whole, other_whole) <= alpha:
            return errors
    return None


def power_to_notice(error_rate: float, whole: int, errors: int) -> float:
    """Return the probability of at least `errors` errors in a group of size `whole`."""
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
