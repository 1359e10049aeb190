"""Differences corrected by labels: equal to what they should be where it is known, and covering it otherwise."""

from __future__ import annotations

import random
from math import atan, pi, sqrt
from statistics import NormalDist, fmean

import pytest

from formalimg.stats.comparison import PairedDifference, with_missing
from formalimg.stats.corrected_difference import LabelledImage, PairedItem, estimate_corrected_difference, pair_labelled
from formalimg.stats.intervals import student_p, student_quantile
from tests.support.values import not_none


@pytest.mark.parametrize("freedom", [1, 2.5, 10, 300])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_p_of_a_quantile_is_what_the_quantile_leaves(confidence: float, freedom: float) -> None:
    assert student_p(student_quantile(confidence, freedom), freedom) == pytest.approx(1 - confidence)
    assert student_p(0.0, freedom) == 1.0


@pytest.mark.parametrize("t", [0.0, 1e-200, 1e-160, 1e-18, 1e-9, 1e-4, 0.01, 0.5, 0.999999, 1.0, 1.000001, 3.0, 40.0])
def test_p_is_right_for_every_distance(t: float) -> None:
    assert student_p(t, 1) == pytest.approx(1 - 2 / pi * atan(t))
    assert student_p(t, 2) == pytest.approx(1 - t / sqrt(2 + t * t))
    large = NormalDist().cdf(-t) * 2
    assert student_p(t, 1e7) == pytest.approx(large, rel=1e-3, abs=1e-12)


def test_no_difference_but_for_rounding_is_none() -> None:
    """As many wins as losses, in a sum that is not exactly 0."""
    values = [-1.0] * 7 + [0.0] * 25 + [1.0] * 7
    found = estimate_corrected_difference([PairedItem(1, 0.0, value + 1e-15, 0.0) for value in values])
    assert not_none(found).p == pytest.approx(1.0)


def test_with_all_labels_it_is_the_difference_by_people_whatever_the_judge_says() -> None:
    chance = random.Random(1)
    people = [chance.choice([-1.0, 0.0, 0.0, 1.0]) for _ in range(60)]
    judge = [chance.choice([-1.0, 0.0, 1.0]) for _ in people]
    items = [PairedItem(1, said, true, said) for said, true in zip(judge, people, strict=True)]
    found = estimate_corrected_difference(items)
    assert found is not None
    assert found.estimate == pytest.approx(fmean(people))
    assert (found.items, found.wins) == (60, people.count(1.0))


def test_a_judge_that_always_agrees_makes_few_labels_enough() -> None:
    chance = random.Random(2)
    true = [float(chance.random() < 0.4) for _ in range(400)]
    items = [PairedItem(1, value, value if n < 30 else None, value) for n, value in enumerate(true)]
    blind = [PairedItem(1, 0.0, value if n < 30 else None, 0.0) for n, value in enumerate(true)]
    seeing, alone = estimate_corrected_difference(items), estimate_corrected_difference(blind)
    assert seeing is not None
    assert alone is not None
    assert seeing.estimate == pytest.approx(fmean(true))
    assert alone.estimate == pytest.approx(fmean(true[:30]))
    assert not_none(seeing.error).value < 0.6 * not_none(alone.error).value


def test_levels_count_alike_however_many_of_their_items_are_labelled() -> None:
    items = [PairedItem(1, 0.0, 1.0, 0.0, 0.5)] * 10 + [PairedItem(1, 0.0)] * 10
    items += [PairedItem(2, 0.0, 0.0, 0.0, 1.0)] * 60
    found = estimate_corrected_difference(items, (1, 2))
    assert not_none(found).estimate == pytest.approx(0.5)
    pooled = estimate_corrected_difference(items)
    assert not_none(pooled).estimate == pytest.approx(0.25), "20 of 80 items are of the first level"


def test_items_that_were_rarely_drawn_count_for_those_that_were_not() -> None:
    often = [PairedItem(1, 0.0, 1.0, 0.0, 1.0)] * 20
    rarely = [PairedItem(1, 0.0, -1.0, 0.0, 0.25)] * 5 + [PairedItem(1, 0.0)] * 15
    found = estimate_corrected_difference(often + rarely)
    assert not_none(found).estimate == pytest.approx(0.0)


