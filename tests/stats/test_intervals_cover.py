"""Intervals cover the true numbers of simulated models about as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.cfworld.scores import score_difference
from formalimg.stats.comparison import compare_paired
from formalimg.stats.intervals import clopper_pearson, design_effect, item_clustered_interval
from formalimg.stats.observations import Observation, PassCount, ScoreObservation
from formalimg.stats.permutation import sign_flip_test
from formalimg.stats.summary import generalizability, summarize
from tests.stats.observing import simulated
from tests.support.sizes import tries
from tests.support.values import not_none

TRIALS = tries(100, 200)

LEAST = {100: 0.89, 200: 0.91}[TRIALS]
"""What so many trials of a true 95 % fall below once in a hundred cases; all is seeded, so that it does not happen."""


@pytest.mark.parametrize("alike", [0, 0.4, 1][:: tries(2, 1)])
@pytest.mark.parametrize(("rate", "items", "samples"), [(0.3, 50, 4), (0.9, 20, 8), (0.02, 50, 4)])
def test_of_levels_with_several_images_per_item(alike: float, rate: float, items: int, samples: int) -> None:
    chance = np.random.default_rng(7)
    clustered = plain = 0
    for _ in range(TRIALS):
        rates = summarize(simulated([rate], items, samples, alike, chance), bands={}, epsilon=None, resamples=40)
        interval, naive = rates.levels[1].interval, clopper_pearson(rates.overall.passed, rates.overall.scored)
        clustered += not_none(interval).low <= rate <= not_none(interval).high
        plain += naive.low <= rate <= naive.high
    assert clustered >= LEAST * TRIALS
    if alike == 1:
        assert plain < LEAST * TRIALS, "the simulation would not show a forgotten clustering"


@pytest.mark.parametrize(
    ("rates", "items", "samples", "alike"),
    [
        ([0.9, 0.8, 0.72, 0.6], 40, 1, 0),
        ([0.05, 0.02, 0.01, 0.005], 40, 1, 0),
        ([0.8, 0.75, 0.5, 0.2], 20, 3, 0.5),
    ],
)
def test_of_bands_and_g(rates: list[float], items: int, samples: int, alike: float) -> None:
    chance = np.random.default_rng(8)
    mean, held = sum(rates) / 4, generalizability(dict(enumerate(rates, start=1)), 0.7)
    covered_means = covered_levels = 0
    for _ in range(TRIALS):
        seen = simulated(rates, items, samples, alike, chance)
        summary = summarize(seen, bands={"all": [1, 2, 3, 4]}, epsilon=0.7, resamples=400)
        band, found = summary.bands["all"].interval, summary.generalizability
        assert found is not None
        covered_means += not_none(band).low <= mean <= not_none(band).high
        covered_levels += not_none(found.low) <= held <= not_none(found.high)
    assert covered_means >= LEAST * TRIALS
    assert covered_levels >= LEAST * TRIALS


@pytest.mark.parametrize("rates", [[0.5] * 10, [0.75] * 3, [0.95, 0.6, 0.3, 0.05], [0.02] * 4, [0.9, 0.001, 0.001]])
@pytest.mark.parametrize(
    ("items", "samples", "alike"), [([1], 1, 0), ([2], 1, 0), ([4], 1, 0), ([2], 4, 1), ([1, 30], 1, 0)][:: tries(3, 1)]
)
def test_of_bands_of_few_items(rates: list[float], items: list[int], samples: int, alike: float) -> None:
    chance = np.random.default_rng(10)
    covered = 0
    for _ in range(TRIALS):
        seen = [
            Observation(f"{level}/{one.item}", level, one.passed)
            for level, rate in enumerate(rates, start=1)
            for one in simulated([rate], items[level % len(items)], samples, alike, chance)
        ]
        interval = summarize(seen, bands={"all": range(1, len(rates) + 1)}, epsilon=None).bands["all"].interval
        covered += not_none(interval).low <= sum(rates) / len(rates) <= not_none(interval).high
    assert covered >= LEAST * TRIALS


@pytest.mark.parametrize("rates", [[0.7] * 10, [0.75] * 10, [0.9, 0.69, 0.9, 0.9], [0.9, 0.8, 0.6, 0.3], [0.5] * 4])
@pytest.mark.parametrize(
    ("items", "samples", "alike"), [(1, 1, 0), (10, 1, 0), (30, 1, 0), (8, 3, 0.5)][:: tries(3, 1)]
)
def test_of_g_wherever_the_rates_lie(rates: list[float], items: int, samples: int, alike: float) -> None:
    """Also where many rates are close to the one to be held, and whatever the number of items."""
    chance = np.random.default_rng(11)
    truth, covered = generalizability(dict(enumerate(rates, start=1)), 0.7), 0
    for _ in range(TRIALS // 2):
        found = summarize(simulated(rates, items, samples, alike, chance), bands={}, epsilon=0.7).generalizability
        assert found is not None
        covered += not_none(found.low) <= truth <= not_none(found.high)
    assert covered >= LEAST * TRIALS // 2


@pytest.mark.parametrize(("one", "other"), [(0.5, 0.5), (0.7, 0.5), (0.03, 0.01)])
def test_of_differences_between_runs(one: float, other: float) -> None:
    chance = np.random.default_rng(9)
    covered = rejected = 0
    for _ in range(TRIALS):
        hardness, own = chance.random(60), chance.random(60)
        mixed = np.where(chance.random(60) < 0.6, hardness, own)  # items that are hard for both
        first, second = (
            [Observation(str(item), 1, bool(value < rate)) for item, value in enumerate(values)]
            for values, rate in ((hardness, one), (mixed, other))
        )
        found = compare_paired(first, second)
        covered += not_none(found.interval).low <= one - other <= not_none(found.interval).high
        rejected += not_none(found.p) <= 0.05
    assert covered >= LEAST * TRIALS
    if one == other:
        assert rejected <= 0.09 * TRIALS


def test_of_differences_that_are_many_and_small_or_few_and_large() -> None:
    """Four images per item, and equal means: little is won on most items, and much is lost on a quarter of them."""
    chance = np.random.default_rng(12)
    covered = rejected = by_signs = 0
    for _ in range(TRIALS):
        hard = chance.random(80) < 0.25
        shares = np.where(hard, 0.125, 0.625), np.where(hard, 0.875, 0.375)
        first, second = (
            [
                Observation(str(item), 1, bool(passed))
                for item, images in enumerate(chance.random((80, 4)) < share[:, None])
                for passed in images
            ]
            for share in shares
        )
        found = compare_paired(first, second)
        covered += not_none(found.interval).low <= 0 <= not_none(found.interval).high
        rejected += not_none(found.p) <= 0.05
        by_signs += sign_flip_test([1.0] * found.wins + [-1.0] * found.losses) <= 0.05
    assert covered >= LEAST * TRIALS
    assert rejected <= 0.09 * TRIALS
    assert by_signs > 0.2 * TRIALS, "a sign test takes many small wins for a difference"


@pytest.mark.parametrize(("groups", "narrow"), [(6, 0.6), (20, 0.28)])
def test_of_differences_of_scores_in_few_groups(groups: int, narrow: float) -> None:
    """As few groups as a probe of CF-World has; the difference is 0.1 on average, with a spread of 0.2."""
    chance = np.random.default_rng(13)
    covered, widths = 0, []
    for _ in range(TRIALS):
        first = chance.uniform(0.2, 0.4, groups)
        second = np.clip(first + chance.normal(0.1, 0.2, groups), 0, 1)
        scores = [(str(n), 1, 0, float(score)) for n, score in enumerate(first)]
        scores += [(str(n), 2, 0, float(score)) for n, score in enumerate(second)]
        interval = score_difference(ScoreObservation(*one) for one in scores).interval
        assert interval is not None
        covered += interval.low <= 0.107 <= interval.high  # what is cut off at 0 adds a little
        widths.append(interval.high - interval.low)
    assert covered >= LEAST * TRIALS
    assert np.mean(widths) < narrow


@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 9))
def test_images_that_are_all_alike_count_once_per_item(passing: int, failing: int, samples: int) -> None:
    """Nothing is won by showing the same image several times, nor lost."""
    kinds = {PassCount(samples, samples): passing, PassCount(0, samples): failing}
    assert design_effect(kinds) == pytest.approx(samples)
    found = item_clustered_interval(kinds, 0.95)
    assert found == pytest.approx(clopper_pearson(passing, passing + failing), abs=1e-9)


@given(st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 6)), st.integers(1, 50), min_size=1))
def test_an_image_is_worth_at_most_one_and_an_item_at_least_one(items: dict[tuple[int, int], int]) -> None:
    kinds = {PassCount(passed, passed + failed + 1): number for (passed, failed), number in items.items()}
    assert 1 <= design_effect(kinds) <= max(kind.counted for kind in kinds) + 1e-9
