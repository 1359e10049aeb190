"""Kendall's tau-b and rank correlations by item: compared with the definition, ties included."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from formalimg.errors import FormalimgError
from formalimg.stats.ranking import kendall, rank_correlations, spearman
from tests.support.sizes import tries


def by_definition(pairs: list[tuple[float, float]]) -> float | None:
    """Tau-b pair by pair."""
    excess = untied = other_untied = 0
    for place, (one, other) in enumerate(pairs):
        for second, second_other in pairs[:place]:
            sign = (one > second) - (one < second)
            other_sign = (other > second_other) - (other < second_other)
            excess += sign * other_sign
            untied += sign != 0
            other_untied += other_sign != 0
    return excess / sqrt(untied * other_untied) if untied and other_untied else None


@given(some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), max_size=25))
@settings(max_examples=tries(30, 1000), deadline=None)
def test_tau_is_that_of_the_definition_with_ties(pairs: list[tuple[float, float]]) -> None:
    expected = by_definition(pairs)
    found = kendall(pairs).value
    assert found == (None if expected is None or len(pairs) < 3 else pytest.approx(expected))


def test_the_same_order_is_one_and_the_opposite_minus_one() -> None:
    assert kendall([(1, 2), (2, 5), (3, 9)]).value == 1
    assert kendall([(1, 9), (2, 5), (3, 2)]).value == -1
    assert kendall([(1, 9), (1, 5), (1, 7)]).value is None


def test_missing_scores_are_left_out_and_counted() -> None:
    pairs = [(number / 20, (number * 7 % 20) / 20) for number in range(20)]
    found = rank_correlations([*pairs, (None, 1.0), (1.0, None)], items=range(22))
    assert found.spearman.value == pytest.approx(spearman(pairs).value)
    assert found.kendall.value == pytest.approx(by_definition(pairs))
    assert (found.kendall.n, found.kendall.left_out, found.spearman.left_out) == (20, 2, 2)
    assert rank_correlations(pairs[:3], items=range(3)).kendall.interval is None
    with pytest.raises(FormalimgError, match="numbers only"):
        rank_correlations([(float("nan"), 1.0)], items=[1])


def test_images_of_one_item_are_not_taken_for_independent_ones() -> None:
    """Five equal images of each item tell no more than one of each."""
    draw = random.Random(3)
    once = [(value := draw.random(), value + draw.gauss(0, 0.5)) for _ in range(60)]
    single = rank_correlations(once, items=range(60))
    five = rank_correlations([pair for pair in once for _ in range(5)], items=[n for n in range(60) for _ in range(5)])
    assert single.kendall.interval is not None
    assert five.kendall.interval is not None
    width, other = (found.high - found.low for found in (single.kendall.interval, five.kendall.interval))
    assert other == pytest.approx(width, rel=0.1)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """Items share a part of both scores. The truth is taken from many items."""
    draw = random.Random(7)

    def sample(items: int) -> tuple[list[tuple[float, float]], list[int]]:
        pairs, names = [], []
        for item in range(items):
            shared, other = draw.gauss(0, 1), draw.gauss(0, 1)
            for _ in range(3):
                value = shared + draw.gauss(0, 0.7)
                pairs.append((value, 0.6 * value + 0.6 * other + draw.gauss(0, 0.5)))
                names.append(item)
        return pairs, names

    large, _ = sample(1000)
    truth = kendall(large[:3000]).value
    assert truth is not None
    rounds = tries(40, 400)
    covered = 0
    for _ in range(rounds):
        pairs, names = sample(40)
        interval = rank_correlations(pairs, items=names).kendall.interval
        assert interval is not None
        covered += interval.low <= truth <= interval.high
    assert covered / rounds >= 0.9