@pytest.mark.parametrize("of_first", [0, 1])
def test_labels_of_what_has_a_verdict_make_no_winner_of_what_has_none(of_first: int) -> None:
    """Two equal models; a third of the failures of one have no verdict, and nobody labelled them."""
    chance = random.Random(4)
    runs: list[dict[str, list[LabelledImage]]] = [{}, {}]
    lost = set()
    for n in range(6_000):
        right = [n % 2 == 0, n % 4 < 2]  # half of the images each
        if not right[of_first] and chance.random() < 0.33:
            lost.add(str(n))
        for run, passed in zip(runs, right, strict=True):
            run[str(n)] = [LabelledImage(1, float(passed), float(passed))]

    def compared(*values: float | None) -> PairedDifference:
        """Compare the runs with these verdicts for what is missing."""
        counted = [dict(run) for run in runs]
        for item in lost:
            del counted[of_first][item]
            if (value := values[of_first]) is not None:
                counted[of_first][item] = [LabelledImage(1, value, value, is_assumed=True)]
        found = estimate_corrected_difference([*pair_labelled(*counted).values()])
        return not_none(found)

    plain, worst, best = compared(None, None), compared(0.0, 1.0), compared(1.0, 0.0)
    assert plain.p is not None
    assert plain.p < 0.001, "on what is scored"
    found = with_missing(plain, worst, best, is_within=True)
    assert found.p == 1.0
    assert not_none(found.interval).low <= 0 <= not_none(found.interval).high


def test_an_assumed_image_counts_for_itself_and_labels_for_the_other_images_of_their_item() -> None:
    one = [LabelledImage(1, 0.0, 0.0, is_assumed=True), LabelledImage(1, 1.0, 1.0), *[LabelledImage(1, 1.0, None)] * 2]
    other = [LabelledImage(1, 0.0, 0.0)]
    assert pair_labelled({"a": one}, {"a": other}, by_item=True) == {"a": PairedItem(1, 0.75, 0.75, 0.75, 1.0)}
    unlabelled = [one[0], one[2]]
    assert pair_labelled({"a": unlabelled}, {"a": other}, by_item=True) == {"a": PairedItem(1, 0.5)}


def test_answers_that_are_labelled_more_often_do_not_count_more() -> None:
    """All passing images of one run are labelled and a quarter of the failing ones; items have one of each."""
    one, other = {}, {}
    for n in range(160):
        passing = LabelledImage(1, 1.0, float(n % 4 == 0))  # the judge is wrong more often than not
        failing = LabelledImage(1, 0.0, float(n % 16 > 2) if n % 16 in (0, 5, 9, 14) else None)
        one[str(n)] = [passing, failing]
        other[str(n)] = [LabelledImage(1, 0.0, 0.0)]
    found = estimate_corrected_difference([*pair_labelled(one, other, by_item=False).values()])
    assert not_none(found).estimate == pytest.approx((1 / 4 + 3 / 4) / 2, abs=0.03)


def test_items_of_assumed_images_are_drawn_where_those_of_the_other_run_are() -> None:
    """Each run has its own draw: 10 of 40 items of one; of the other, half are assumed and half are all labelled."""
    one = {str(n): [LabelledImage(1, 1.0, 1.0 if n < 10 else None)] for n in range(40)}
    other = {str(n): [LabelledImage(1, float(n < 20), float(n < 20), is_assumed=n < 20)] for n in range(40)}
    pairs = pair_labelled(one, other, by_item=False)
    assert {item.probability for name, item in pairs.items() if int(name) < 10} == {0.25}


def test_without_labels_or_a_level_there_is_none() -> None:
    items = [PairedItem(1, 1.0)] * 20 + [PairedItem(1, 1.0, 1.0, 1.0)] * 2
    assert estimate_corrected_difference(items) is None
    assert estimate_corrected_difference([*items, *items], (1, 2)) is None


def test_intervals_cover_people_also_where_the_judge_favours_one_model() -> None:
    """Two equal models over ten levels; the judge passes a quarter of the wrong images of the first."""
    chance = random.Random(3)
    covered, alarms, rounds = 0, 0, 400
    for _ in range(rounds):
        items = []
        for n in range(300):
            level, hard = 1 + n % 10, chance.random()
            good = [chance.random() < 1 - 0.07 * (n % 10) - 0.2 * hard for _ in range(2)]
            seen = [good[0] or chance.random() < 0.25, good[1]]
            judge, people = float(seen[0] - seen[1]), float(good[0] - good[1])
            items.append(PairedItem(level, judge, people if n < 80 else None, judge, 80 / 300))
        found = estimate_corrected_difference(items, range(1, 11))
        assert found is not None
        covered += not_none(found.interval).low <= 0 <= not_none(found.interval).high
        alarms += not_none(found.p) <= 0.05
    assert covered / rounds >= 0.93
    assert alarms / rounds <= 0.07
