"""The tipping point: a judge with just this gap in its errors makes two equal models look as different as they do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.stats.judge_error import ErrorRates, tipping_point

SHARES = st.floats(0.02, 0.98)


@given(SHARES, st.floats(0.01, 1), st.floats(0, 0.4), st.floats(0, 0.4))
def test_the_gap_of_false_passes_explains_the_difference(good: float, gap: float, passes: float, fails: float) -> None:
    gap = min(gap, 1 - passes)
    other = good * (1 - fails) + (1 - good) * passes
    leader = other + (1 - good) * gap
    tipping = tipping_point(leader, other, ErrorRates(passes, fails))
    assert tipping is not None
    assert tipping.false_pass == pytest.approx(gap, abs=1e-6)


@given(SHARES, st.floats(0.01, 1))
def test_the_gap_of_false_fails_explains_the_difference(good: float, gap: float) -> None:
    tipping = tipping_point(good, good * (1 - gap))
    assert tipping is not None
    assert tipping.false_fail == pytest.approx(gap, abs=1e-6)


@given(SHARES, SHARES)
def test_no_gap_is_smaller_than_the_difference(first: float, second: float) -> None:
    tipping = tipping_point(max(first, second), min(first, second))
    if tipping is None:
        assert first == second
    else:
        assert tipping.false_pass is not None, "without other errors, either kind can explain it"
        assert tipping.false_fail is not None
        assert min(tipping.false_pass, tipping.false_fail) >= abs(first - second) - 1e-12
        assert max(tipping.false_pass, tipping.false_fail) <= 1


def test_without_a_difference_or_with_a_judge_of_no_use_there_is_none() -> None:
    assert tipping_point(0.5, 0.5) is None
    assert tipping_point(0.6, 0.5, ErrorRates(0.6, 0.4)) is None


def test_false_passes_of_both_models_make_the_gap_smaller_and_false_fails_larger() -> None:
    plain, lenient, strict = (tipping_point(0.8, 0.7, ErrorRates(*rates)) for rates in ((0, 0), (0.5, 0), (0, 0.1)))
    assert [tipping and tipping.false_pass for tipping in (plain, lenient, strict)] == pytest.approx(
        [1 / 3, 1 / 6, 0.45]
    )


def test_a_gap_that_cannot_be_is_none() -> None:
    """With 14 % of images wrong for the other model, to pass all of them does not explain 10 points."""
    tipping = tipping_point(0.8, 0.7, ErrorRates(0.1, 0.3))
    assert tipping is not None
    assert tipping.false_pass is None
    assert tipping.false_fail == pytest.approx(0.1)
