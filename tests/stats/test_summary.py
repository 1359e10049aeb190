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
from formalimg.stats.corrected import estimate_corrected_mean
from formalimg.stats.corrected_summary import CellScore, ScoreCell, estimate_cell_mean
from formalimg.stats.intervals import EffectiveCount, clopper_pearson
from formalimg.stats.observations import Band, Observation, Rate, Summary
from formalimg.stats.summary import generalizability, generalizability_interval, missing_bounds, summarize
from tests.stats.observing import observations
from tests.support.sizes import tries
from tests.support.values import not_none

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
    assert not_none(summary.generalizability)[:2] == (0.7, 2)
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
        assert 0 <= not_none(held.low) <= held.value <= not_none(held.high) <= 4


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
    assert not_none(low).low == 0
    assert 0.01 < not_none(low).high < clopper_pearson(0, 50).high
    assert 0.01 < 1 - not_none(high).low < clopper_pearson(0, 50).high
    assert not_none(high).high == 1


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
    assert (not_none(four).high - not_none(four).low) / (not_none(one).high - not_none(one).low) == pytest.approx(
        0.5, abs=0.05
    )


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
    assert not_none(summary.generalizability).value == 1


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


RATES = st.lists(st.integers(0, 20).map(lambda twentieths: twentieths / 20), min_size=1, max_size=10).map(
    lambda rates: dict(enumerate(rates, start=1))
)


@pytest.mark.parametrize(
    ("rates", "held"),
    [
        ([0.9, 0.8, 0.7, 0.69], 3),
        ([0.69, 1.0, 1.0], 0),
        ([0.9, 0.6, 0.9], 1),
        ([1.0, 1.0, 1.0], 3),
        ([70.0 / 100], 1),
        ([0.1 + 0.6], 1),  # 0.7 less the rounding of floats
        ([0.6999999], 0),
    ],
)
def test_examples(rates: list[float], held: int) -> None:
    assert generalizability(dict(enumerate(rates, start=1)), 0.7) == held


@given(RATES, st.integers(0, 20))
def test_all_levels_up_to_it_hold_and_the_next_does_not(rates: dict[int, float], twentieths: int) -> None:
    epsilon = twentieths / 20
    held = generalizability(rates, epsilon)
    assert 0 <= held <= len(rates)
    assert all(rates[level] >= epsilon for level in range(1, held + 1))
    assert held == len(rates) or rates[held + 1] < epsilon


@given(RATES, st.floats(0, 1), st.floats(0, 1))
def test_asking_for_more_never_raises_it(rates: dict[int, float], one: float, other: float) -> None:
    assert generalizability(rates, max(one, other)) <= generalizability(rates, min(one, other))


def test_the_order_of_the_levels_does_not_matter() -> None:
    assert generalizability({3: 0.1, 1: 0.9, 2: 0.8}, 0.7) == 2


def test_levels_may_begin_later() -> None:
    assert generalizability({3: 0.9, 4: 0.5}, 0.7) == 3
    assert generalizability({3: 0.6, 4: 0.9}, 0.7) == 0


