"""Summaries: rates, bands and G from observations."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Band, Observation, Rate, Summary
from formalimg.stats.summary import summarize
from tests.stats.observing import observations

BANDS = {"low": [1, 2], "high": [3, 4], "all": [1, 2, 3, 4]}


def _summary(seen: Sequence[Observation], **changes: Any) -> Summary:
    return summarize(seen, **{"bands": BANDS, "epsilon": 0.7, "resamples": 100, **changes})


def _figures(summary: Summary) -> list[Rate | Band]:
    return [*summary.levels.values(), summary.overall, *summary.bands.values()]


def _level(level: int, passed: int, of: int) -> list[Observation]:
    return [Observation(f"{level}-{item}", level, item < passed) for item in range(of)]


def test_a_small_run() -> None:
    summary = _summary([*_level(1, 9, 10), *_level(2, 7, 10), *_level(3, 2, 10), *_level(4, 8, 20)])
    assert {level: rate.value for level, rate in summary.levels.items()} == {1: 0.9, 2: 0.7, 3: 0.2, 4: 0.4}
    assert summary.levels[1].interval == clopper_pearson(9, 10)
    assert summary.overall[:4] == (26, 50, 50, 26 / 50)
    assert summary.overall.interval == clopper_pearson(26, 50)
    assert {name: band.value for name, band in summary.bands.items()} == pytest.approx(
        {"low": 0.8, "high": 0.3, "all": 0.55}
    )
    assert summary.generalizability is not None
    assert summary.generalizability[:2] == (0.7, 2)
    assert (summary.missing, summary.confidence) == ("exclude", 0.95)


def test_bands_weigh_levels_and_the_overall_rate_weighs_images() -> None:
    summary = _summary([*_level(1, 10, 10), *_level(2, 0, 90)])
    assert summary.bands["low"].value == 0.5
    assert summary.overall.value == 0.1


@given(observations(), st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(seen: list[Observation], shuffler: random.Random) -> None:
    shuffled = shuffler.sample(seen, len(seen))
    assert _summary(shuffled) == _summary(seen)


@given(observations(st.booleans()))
def test_the_rules_for_missing_verdicts_agree_if_none_is_missing(seen: list[Observation]) -> None:
    excluded = _summary(seen)
    assert _summary(seen, missing="fail")[:4] == excluded[:4]
    assert _summary(seen, missing="error")[:4] == excluded[:4]


@given(observations(), st.sampled_from(["exclude", "fail"]))
def test_every_interval_holds_its_value(seen: list[Observation], missing: str) -> None:
    summary = _summary(seen, missing=missing)
    for statistic in _figures(summary):
        assert (statistic.value is None) == (statistic.interval is None)
        if statistic.value is not None and statistic.interval is not None:
            assert 0 <= statistic.interval.low <= statistic.value <= statistic.interval.high <= 1
    held = summary.generalizability
    assert held is not None
    if held.value is not None:
        assert held.low is not None
        assert held.high is not None
        assert 0 <= held.low <= held.value <= held.high <= 4


@given(observations(), st.sampled_from(["exclude", "fail"]))
def test_counts_add_up(seen: list[Observation], missing: str) -> None:
    summary = _summary(seen, missing=missing)
    rates = summary.levels.values()
    assert summary.overall.passed == sum(rate.passed for rate in rates)
    assert summary.overall.scored == sum(rate.scored for rate in rates)
    assert summary.overall.expected == sum(rate.expected for rate in rates)
    assert summary.overall.expected == len(seen)
    for rate in rates:
        counted = rate.expected if missing == "fail" else rate.scored
        assert rate.value == (rate.passed / counted if counted else None)
        assert rate.coverage == rate.scored / rate.expected


def test_the_same_seed_gives_the_same_intervals_and_another_does_not() -> None:
    seen = [*_level(1, 50, 97), *_level(2, 30, 97)]
    bands = {"low": [1, 2]}
    first, again, other = (summarize(seen, bands=bands, epsilon=0.5, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.bands["low"].interval != other.bands["low"].interval


def test_other_levels_do_not_change_the_interval_of_a_band() -> None:
    seen = [*_level(1, 50, 97), *_level(2, 30, 97)]
    alone = summarize(seen, bands={"low": [1, 2]}, epsilon=None)
    beside = summarize([*seen, *_level(3, 4, 9)], bands={"low": [1, 2]}, epsilon=None)
    assert alone.bands == beside.bands


def test_the_interval_of_a_band_is_that_of_resampling_item_by_item() -> None:
    """Drawn one by one, in plain Python, from items that are written out."""
    chance = random.Random(0)
    levels = [[(0, 2)] * 20 + [(1, 2)] * 15 + [(2, 2)] * 25, [(0, 1)] * 30 + [(1, 1)] * 4]
    seen = [
        Observation(f"{level}-{item}", level, image < passed)
        for level, items in enumerate(levels, start=1)
        for item, (passed, of) in enumerate(items)
        for image in range(of)
    ]
    found = summarize(seen, bands={"low": [1, 2]}, epsilon=None, resamples=20_000).bands["low"].interval

    def resampled(unseen_passes: bool) -> list[float]:
        means = []
        for _ in range(4000):
            extended = chance.randrange(2)
            rates = []
            for number, items in enumerate(levels):
                of = items[0][1]
                there = [*items, (of * unseen_passes, of)] if number == extended else items
                drawn = chance.choices(there, k=len(there))
                rates.append(sum(passed for passed, _ in drawn) / sum(counted for _, counted in drawn))
            means.append(sum(rates) / 2)
        return sorted(means)

    assert found == pytest.approx((resampled(False)[100], resampled(True)[3899]), abs=0.006)


def test_what_always_failed_may_still_pass_some_day_and_the_reverse() -> None:
    """Resampling alone would give an interval without any width."""
    seen = [*_level(1, 0, 50), *_level(2, 0, 50), *_level(3, 50, 50), *_level(4, 50, 50)]
    bands = _summary(seen, resamples=2000).bands
    low, high = bands["low"].interval, bands["high"].interval
    assert low is not None
    assert high is not None
    assert low.low == 0
    assert 0.01 < low.high < clopper_pearson(0, 50).high
    assert 0.01 < 1 - high.low < clopper_pearson(0, 50).high
    assert high.high == 1


def test_ten_of_ten_items_do_not_prove_much() -> None:
    seen = [each for level in range(1, 11) for each in _level(level, 1, 1)]
    summary = summarize(seen, bands={"all": range(1, 11)}, epsilon=0.7)
    assert summary.bands["all"].interval == clopper_pearson(10, 10)
    assert summary.generalizability == (0.7, 10, 0, 10)


def test_a_band_is_no_surer_than_its_poorest_level_allows() -> None:
    alone = summarize([*_level(1, 1, 2), *_level(2, 1, 2)], bands={"low": [1, 2]}, epsilon=None)
    beside = summarize([*_level(1, 1, 2), *_level(2, 100, 200)], bands={"low": [1, 2]}, epsilon=None)
    assert alone.bands["low"].interval == beside.bands["low"].interval == clopper_pearson(2, 4)


def test_further_images_of_few_items_make_no_band_surer() -> None:
    four_each = [Observation(f"{item}", 1, item < 2) for item in range(3) for _ in range(4)]
    assert summarize(four_each, bands={"low": [1]}, epsilon=None).bands["low"].interval == pytest.approx(
        clopper_pearson(2, 3)
    )


def test_many_levels_together_refute_a_high_g_where_none_alone_would() -> None:
    seen = [each for level in range(1, 11) for each in _level(level, int(level == 1), 4)]
    held = summarize(seen, bands={}, epsilon=0.7).generalizability
    assert clopper_pearson(1, 4).high > 0.7
    assert held == (0.7, 0, 0, 1)


@pytest.mark.parametrize(("passed", "held"), [(10, (1.0, 1, 0, 1)), (9, (1.0, 0, 0, 0))])
def test_one_failure_refutes_a_rate_of_one(passed: int, held: tuple[float, int, int, int]) -> None:
    assert summarize(_level(1, passed, 10), bands={}, epsilon=1.0).generalizability == held


def test_levels_are_resampled_independently_of_each_other() -> None:
    """The mean of four like levels varies half as much as one of them."""
    seen = [each for level in range(1, 5) for each in _level(level, 100, 200)]
    bands = summarize(seen, bands={"one": [1], "four": [1, 2, 3, 4]}, epsilon=None).bands
    one, four = bands["one"].interval, bands["four"].interval
    assert one is not None
    assert four is not None
    assert (four.high - four.low) / (one.high - one.low) == pytest.approx(0.5, abs=0.05)


def test_a_level_that_nobody_looked_at_leaves_the_numbers_over_it_open() -> None:
    seen = [*_level(1, 10, 10), *_level(2, 9, 10), Observation("3-0", 3, None), *_level(4, 5, 10)]
    summary = _summary(seen)
    assert summary.levels[3] == (0, 0, 1, None, None)
    assert summary.bands["low"].value == 0.95
    assert summary.bands["high"] == ((3, 4), None, None, 10 / 11)
    assert summary.generalizability == (0.7, None, None, None)


def test_g_is_known_if_an_earlier_level_is_lost() -> None:
    seen = [*_level(1, 10, 10), *_level(2, 6, 10), Observation("3-0", 3, None), *_level(4, 0, 10)]
    held = _summary(seen, resamples=2000).generalizability
    # With other items level 2 could be held, and then nobody knows what would have become of level 3.
    assert held == (0.7, 1, 0, 3)  # ten of ten may be luck: their interval begins at 69 %


def test_a_part_of_the_levels_does_not_decide_g() -> None:
    held = _summary([*_level(1, 10, 10), *_level(2, 10, 10)]).generalizability
    assert held is not None
    assert held.value is None
    held = _summary([*_level(3, 10, 10), *_level(4, 10, 10)]).generalizability
    assert held is not None
    assert held.value is None


def test_without_epsilon_there_is_no_g() -> None:
    assert _summary(_level(1, 1, 2), epsilon=None).generalizability is None


def test_an_empty_run_has_no_values() -> None:
    summary = _summary([])
    assert summary.overall == (0, 0, 0, None, None)
    assert summary.bands["all"] == ((1, 2, 3, 4), None, None, 0.0)
    assert summary.generalizability == (0.7, None, None, None)


def test_seventy_of_a_hundred_hold_seventy_percent() -> None:
    summary = summarize([*_level(1, 70, 100), *_level(2, 69, 100)], bands={}, epsilon=0.7)
    assert summary.generalizability is not None
    assert summary.generalizability.value == 1


@settings(max_examples=20)
@given(observations(), st.sampled_from([0.5, 0.8, 0.9]))
def test_more_confidence_never_makes_an_interval_narrower(seen: list[Observation], confidence: float) -> None:
    narrow, wide = (_summary(seen, confidence=level, resamples=400) for level in (confidence, 0.99))
    for one, other in zip(_figures(narrow), _figures(wide), strict=True):
        assert (one.interval is None) == (other.interval is None)
        if one.interval is not None and other.interval is not None:
            assert other.interval.low <= one.interval.low
            assert one.interval.high <= other.interval.high


@pytest.mark.parametrize(
    ("seen", "changes", "message"),
    [
        ([("a", 1, True), ("a", 2, True)], {}, "at level 1 and at level 2"),
        ([("a", -1, True)], {}, "levels are 0 or more"),
        ([("a", 1, "false")], {}, "True, False or None"),
        ([("a", 1, 0.5)], {}, "True, False or None"),
        ([], {"missing": "skip"}, "use exclude, fail, error"),
        ([], {"confidence": 95}, r"0\.95 for 95 %"),
        ([], {"resamples": 10}, "too few"),
        ([], {"seed": -1}, "negative"),
        ([], {"epsilon": 70}, r"70 % is 0\.7"),
        ([], {"bands": {"none": []}}, "at least one"),
        ([], {"bands": {"twice": [1, 1]}}, "none twice"),
    ],
)
def test_nonsense_is_refused(seen: list[tuple[str, int, Any]], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        _summary([Observation(*each) for each in seen], **changes)


def test_statistics_load_without_numpy() -> None:
    """So that commands that need no intervals start at once."""
    program = "import sys, formalimg.stats; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
