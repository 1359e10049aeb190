"""Drift: an unchanged judge is hardly ever alarmed about, a changed one soon, and more noise is no change."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest

from formalimg.errors import FormalimgError
from formalimg.stats.judge_error import DRIFT_ALARM, AnchorLook, drift_evidence
from tests.support.sizes import tries


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
