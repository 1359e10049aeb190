"""The interval of a mean share: exact for yes and no, narrower for shares, and never without a width."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson, fraction_interval, mean_interval
from tests.support.sizes import tries

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
    assert mirrored is not None
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx(found, abs=1e-9)


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
    assert found is not None
    assert usual is not None
    assert found.high - found.low == pytest.approx(usual.high - usual.low, rel=0.1)


@pytest.mark.parametrize(("mean", "images"), [(0.8, 20), (0.95, 20), (0.995, 20), (0.995, 300)])
def test_the_truth_is_covered_near_1_and_with_few_images(mean: float, images: int) -> None:
    chance, trials = np.random.default_rng(2), tries(200, 2000)
    covered = normal = 0
    for _ in range(trials):
        shares = (chance.binomial(6, chance.beta(mean * 2, (1 - mean) * 2, images)) / 6).tolist()
        found, usual = fraction_interval(shares), mean_interval(shares)
        assert found is not None
        covered += found.low <= mean <= found.high
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
