"""A judge measured against the majority of people."""

from __future__ import annotations

import random
from collections import Counter
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.agreement import consistency
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.precision_recall import Classification, classification

ANSWERS = st.sampled_from([True, False, None])


def _of(true_yes: int, wrong_yes: int, wrong_no: int, true_no: int) -> Classification:
    counts = {(True, True): true_yes, (False, True): wrong_yes, (True, False): wrong_no, (False, False): true_no}
    return classification([pair for pair, count in counts.items() for _ in range(count)])


def test_every_figure_by_hand() -> None:
    found = classification(
        [(True, True)] * 6 + [(False, True)] * 2 + [(True, False)] * 4 + [(False, False)] * 8 + [(None, True)] * 3
    )
    assert found.confusion == (6, 2, 4, 8)
    assert (found.n, found.left_out) == (20, 3)
    assert found.accuracy == (14, 20, 0.7, clopper_pearson(14, 20))
    assert found.precision == (6, 8, 0.75, clopper_pearson(6, 8))
    assert found.recall == found.sensitivity == (6, 10, 0.6, clopper_pearson(6, 10))
    assert found.specificity == (8, 10, 0.8, clopper_pearson(8, 10))
    assert found.f1.value == pytest.approx(12 / 18)
    assert found.balanced_accuracy.value == pytest.approx(0.7)


def test_the_judge_of_formalimg() -> None:
    """Of 400 images 322 are judged as people do, with an F1 of 0.840: so 204 or 205 images pass for both."""
    possible = {both: _of(both, 40, 38, 322 - both) for both in range(203, 207)}
    assert all((it.accuracy.value, it.n) == (0.805, 400) for it in possible.values())
    assert [both for both, it in possible.items() if round(it.f1.value or nan, 3) == 0.840] == [204, 205]
    interval = possible[205].f1.interval
    assert interval is not None
    assert interval == pytest.approx((0.80, 0.875), abs=0.01)
    assert possible[205].accuracy.interval == pytest.approx((0.7627, 0.8427), abs=1e-4)


def test_the_parser_of_formalimg() -> None:
    """Precision 96.67 %, recall 97.80 %, F1 97.23 %: for instance 667 objects found, 23 made up, 15 overlooked."""
    found = _of(667, 23, 15, 0)
    figures = (found.precision.value, found.recall.value, found.f1.value)
    assert [round(100 * (value or nan), 2) for value in figures] == [96.67, 97.80, 97.23]


def test_what_is_not_defined_is_not_made_up() -> None:
    nothing = (0, 0, None, None)
    empty = classification([(None, True), (False, None)])
    assert (empty.n, empty.left_out) == (0, 2)
    assert {empty.accuracy, empty.precision, empty.recall, empty.specificity} == {nothing}
    assert empty.f1 == empty.balanced_accuracy == (None, None)
    never = _of(0, 0, 0, 12)
    assert never.precision == never.recall == nothing
    assert never.f1 == never.balanced_accuracy == (None, None)
    assert never.specificity.value == never.accuracy.value == 1
    always_wrong = _of(0, 0, 12, 0)
    assert (always_wrong.f1.value, always_wrong.recall.value) == (0, 0)


def test_all_right_is_not_certain() -> None:
    for statistic in (_of(15, 0, 0, 15).f1, _of(15, 0, 0, 15).balanced_accuracy):
        assert statistic.value == 1
        assert statistic.interval is not None
        assert 0.75 < statistic.interval.low < 0.95
        assert statistic.interval.high == 1


def test_who_always_says_yes_is_no_better_than_chance() -> None:
    found = _of(90, 10, 0, 0)
    assert found.accuracy.value == 0.9
    assert found.balanced_accuracy.value == 0.5


@given(st.lists(st.tuples(ANSWERS, ANSWERS), max_size=30), st.randoms(use_true_random=False))
def test_counts_add_up_and_order_does_not_matter(
    pairs: list[tuple[bool | None, bool | None]], chance: random.Random
) -> None:
    found = classification(pairs, resamples=100)
    assert classification(chance.sample(pairs, len(pairs)), resamples=100) == found
    agreement = consistency(pairs)
    assert (found.n, found.left_out, sum(found.confusion)) == (agreement.n, agreement.left_out, agreement.n)
    assert found.accuracy == (agreement.equal, agreement.n, agreement.value, agreement.interval)
    turned = classification([(said, truth) for truth, said in pairs], resamples=100)
    assert (turned.precision, turned.recall, turned.f1.value) == (found.recall, found.precision, found.f1.value)
    if found.precision.value and found.recall.value:
        harmonic = 2 / (1 / found.precision.value + 1 / found.recall.value)
        assert found.f1.value == pytest.approx(harmonic)
    for statistic in (found.f1, found.balanced_accuracy):
        assert statistic.value is None or 0 <= statistic.value <= 1


def test_intervals_hold_the_truth_at_least_about_as_often_as_they_say() -> None:
    """Of 60 images people like 6 in 10; the judge finds 8 of 10 of these, and 3 of 10 of the others."""
    chance = random.Random(6)
    precision = 0.48 / (0.48 + 0.12)
    truths = {"f1": 2 / (1 / precision + 1 / 0.8), "balanced_accuracy": 0.75}
    held = Counter[str]()
    trials = 200
    for _ in range(trials):
        likes = [chance.random() < 0.6 for _ in range(60)]
        found = classification([(like, chance.random() < (0.8 if like else 0.3)) for like in likes], resamples=400)
        for name, truth in truths.items():
            interval = getattr(found, name).interval
            held[name] += interval.low <= truth <= interval.high
    assert all(count / trials > 0.92 for count in held.values()), held


def test_questions_about_one_image_are_not_independent() -> None:
    pairs = [(True, True)] * 24 + [(True, False)] * 8 + [(False, True)] * 4 + [(False, False)] * 12
    often = [pair for pair in pairs for _ in range(5)]
    once, naive = classification(pairs), classification(often)
    clustered = classification(often, items=[number // 5 for number in range(len(often))])
    for name in ("accuracy", "recall", "f1", "balanced_accuracy"):
        widths = [getattr(it, name).interval.high - getattr(it, name).interval.low for it in (once, clustered, naive)]
        assert widths[1] == pytest.approx(widths[0], rel=0.1), name
        assert widths[2] < 0.6 * widths[0], name


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(FormalimgError, match="not an answer"):
        classification([(True, 1)])  # type: ignore[list-item]  # what merely counts as yes
    with pytest.raises(FormalimgError, match="an item for each"):
        classification([(True, True)], items=["a", "b"])
