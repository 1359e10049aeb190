"""Corrected levels, bands, Overall and G of a run, and which images to label."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.corrected import CorrectedRate, corrected_rate
from formalimg.stats.corrected_summary import LabelledObservation, summarize_corrected
from formalimg.stats.observations import Observation
from formalimg.stats.planning import allocate_labels
from formalimg.stats.summary import generalizability, summarize
from tests.support.sizes import tries


def observed(level: int, passed: bool, human: bool | None, times: int, first: int = 0) -> list[LabelledObservation]:
    return [
        LabelledObservation(f"{level} {passed} {human} {number}", level, passed, human)
        for number in range(first, first + times)
    ]


def one_level(level: int, counts: Mapping[tuple[bool, bool | None], int]) -> list[LabelledObservation]:
    return [one for (passed, human), times in counts.items() for one in observed(level, passed, human, times)]


EASY = {(True, True): 18, (True, False): 2, (True, None): 140, (False, True): 6, (False, False): 4, (False, None): 30}
HARD = {(True, True): 6, (True, False): 6, (True, None): 28, (False, True): 1, (False, False): 19, (False, None): 140}


def test_levels_are_corrected_each_by_its_own_labels() -> None:
    found = summarize_corrected(one_level(1, EASY) + one_level(2, HARD), bands={"Both": [1, 2]}, epsilon=0.7)
    pairs = [pair for pair, times in HARD.items() for _ in range(times) if pair[1] is not None]
    hard = found.levels[2]
    assert hard == pytest.approx(corrected_rate(40, 200, [(judge, bool(human)) for judge, human in pairs]))
    easy = found.levels[1]
    assert easy is not None
    assert easy.estimate == pytest.approx(0.8 * 0.9 + 0.2 * 0.6)
    assert easy.raw == 0.8
    assert found.labels == 62
    assert found.generalizability is not None
    assert (found.generalizability.value, found.generalizability.low) == (1, 0)
    band, overall = found.bands["Both"], found.overall
    assert band is not None
    assert overall is not None
    assert hard is not None
    assert band.estimate == pytest.approx((easy.estimate + hard.estimate) / 2)
    assert overall == pytest.approx(band), "there are equally many images of both levels"


def test_overall_goes_by_images_and_bands_by_levels() -> None:
    """However differently labels were drawn: here a tenth of one level, and nine tenths of the other."""
    seen = one_level(1, {(True, True): 10, (True, None): 90, (False, False): 10, (False, None): 90})
    seen += one_level(2, {(True, False): 90, (True, None): 10})
    found = summarize_corrected(seen, bands={"Both": [2, 1]}, epsilon=None)
    assert found.generalizability is None
    assert found.overall is not None
    assert found.bands["Both"] is not None
    assert found.overall.estimate == pytest.approx(100 / 300)
    assert found.bands["Both"].estimate == pytest.approx(0.25)
    assert (found.overall.raw, found.bands["Both"].raw) == pytest.approx((200 / 300, 0.75))


def test_images_without_a_verdict_are_left_out_with_their_labels() -> None:
    seen = one_level(1, EASY)
    unscored = [LabelledObservation(f"unscored {number}", 1, None, True) for number in range(20)]
    alone, together = (summarize_corrected(those, bands={}, epsilon=0.7) for those in (seen, seen + unscored))
    assert together == alone


def test_levels_without_labels_have_no_rate() -> None:
    seen = one_level(1, EASY) + one_level(2, {(True, None): 50, (False, None): 50})
    found = summarize_corrected(seen, bands={"Hard": [2], "Both": [1, 2], "None": [3]}, epsilon=0.7)
    assert found.levels[2] is None
    assert found.bands["Hard"] is None
    assert found.bands["None"] is None
    assert found.overall is not None, "level 1 has labels of both answers, which stand for those of level 2"
    assert found.generalizability is not None
    assert found.generalizability.value is None
    assert summarize_corrected([], bands={}, epsilon=None).overall is None


def test_where_most_images_are_of_levels_without_labels_all_of_them_may_pass_or_none() -> None:
    seen = [*one_level(1, {(True, True): 10, (False, False): 10})]
    for level in (2, 3):
        seen += one_level(level, {(True, None): 50, (False, None): 50})
    found = summarize_corrected(seen, bands={}, epsilon=None).overall
    assert found is not None
    assert found.low < 0.05
    assert found.high > 0.95
    assert found.effective_labels < 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (LabelledObservation("a", 1, True, "yes"), "the label of item 'a'"),  # type: ignore[arg-type]
        (LabelledObservation("a", 1, "yes", True), "the verdict on item 'a'"),  # type: ignore[arg-type]
        (LabelledObservation("a", -1, True, True), "level -1"),
    ],
)
def test_impossible_observations_are_refused(wrong: LabelledObservation, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        summarize_corrected([wrong], bands={}, epsilon=None)


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_with_labels_that_all_agree_estimates_are_the_raw_ones(seen: list[tuple[int, bool, bool]]) -> None:
    labelled = [
        LabelledObservation(str(number), level, passed, passed) for number, (level, passed, _) in enumerate(seen)
    ]
    found = summarize_corrected(labelled, bands={"All": [1, 2, 3]}, epsilon=0.5)
    raw = summarize((Observation(*one[:3]) for one in labelled), bands={"All": [1, 2, 3]}, epsilon=0.5, resamples=40)
    for level, rate in raw.levels.items():
        of_level = found.levels[level]
        assert of_level is not None
        assert of_level.estimate == pytest.approx(rate.value)
    assert found.overall is not None
    assert found.overall.estimate == pytest.approx(raw.overall.value)
    assert raw.generalizability is not None
    assert found.generalizability is not None
    assert found.generalizability.value == raw.generalizability.value


def test_several_images_of_an_item_that_are_all_alike_count_once() -> None:
    """Nothing is won by labelling the same image several times."""
    seen = one_level(1, EASY)
    once = summarize_corrected(seen, bands={}, epsilon=None).overall
    often = summarize_corrected([one for one in seen for _ in range(4)], bands={}, epsilon=None).overall
    apart = summarize_corrected(
        [one._replace(item=f"{one.item} {copy}") for one in seen for copy in range(4)], bands={}, epsilon=None
    ).overall
    assert once is not None
    assert often is not None
    assert apart is not None
    assert often.estimate == once.estimate
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=0.02)
    assert apart.high - apart.low < 0.6 * (often.high - often.low)


CURVE = [0.9, 0.78, 0.6, 0.35]


@pytest.mark.parametrize(("labels", "samples"), [(48, 1), (160, 1), (120, 3)][:: tries(2, 1)])
def test_truths_are_covered_by_stratified_labels(labels: int, samples: int) -> None:
    """Labels by `allocate_labels`, a judge that is lenient the more the worse a model is."""
    chance, trials = np.random.default_rng(6), tries(60, 400)
    held = generalizability(dict(enumerate(CURVE, start=1)), 0.7)
    covered = {"overall": 0, "levels": 0.0, "G": 0}
    for _ in range(trials):
        found = summarize_corrected(_simulated(chance, labels, samples), bands={}, epsilon=0.7)
        covered["overall"] += _holds(found.overall, fmean(CURVE))
        covered["levels"] += fmean(_holds(found.levels[level], rate) for level, rate in enumerate(CURVE, start=1))
        assert found.generalizability is not None
        low, high = found.generalizability.low, found.generalizability.high
        assert low is not None
        assert high is not None
        covered["G"] += low <= held <= high
    assert min(covered.values()) >= (0.88 if trials == 60 else 0.925) * trials, covered


def _simulated(chance: np.random.Generator, labels: int, samples: int) -> list[LabelledObservation]:
    seen: list[LabelledObservation] = []
    humans: list[bool] = []
    for level, rate in enumerate(CURVE, start=1):
        of_items = chance.beta(2 * rate, 2 * (1 - rate), 120)[:, None] if samples > 1 else np.full((120, 1), rate)
        good = chance.random((120, samples)) < of_items
        passed = np.where(good, chance.random(good.shape) < 0.93, chance.random(good.shape) < 0.5 - 0.08 * level)
        for item in range(120):
            for number in range(samples):
                seen.append(LabelledObservation(f"{level}-{item}", level, bool(passed[item, number])))
                humans.append(bool(good[item, number]))
    cells: dict[tuple[int, bool], list[int]] = {}
    for number, one in enumerate(seen):
        cells.setdefault((one.level, bool(one.passed)), []).append(number)
    plan = allocate_labels({cell: len(those) for cell, those in cells.items()}, labels)
    for cell, wanted in plan.cells.items():
        for number in chance.choice(cells[cell], wanted, replace=False):
            seen[number] = seen[number]._replace(human=humans[number])
    return seen


def _holds(found: CorrectedRate | None, truth: float) -> bool:
    assert found is not None
    return found.low <= truth <= found.high


CELLS = st.dictionaries(st.tuples(st.integers(1, 4), st.booleans()), st.integers(0, 60), min_size=1)


@given(CELLS, st.data())
def test_labels_go_to_images_that_have_none(cells: dict[tuple[int, bool], int], data: st.DataObject) -> None:
    known = {}
    for cell, images in cells.items():
        done = data.draw(st.integers(0, images))
        known[cell] = (data.draw(st.integers(0, done)), done)
    left = sum(cells.values()) - sum(done for _, done in known.values())
    if not sum(cells.values()):
        return
    labels = data.draw(st.integers(0, left))
    found = allocate_labels(cells, labels, cells_known=known)
    assert sum(found.cells.values()) == labels
    assert all(0 <= number <= cells[cell] - known[cell][1] for cell, number in found.cells.items())
    after = {cell: number + known[cell][1] for cell, number in found.cells.items()}
    if labels >= 2 * len(cells):
        assert all(number >= min(2, cells[cell]) for cell, number in after.items())
    assert 0 <= found.half_width <= 0.5


def test_labels_are_shared_as_neyman_says() -> None:
    """In proportion to images and to the standard deviation of what people say, as far as it is known."""
    cells = {(1, True): 600, (1, False): 400}
    even = allocate_labels(cells, 100).cells
    assert even[1, True] == pytest.approx(60, abs=1)
    known = {(1, True): (60, 60), (1, False): (20, 40)}
    found = allocate_labels(cells, 100, cells_known=known).cells
    assert found[1, False] > 60, "people agree with what the judge passes; the rest is a coin toss"
    shares = {(1, True): 600 * sqrt(0.0122 * 0.9878), (1, False): 400 * 0.5}
    after = found[1, True] + 60, found[1, False] + 40
    if found[1, True]:
        assert after[0] / after[1] == pytest.approx(shares[1, True] / shares[1, False], rel=0.2)


def test_the_width_to_be_expected_is_about_that_of_the_interval() -> None:
    """With judges as they are guessed to be: one in five of either answer is wrong."""
    cells = {(1, True): 160, (1, False): 40, (2, True): 60, (2, False): 140}
    widths = []
    for labels in (40, 160):
        plan = allocate_labels(cells, labels)
        seen: list[LabelledObservation] = []
        for (level, passed), number in plan.cells.items():
            wrong = round(number / 5)
            seen += observed(level, passed, passed, number - wrong) + observed(level, passed, not passed, wrong)
            seen += observed(level, passed, None, cells[level, passed] - number)
        found = summarize_corrected(seen, bands={}, epsilon=None).overall
        assert found is not None
        assert plan.half_width == pytest.approx((found.high - found.low) / 2, rel=0.05)
        widths.append(plan.half_width)
    assert widths[1] < 0.7 * widths[0]


@pytest.mark.parametrize(
    ("cells", "labels", "known", "message"),
    [
        ({(1, True): 5}, 6, None, "6 labels were asked for, of 5 images"),
        ({(1, True): 5}, -1, None, "-1 labels were asked for"),
        ({}, 0, None, "no images to label"),
        ({(1, True): 5}, 1, {(1, True): (3, 2)}, "3 of 2 labels say yes"),
        ({(1, True): 5}, 1, {(1, True): (3, 6)}, "of 5 images at level 1 that the judge passed"),
        ({(1, True): 5}, 1, {(2, False): (0, 1)}, "of 0 images at level 2 that the judge failed"),
    ],
)
def test_impossible_allocations_are_refused(
    cells: dict[tuple[int, bool], int],
    labels: int,
    known: dict[tuple[int, bool], tuple[int, int]] | None,
    message: str,
) -> None:
    with pytest.raises(FormalimgError, match=message):
        allocate_labels(cells, labels, cells_known=known)