@pytest.mark.parametrize(
    ("rates", "epsilon", "message"),
    [
        ({1: 0.9, 3: 0.9}, 0.7, "level 2 is missing"),
        ({}, 0.7, "no level"),
        ({0: 0.9}, 0.7, "counted from 1"),
        ({1: 70.0}, 0.7, r"70 % is 0\.7"),
        ({1: float("nan")}, 0.7, "is not between"),
        ({1: 0.9}, 70, r"70 % is 0\.7"),
    ],
)
def test_nonsense_levels_are_refused(rates: dict[int, float], epsilon: float, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        generalizability(rates, epsilon)


def test_unknown_levels_are_lost_for_the_lower_end_and_held_for_the_upper_one() -> None:
    all_pass, all_fail = EffectiveCount(50, 50), EffectiveCount(0, 50)
    assert generalizability_interval({1: all_pass, 2: all_pass, 3: all_fail}, 0.5, 0.95) == (2, 2)
    assert generalizability_interval({1: all_pass, 2: None, 3: all_pass}, 0.5, 0.95) == (1, 3)
    assert generalizability_interval({1: None, 2: all_fail, 3: all_pass}, 0.5, 0.95) == (0, 1)


def _level_of_cells(rng: random.Random, skill: float, images: int, labels: int) -> list[ScoreCell]:
    """Images of four parts each; the judge takes a third of what is wrong for right, and both answers are labelled."""
    cells: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _ in range(images):
        shown = [rng.random() < skill for _ in range(4)]
        said = [yes or rng.random() < 1 / 3 for yes in shown]
        cells[all(said)].append((sum(said) / 4, sum(shown) / 4))
    return [_cell(cell, rng.sample(range(len(cell)), min(labels, len(cell)))) for cell in cells.values()]


def _cell(scores: Sequence[tuple[float, float]], labelled: Sequence[int]) -> ScoreCell:
    return [CellScore(object(), judge, human if n in labelled else None) for n, (judge, human) in enumerate(scores)]


@pytest.mark.parametrize(("images", "labels"), [(40, 3), (60, 8)])
def test_the_true_mean_is_covered_where_the_judge_is_too_lenient(images: int, labels: int) -> None:
    rng, skills, seen = random.Random(labels), (0.9, 0.7, 0.5), tries(100, 1000)
    held = lowered = 0
    for _ in range(seen):
        found = estimate_cell_mean([cell for skill in skills for cell in _level_of_cells(rng, skill, images, labels)])
        assert found is not None
        held += found.low <= 0.7 <= found.high
        lowered += found.estimate < found.raw
    assert held / seen >= 0.93
    assert lowered / seen >= 0.95  # a few labels can mislead


def _scores(rng: random.Random, mood: float, level: int) -> tuple[float, float, bool]:
    """Four parts each of an image, by people and by a judge that takes some wrong ones for right."""
    shown = [rng.random() < min(1.0, max(0.0, 0.8 - 0.2 * level + mood)) for _ in range(4)]
    said = [rng.random() < (0.85 if yes else 0.3) for yes in shown]
    return sum(shown) / 4, sum(said) / 4, all(said)


@pytest.mark.parametrize(("labels", "of_items"), [(100, False), (320, False), (100, True)])
def test_the_true_mean_is_covered_with_four_images_an_item_that_are_alike(labels: int, of_items: bool) -> None:
    rng, seen, held = random.Random(labels), tries(100, 1000), 0
    # What an item adds to all of its images is symmetric, and never leaves the probabilities.
    truth = 0.6
    for _ in range(seen):
        images = [
            (f"{level}-{item}", level, _scores(rng, mood, level))
            for level in range(3)
            for item in range(30)
            for mood in [rng.choice([-0.2, 0.2])]
            for _ in range(4)
        ]
        items = sorted({name for name, _, _ in images})
        chosen = set(rng.sample(items, labels // 4)) if of_items else set(rng.sample(range(len(images)), labels))
        cells: dict[tuple[int, bool], list[CellScore]] = {}
        for n, (name, level, (human, judge, passed)) in enumerate(images):
            label = human if (name if of_items else n) in chosen else None
            cells.setdefault((level, passed), []).append(CellScore(name, judge, label))
        corrected = estimate_cell_mean([*cells.values()])
        held += not_none(corrected).low <= truth <= not_none(corrected).high
    assert held / seen >= 0.93


def test_one_cell_is_a_plain_corrected_mean() -> None:
    judge = [0.25, 0.5, 0.75, 1.0] * 10
    labelled = [(0.25, 0.0), (0.5, 0.5), (0.75, 0.5), (1.0, 1.0), (0.5, 0.25), (1.0, 0.75)]
    images = [CellScore(n, score) for n, score in enumerate(judge)]
    for pair in labelled:
        place = next(n for n, image in enumerate(images) if image.human is None and image.judge == pair[0])
        images[place] = CellScore(place, *pair)
    found, plain = estimate_cell_mean([images, []]), estimate_corrected_mean(judge, labelled)
    assert found is not None
    assert (found.estimate, found.raw, found.labels) == (plain.estimate, plain.raw, 6)
    assert found.low == pytest.approx(plain.low, abs=0.02)
    assert found.high == pytest.approx(plain.high, abs=0.02)


def test_cells_weigh_by_their_images_and_unlabelled_ones_could_have_any_mean() -> None:
    full = [CellScore(n, 1.0, 1.0 if n < 6 else None) for n in range(30)]
    half = [CellScore(n, 0.5) for n in range(30, 40)]
    found = estimate_cell_mean([full, half])
    assert found is not None
    assert found.estimate == pytest.approx(0.75 * 1 + 0.25 * 0.5)
    assert found.low < 0.76
    assert found.high == 1
    assert estimate_cell_mean([half]) is None


SEEN = [
    *(Observation(f"a{number}", 1, True) for number in range(6)),
    *(Observation(f"b{number}", 1, False) for number in range(2)),
    *(Observation(f"c{number}", 1, None) for number in range(2)),
]

MISSING_BANDS = {"all": [1, 2, 3, 4], "first": [1]}


def test_excluded_they_leave_the_rate_and_lower_the_coverage() -> None:
    summary = summarize(SEEN, bands={"first": [1]}, epsilon=0.7)
    assert summary.levels[1] == (6, 8, 10, 0.75, clopper_pearson(6, 8))
    assert summary.overall.coverage == summary.bands["first"].coverage == 0.8
    assert not_none(summary.generalizability).value == 1


def test_counted_as_failures_they_lower_the_rate() -> None:
    summary = summarize(SEEN, bands={"first": [1]}, epsilon=0.7, missing="fail")
    assert summary.levels[1] == (6, 8, 10, 0.6, clopper_pearson(6, 10))
    assert summary.overall.coverage == summary.bands["first"].coverage == 0.8
    assert not_none(summary.generalizability).value == 0


def test_refused_they_are_counted_in_the_message() -> None:
    with pytest.raises(FormalimgError, match="2 of 10 images have no verdict: resume the run"):
        summarize(SEEN, bands={}, epsilon=None, missing="error")


def test_a_level_without_any_verdict_counts_as_lost_only_if_asked() -> None:
    seen = [Observation("a", 1, None)]
    assert summarize(seen, bands={}, epsilon=0.7).levels[1].value is None
    assert summarize(seen, bands={}, epsilon=0.7, missing="fail").levels[1].value == 0


def test_bounds_of_an_example() -> None:
    worst, best = missing_bounds(SEEN, bands={"first": [1], "more": [1, 2]}, epsilon=0.7)
    assert worst == ({1: 0.6}, 0.6, {"first": 0.6, "more": None}, 0)
    assert best == ({1: 0.8}, 0.8, {"first": 0.8, "more": None}, None)


@given(observations())
def test_bounds_are_the_summaries_of_the_two_extremes(seen: list[Observation]) -> None:
    bounds = missing_bounds(seen, bands=MISSING_BANDS, epsilon=0.7)
    for figures, verdict in ((bounds.worst, False), (bounds.best, True)):
        counted = [each._replace(passed=verdict if each.passed is None else each.passed) for each in seen]
        summary = summarize(counted, bands=MISSING_BANDS, epsilon=0.7, resamples=40)
        assert figures.levels == {level: rate.value for level, rate in summary.levels.items()}
        assert figures.overall == summary.overall.value
        assert figures.bands == {name: band.value for name, band in summary.bands.items()}
        assert figures.generalizability == not_none(summary.generalizability).value


@given(observations())
def test_values_lie_within_their_bounds(seen: list[Observation]) -> None:
    worst, best = missing_bounds(seen, bands=MISSING_BANDS, epsilon=None)
    for missing in ("exclude", "fail"):
        summary = summarize(seen, bands=MISSING_BANDS, epsilon=None, missing=missing, resamples=40)
        for level, rate in summary.levels.items():
            if rate.value is not None:
                assert worst.levels[level] <= rate.value <= best.levels[level]
        assert worst.generalizability is best.generalizability is None


@given(observations())
def test_the_worst_bound_is_what_counting_failures_gives(seen: list[Observation]) -> None:
    summary = summarize(seen, bands=MISSING_BANDS, epsilon=0.5, missing="fail", resamples=40)
    worst = missing_bounds(seen, bands=MISSING_BANDS, epsilon=0.5).worst
    assert worst.overall == summary.overall.value
    assert worst.bands == {name: band.value for name, band in summary.bands.items()}
