"""Clopper-Pearson limits solve their defining equations, and agree with values published elsewhere."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson, fraction_interval, mean_interval
from tests.support.sizes import tries
from tests.support.values import not_none

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")

KNOWN = {
    0: (0.0, 0.0122),
    1: (0.0001, 0.0184),
    3: (0.0021, 0.0289),
    9: (0.0138, 0.0562),
    24: (0.0519, 0.1167),
    81: (0.2206, 0.3240),
    150: (0.4420, 0.5580),
    156: (0.4618, 0.5778),
    249: (0.7826, 0.8707),
    300: (0.9878, 1.0),
}
"""95 % limits for successes out of 300, to four digits."""

LARGER_SIDES = {
    0: 0.0122,
    1: 0.0151,
    3: 0.0189,
    9: 0.0262,
    24: 0.0367,
    81: 0.0540,
    150: 0.0580,
    156: 0.0582,
    249: 0.0474,
}
"""The ± that ConceptMix prints for the same counts."""


@st.composite
def counts(draw: st.DrawFn, most: int = 400) -> tuple[int, int]:
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


CONFIDENCES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])


@pytest.mark.parametrize("successes", KNOWN)
def test_known_limits(successes: int) -> None:
    low, high = clopper_pearson(successes, 300)
    assert (round(low, 4), round(high, 4)) == KNOWN[successes]


@pytest.mark.parametrize("successes", LARGER_SIDES)
def test_known_larger_sides(successes: int) -> None:
    low, high = clopper_pearson(successes, 300)
    rate = successes / 300
    assert round(max(rate - low, high - rate), 4) == LARGER_SIDES[successes]


@given(counts(60), CONFIDENCES)
def test_limits_solve_their_equations(case: tuple[int, int], confidence: float) -> None:
    """At the lower limit so many or more, at the upper so many or fewer, have half of the remaining chance."""
    successes, n = case
    low, high = clopper_pearson(successes, n, confidence)
    chance = (1 - confidence) / 2
    if successes:
        assert float(_at_least(successes, n, Fraction(low))) == pytest.approx(chance, rel=1e-11)
    if successes < n:
        assert float(1 - _at_least(successes + 1, n, Fraction(high))) == pytest.approx(chance, rel=1e-11)


@pytest.mark.parametrize(
    ("successes", "n"),
    [(1, 10**6), (3, 10**6), (40, 10**6), (123_456, 10**6), (500_000, 10**6), (999_990, 10**6), (77, 5_000)],
)
def test_limits_of_many_tries_are_right_to_ten_digits(successes: int, n: int) -> None:
    low, high = clopper_pearson(successes, n)
    for limit, count in ((low, successes), (1 - high, n - successes)):
        step = 1e-10 * min(limit, 1 - limit)
        below, above = (_decimal_at_least(count, n, limit + sign * step) for sign in (-1, 1))
        assert below < Decimal("0.025") < above


@pytest.mark.parametrize("n", [10**8, 10**9])
def test_one_success_out_of_very_many_has_the_limits_of_a_rare_event(n: int) -> None:
    """Those of Poisson: 1 or more have a chance of 2.5 % at 0.0253, 1 or fewer at 5.5716 (Garwood, 1936)."""
    low, high = clopper_pearson(1, n)
    assert (low * n, high * n) == pytest.approx((0.0253178, 5.5716434), rel=1e-6)
    low, high = clopper_pearson(n - 1, n)
    assert ((1 - high) * n, (1 - low) * n) == pytest.approx((0.0253178, 5.5716434), rel=1e-5)


@given(counts(), CONFIDENCES)
def test_the_interval_holds_the_rate(case: tuple[int, int], confidence: float) -> None:
    successes, n = case
    low, high = clopper_pearson(successes, n, confidence)
    assert 0 <= low <= successes / n <= high <= 1
    assert (low == 0) == (successes == 0)
    assert (high == 1) == (successes == n)


@given(counts(), CONFIDENCES)
def test_failures_have_the_mirrored_interval(case: tuple[int, int], confidence: float) -> None:
    successes, n = case
    low, high = clopper_pearson(successes, n, confidence)
    assert clopper_pearson(n - successes, n, confidence) == pytest.approx((1 - high, 1 - low), abs=1e-14)


@given(counts(), CONFIDENCES)
def test_one_more_success_raises_both_limits(case: tuple[int, int], confidence: float) -> None:
    successes, n = case
    if successes < n:
        fewer, more = clopper_pearson(successes, n, confidence), clopper_pearson(successes + 1, n, confidence)
        assert fewer.low < more.low
        assert fewer.high < more.high


@given(counts())
def test_more_confidence_makes_it_wider(case: tuple[int, int]) -> None:
    narrow, wide = clopper_pearson(*case, 0.9), clopper_pearson(*case, 0.99)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize("n", [5, 12, 40])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_true_rate_is_covered_often_enough(n: int, confidence: float) -> None:
    intervals = [clopper_pearson(successes, n, confidence) for successes in range(n + 1)]
    for percent in range(1, 100):
        rate = percent / 100
        covered = sum(
            comb(n, successes) * rate**successes * (1 - rate) ** (n - successes)
            for successes, (low, high) in enumerate(intervals)
            if low <= rate <= high
        )
        assert covered >= confidence - 1e-12


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (0, 0), (-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(successes: int, n: int) -> None:
    with pytest.raises(FormalimgError, match="is not a rate"):
        clopper_pearson(successes, n)


def test_fractions_of_counts_are_refused() -> None:
    with pytest.raises(FormalimgError, match="whole numbers"):
        clopper_pearson(0.5, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, float("nan")])
def test_an_impossible_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(FormalimgError, match=r"0\.95 for 95 %"):
        clopper_pearson(1, 2, confidence)


def _at_least(successes: int, n: int, p: Fraction) -> Fraction:
    return sum((comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(successes, n + 1)), Fraction())


def _decimal_at_least(successes: int, n: int, p: float) -> Decimal:
    """The tail term by term, in decimals long enough for a million tries."""
    with localcontext(prec=50):
        chance, odds = Decimal(p), Decimal(p) / (1 - Decimal(p))
        logarithm = _log_factorial(n) - _log_factorial(successes) - _log_factorial(n - successes)
        term = (logarithm + successes * chance.ln() + (n - successes) * (1 - chance).ln()).exp()
        tail, k = Decimal(0), successes
        while term > Decimal("1e-25") and k <= n:
            tail += term
            term *= odds * (n - k) / (k + 1)
            k += 1
        return tail


def _log_factorial(n: int) -> Decimal:
    if n < 1000:
        product = Decimal(1)
        for factor in range(2, n + 1):
            product *= factor
        return product.ln()
    x = Decimal(n)
    rest = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7) + 1 / (1188 * x**9)
    return x * x.ln() - x + (2 * PI * x).ln() / 2 + rest


SHARES = st.lists(st.integers(0, 6).map(lambda shown: shown / 6), min_size=1, max_size=60)


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_of_yes_and_no_it_is_clopper_and_pearsons(answers: list[bool]) -> None:
    assert fraction_interval(answers) == pytest.approx(clopper_pearson(sum(answers), len(answers)), abs=1e-9)


@given(SHARES)
def test_it_holds_the_mean_and_is_no_wider_than_that_of_yes_and_no(shares: list[float]) -> None:
    found, mean = fraction_interval(shares), sum(shares) / len(shares)
    assert found is not None
    assert 0 <= found.low <= mean + 1e-12
    assert mean - 1e-12 <= found.high <= 1
    rounded = round(sum(shares))
    if abs(rounded - sum(shares)) < 1e-9:
        low, high = clopper_pearson(rounded, len(shares))
        assert low - 1e-9 <= found.low
        assert found.high <= high + 1e-9


@given(SHARES)
def test_what_is_not_shown_has_the_mirrored_interval(shares: list[float]) -> None:
    found, mirrored = fraction_interval(shares), fraction_interval([1 - share for share in shares])
    assert found is not None
    assert (1 - not_none(mirrored).high, 1 - not_none(mirrored).low) == pytest.approx(found, abs=1e-9)


@given(SHARES, st.integers(2, 5))
def test_copies_of_an_image_change_nothing_if_they_are_of_one_item(shares: list[float], copies: int) -> None:
    items = [number for number in range(len(shares)) for _ in range(copies)]
    once, often = fraction_interval(shares), fraction_interval([shares[item] for item in items], items=items)
    assert often == pytest.approx(once, abs=1e-9)


def test_perfect_images_leave_a_doubt() -> None:
    """The normal interval has no width there, and there was none at all."""
    assert mean_interval([1.0] * 20) is None
    assert fraction_interval([1.0] * 20) == pytest.approx(clopper_pearson(20, 20))


def test_shares_that_differ_little_have_a_narrow_interval() -> None:
    shares = [0.5, 2 / 3, 5 / 6] * 100
    found, usual = fraction_interval(shares), mean_interval(shares)
    assert not_none(found).high - not_none(found).low == pytest.approx(
        not_none(usual).high - not_none(usual).low, rel=0.1
    )


@pytest.mark.parametrize(("mean", "images"), [(0.8, 20), (0.95, 20), (0.995, 20), (0.995, 300)])
def test_the_truth_is_covered_near_1_and_with_few_images(mean: float, images: int) -> None:
    chance, trials = np.random.default_rng(2), tries(200, 2000)
    covered = normal = 0
    for _ in range(trials):
        shares = (chance.binomial(6, chance.beta(mean * 2, (1 - mean) * 2, images)) / 6).tolist()
        found, usual = fraction_interval(shares), mean_interval(shares)
        covered += not_none(found).low <= mean <= not_none(found).high
        normal += usual is not None and usual.low <= mean <= usual.high
    assert covered >= (0.93 if trials == 200 else 0.945) * trials
    assert normal < covered
    if mean > 0.9:
        assert normal < 0.9 * trials, "the simulation would not show that normal intervals fail"


def test_what_is_no_share_is_refused() -> None:
    assert fraction_interval([]) is None
    with pytest.raises(FormalimgError, match="between 0 and 1"):
        fraction_interval([0.5, 1.5])
    with pytest.raises(FormalimgError, match="between 0 and 1"):
        fraction_interval([float("nan")])
    with pytest.raises(FormalimgError, match="name an item for each value"):
        fraction_interval([0.5, 0.6], items=["a"])
    with pytest.raises(FormalimgError, match="confidence"):
        fraction_interval([0.5], 95)
