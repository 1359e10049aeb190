"""Rogan-Gladen: a pass rate by the judge's sensitivity and specificity elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.judge_error import rogan_gladen
from tests.support.sizes import tries


@given(st.floats(0, 1), st.floats(0.55, 1), st.floats(0.5, 1))
def test_the_true_rate_comes_out_if_the_judge_errs_as_it_did(
    rate: float, sensitivity: float, specificity: float
) -> None:
    seen = rate * sensitivity + (1 - rate) * (1 - specificity)
    found = rogan_gladen(min(1.0, seen), sensitivity, specificity)
    assert found.estimate == pytest.approx(rate, abs=1e-6)
    assert (found.low, found.high) == (None, None)
    assert found.assumption == "assumes the judge errs here as it did there"


def test_what_cannot_be_is_cut_off() -> None:
    assert rogan_gladen(0.1, 0.9, 0.8).estimate == 0
    assert rogan_gladen(0.99, 0.9, 0.8).estimate == 1
    found = rogan_gladen(0.15, 0.9, 0.8, images=100, positives=50, negatives=50)
    assert (found.estimate, found.low) == (0, 0)
    assert found.high is not None
    assert 0 < found.high < 0.2


def test_rates_that_refute_the_assumption_leave_everything_open() -> None:
    """A judge that passes one bad image in five does not fail all of a thousand."""
    found = rogan_gladen(0.0, 0.9, 0.8, images=1000, positives=500, negatives=500)
    assert found[:3] == (0, 0, 1)
    found = rogan_gladen(1.0, 0.9, 0.8, images=1000, positives=500, negatives=500)
    assert found[:3] == (1, 0, 1)


@given(st.integers(0, 50), st.integers(30, 50), st.integers(25, 50), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_is_one(passed: int, agreed: int, denied: int, confidence: float) -> None:
    found = rogan_gladen(
        passed / 50, agreed / 50, denied / 50, images=50, positives=50, negatives=50, confidence=confidence
    )
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < found.high


def test_a_perfect_judge_measured_on_very_many_leaves_agresti_and_coulls_interval() -> None:
    """Two successes and two failures more, for 95 %."""
    found = rogan_gladen(0.3, 1.0, 1.0, images=200, positives=10**9, negatives=10**9)
    n = 200 + 1.96**2
    p = (60 + 1.96**2 / 2) / n
    half = 1.96 * (p * (1 - p) / n) ** 0.5
    assert (found.low, found.high) == pytest.approx((p - half, p + half), abs=1e-4)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("labels", [50, 200])
def test_the_truth_is_covered_if_the_judge_errs_as_it_did(rate: float, labels: int) -> None:
    chance, trials = np.random.default_rng(8), tries(150, 3000)
    covered = 0
    for _ in range(trials):
        passed = chance.binomial(1000, rate * 0.85 + (1 - rate) * 0.2) / 1000
        agreed, denied = chance.binomial(labels, 0.85) / labels, chance.binomial(labels, 0.8) / labels
        found = rogan_gladen(passed, agreed, denied, images=1000, positives=labels, negatives=labels)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= rate <= found.high
    assert covered >= (0.92 if trials == 300 else 0.935) * trials


@pytest.mark.parametrize(
    ("rates", "counts", "message"),
    [
        ((0.5, 0.5, 0.5), {}, "no better than chance"),
        ((0.5, 0.2, 0.7), {}, "no better than chance"),
        ((1.5, 0.9, 0.9), {}, "the rate 1.5 does not lie between 0 and 1"),
        ((0.5, 90, 0.9), {}, "the sensitivity 90 does not lie"),
        ((0.5, 0.9, -0.1), {}, "the specificity -0.1 does not lie"),
        ((0.5, 0.9, 0.9), {"images": 0, "positives": 1, "negatives": 1}, "there are 0 images"),
        ((0.5, 0.9, 0.9), {"images": 5, "positives": 1, "negatives": 0}, "there are 0 negatives"),
        ((0.5, 0.9, 0.9), {"images": 5}, "all three counts"),
    ],
)
def test_impossible_judges_are_refused(rates: tuple[float, float, float], counts: dict[str, int], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        rogan_gladen(*rates, **counts)
