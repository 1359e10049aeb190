"""Whether two rank alike, in all and level by level."""

from __future__ import annotations

import random
from math import asin, atanh, pi, sqrt, tanh
from statistics import correlation, mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.correlation import pearson
from formalimg.stats.intervals import student_quantile
from formalimg.stats.ranking import kendall, rank_agreement, rank_correlations, spearman
from tests.support.sizes import tries
from tests.support.values import not_none

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=15)


def _ranks(values: list[int]) -> list[float]:
    return [sum(it < value for it in values) + (sum(it == value for it in values) + 1) / 2 for value in values]


def test_spearman_by_hand() -> None:
    """Ranks 1…5 and 2, 1, 4, 3, 5: 1 − 6 · 4 / (5 · 24), and artanh 0.8 = 1.0986 ± 1.96 · √(1.32 / 2)."""
    found = spearman([(1, 20), (2, 10), (30, 41), (40, 40.5), (500, 5000), (6, None), (None, 2)])
    assert (found.n, found.left_out) == (5, 2)
    assert found.value == pytest.approx(0.8)
    assert found.interval == pytest.approx((-0.4571, 0.9908), abs=1e-4)


def test_equal_scores_share_their_ranks() -> None:
    """Ranks 1, 2½, 2½, 4 and 1, 2, 3, 4: 4.5 / √(4.5 · 5)."""
    assert spearman([(0.1, 1), (0.2, 2), (0.2, 3), (0.9, 4)]).value == pytest.approx(sqrt(0.9))


def test_no_ranking_is_made_up() -> None:
    assert spearman([]) == (None, None, 0, 0)
    assert spearman([(0.1, 0.3), (0.2, 0.9)]) == (None, None, 2, 0)
    assert spearman([(0.5, 0.1), (0.5, 0.2), (0.5, 0.9)]) == (None, None, 3, 0)
    same = spearman([(n, n**3) for n in range(7)])
    assert same.value == pytest.approx(1)
    assert same.interval is None
    with pytest.raises(FormalimgError, match="numbers only"):
        spearman([(0.1, float("inf")), (0.2, 0.9)])


@given(PAIRS)
def test_spearman_is_pearson_of_ranks_and_knows_only_order(pairs: list[tuple[int, int]]) -> None:
    found = spearman(pairs)
    one, other = [first for first, _ in pairs], [second for _, second in pairs]
    if min(len(set(one)), len(set(other))) == 1:
        assert found.value is None
        return
    assert not_none(found.value) == pytest.approx(correlation(_ranks(one), _ranks(other)), abs=1e-12)
    assert spearman([(first**3 / 7, second) for first, second in pairs]) == found
    turned = spearman([(first, -second) for first, second in pairs]).value
    assert turned == pytest.approx(-not_none(found.value), abs=1e-12)
    wider = pearson(list(zip(_ranks(one), _ranks(other), strict=True))).interval
    if found.interval is not None:
        assert found.interval.high - found.interval.low >= not_none(wider).high - not_none(wider).low


def test_the_interval_holds_the_true_rank_correlation_as_often_as_it_says() -> None:
    chance = random.Random(4)
    truth = 6 / pi * asin(0.8 / 2)  # of normal scores whose correlation is 0.8
    held = []
    for _ in range(1000):
        common = [chance.gauss(0, 1) for _ in range(20)]
        interval = spearman([(it + chance.gauss(0, 0.5), it + chance.gauss(0, 0.5)) for it in common]).interval
        held.append(not_none(interval).low <= truth <= not_none(interval).high)
    assert 0.925 < mean(held) < 0.975


def test_models_are_ranked_level_by_level() -> None:
    """Four models: the same order, one neighbouring pair exchanged (1 − 6 · 2 / 60), and nobody passes."""
    found = rank_agreement(
        {
            7: [(0.0, 0.0), (0.0, 0.1), (0.0, 0.0), (0.0, 0.0)],
            1: [(0.9, 0.8), (0.7, 0.75), (0.5, 0.3), (0.2, 0.1)],
            3: [(0.8, 0.6), (0.6, 0.7), (0.3, 0.2), (0.1, 0.0)],
            9: [(0.1, None), (0.2, 0.2), (0.3, 0.3)],
        }
    )
    assert list(found.by_level) == [1, 3, 7, 9]
    assert [found.by_level[level].value for level in (1, 3)] == pytest.approx([1, 0.8])
    assert found.by_level[7].value is None
    assert found.by_level[9] == (None, None, 2, 1)
    assert found.mean == pytest.approx(0.9)
    assert (found.levels, found.left_out) == (2, 2)
    assert rank_agreement({}) == ({}, None, 0, 0, None)
    assert not_none(found.interval).low < 0 < 0.9 < not_none(found.interval).high  # four models tell little


def test_the_mean_over_levels_has_the_interval_of_one_level() -> None:
    """All levels rank the same models: nine levels do not make four models thirty-six."""
    level = [(1, 1), (2, 3), (3, 2), (4, 5), (5, 4), (6, 6)]
    found = rank_agreement(dict.fromkeys(range(1, 10), level))
    assert found.mean == pytest.approx(spearman(level).value)
    assert found.interval == pytest.approx(spearman(level).interval)
    assert rank_agreement({1: level[:3]}).interval is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=4, max_size=12), st.integers(1, 3))
def test_an_item_is_left_out_with_all_its_cases(pairs: list[tuple[int, int]], each: int) -> None:
    """The interval is that of the correlations without each item, on Fisher's scale and with Student's t."""
    items = [number // each for number in range(len(pairs))]
    for correlated in (kendall, spearman):
        found = correlated(pairs, items=items)
        if found.value is None or found.interval is None:
            continue
        without = [
            correlated([pair for pair, own in zip(pairs, items, strict=True) if own != item]).value or 0.0
            for item in sorted(set(items))
        ]
        low, high = expected_interval(found.value, without)
        assert found.interval == pytest.approx((min(low, found.value), max(high, found.value)), abs=1e-9)


def expected_interval(value: float, without: list[float]) -> tuple[float, float]:
    scale = [atanh(max(-1 + 1e-6, min(1 - 1e-6, one))) for one in (value, *without)]
    count, middle = len(without), mean(scale[1:])
    error = sqrt((count - 1) / count * sum((one - middle) ** 2 for one in scale[1:]))
    reach = student_quantile(0.95, count - 1) * error
    return tanh(scale[0] - reach), tanh(scale[0] + reach)


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
    width, other = (
        found.high - found.low for found in (not_none(single.kendall.interval), not_none(five.kendall.interval))
    )
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
    rounds = tries(40, 400)
    covered = 0
    for _ in range(rounds):
        pairs, names = sample(40)
        interval = rank_correlations(pairs, items=names).kendall.interval
        covered += not_none(interval).low <= not_none(truth) <= not_none(interval).high
    assert covered / rounds >= 0.9
