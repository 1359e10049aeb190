"""Rogan-Gladen: a pass rate by the judge's sensitivity and specificity elsewhere."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.judge_error import DRIFT_ALARM, AnchorLook, ErrorRates, drift_evidence, rogan_gladen, tipping_point
from tests.support.sizes import tries
from tests.support.values import not_none


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
    assert 0 < not_none(found.high) < 0.2


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
    assert 0 <= not_none(found.low) <= found.estimate <= not_none(found.high) <= 1
    assert not_none(found.low) < not_none(found.high)


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
        covered += not_none(found.low) <= rate <= not_none(found.high)
    assert covered >= (0.92 if trials == 300 else 0.935) * trials


@pytest.mark.parametrize(
    ("rates", "counts", "message"),
    [
        ((0.5, 0.5, 0.5), {}, "no better than chance"),
        ((0.5, 0.2, 0.7), {}, "no better than chance"),
        ((1.5, 0.9, 0.9), {}, "the rate 1.5 is not between 0 and 1"),
        ((0.5, 90, 0.9), {}, "the sensitivity 90 is not between"),
        ((0.5, 0.9, -0.1), {}, "the specificity -0.1 is not between"),
        ((0.5, 0.9, 0.9), {"images": 0, "positives": 1, "negatives": 1}, "there are 0 images"),
        ((0.5, 0.9, 0.9), {"images": 5, "positives": 1, "negatives": 0}, "there are 0 negatives"),
        ((0.5, 0.9, 0.9), {"images": 5}, "all three counts"),
    ],
)
def test_impossible_judges_are_refused(rates: tuple[float, float, float], counts: dict[str, int], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        rogan_gladen(*rates, **counts)


SHARES = st.floats(0.02, 0.98)


@given(SHARES, st.floats(0.01, 1), st.floats(0, 0.4), st.floats(0, 0.4))
def test_the_gap_of_false_passes_explains_the_difference(good: float, gap: float, passes: float, fails: float) -> None:
    gap = min(gap, 1 - passes)
    other = good * (1 - fails) + (1 - good) * passes
    leader = other + (1 - good) * gap
    tipping = tipping_point(leader, other, ErrorRates(passes, fails))
    assert not_none(tipping).false_pass == pytest.approx(gap, abs=1e-6)


@given(SHARES, st.floats(0.01, 1))
def test_the_gap_of_false_fails_explains_the_difference(good: float, gap: float) -> None:
    tipping = tipping_point(good, good * (1 - gap))
    assert not_none(tipping).false_fail == pytest.approx(gap, abs=1e-6)


@given(SHARES, SHARES)
def test_no_gap_is_smaller_than_the_difference(first: float, second: float) -> None:
    tipping = tipping_point(max(first, second), min(first, second))
    if tipping is None:
        assert first == second
    else:
        assert tipping.false_pass is not None, "without other errors, either kind can explain it"
        assert min(tipping.false_pass, not_none(tipping.false_fail)) >= abs(first - second) - 1e-12
        assert max(tipping.false_pass, not_none(tipping.false_fail)) <= 1


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
    assert not_none(tipping).false_pass is None
    assert not_none(tipping).false_fail == pytest.approx(0.1)


def _looks(rng: random.Random, chances: list[float], count: int, size: int) -> list[AnchorLook]:
    """Looks at random images, each of which has its own chance of a changed answer."""
    drawn = ([rng.random() < chance for chance in rng.sample(chances, size)] for _ in range(count))
    return [AnchorLook(size, sum(changed)) for changed in drawn]


def _second(rng: random.Random, chances: list[float]) -> AnchorLook:
    return AnchorLook(len(chances), sum(rng.random() < chance for chance in chances))


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.5])
def test_an_unchanged_judge_is_hardly_ever_alarmed_about(noise: float) -> None:
    alarms = 0
    for seed in range(tries(60, 1000)):
        rng = random.Random(seed)
        chances = [noise * 4] * 25 + [0.0] * 75 if noise < 0.25 else [noise] * 100
        alarms += drift_evidence(_second(rng, chances), _looks(rng, chances, 40, 20)).alarm
    assert alarms <= tries(5, 60)


def test_a_changed_judge_is_noticed_even_after_many_quiet_looks() -> None:
    found = 0
    for seed in range(10):
        rng = random.Random(seed)
        before = [0.08] * 50 + [0.0] * 150
        after = [1 - chance for chance in before[:40]] + before[40:]
        second, quiet = _second(rng, before), _looks(rng, before, 20, 40)
        found += drift_evidence(second, [*quiet, *_looks(rng, after, 10, 40)]).alarm
    assert found == 10


def test_a_judge_that_becomes_steadier_is_no_alarm() -> None:
    evidence = drift_evidence(AnchorLook(200, 60), [AnchorLook(50, 0)] * 50)
    assert (evidence.alarm, evidence.highest <= 1.0) == (False, True)


def test_the_mean_of_e_under_an_unchanged_judge_is_at_most_one() -> None:
    """Exactly, over all outcomes of a small anchor set and two looks, whatever the noise."""
    asked, size = 4, 3
    for noise in (Fraction(1, 50), Fraction(1, 5), Fraction(1, 2)):

        def chance(changed: int, n: int, p: Fraction = noise) -> float:
            return float(comb(n, changed) * p**changed * (1 - p) ** (n - changed))

        mean = sum(
            chance(second, asked)
            * chance(one, size)
            * chance(two, size)
            * drift_evidence(AnchorLook(asked, second), [AnchorLook(size, one), AnchorLook(size, two)]).e
            for second in range(asked + 1)
            for one in range(size + 1)
            for two in range(size + 1)
        )
        assert 0 < mean <= 1


def test_evidence_is_told_and_stays() -> None:
    nothing = drift_evidence(AnchorLook(100, 2), [])
    assert (nothing.e, nothing.noise, nothing.recent, nothing.alarm) == (1.0, 0.02, None, False)
    changed = drift_evidence(AnchorLook(100, 2), [AnchorLook(40, 20)])
    assert changed.recent == 0.5
    assert changed.e > DRIFT_ALARM
    later = drift_evidence(AnchorLook(100, 2), [AnchorLook(40, 20), *[AnchorLook(40, 0)] * 100])
    assert later.e < changed.e
    assert later.alarm
    assert drift_evidence(AnchorLook(0, 0), [AnchorLook(40, 20)]).alarm is False
    with pytest.raises(FormalimgError, match="5 of 4 changed answers is not a count"):
        drift_evidence(AnchorLook(4, 5), [])
