"""Items to label level by level: the best allocation, by trying all, and the half width that is announced."""

from __future__ import annotations

import random
from itertools import product
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.stats.corrected_difference import PairedItem, estimate_corrected_difference
from formalimg.stats.planning import allocate_items, difference_half_width, level_spreads

SPREAD = st.floats(0.05, 1)


@given(st.lists(SPREAD, min_size=2, max_size=3), st.lists(st.integers(3, 7), min_size=3, max_size=3), st.data())
def test_no_other_allocation_is_more_precise(spreads: list[float], sizes: list[int], data: st.DataObject) -> None:
    free = {level: sizes[level] for level in range(len(spreads))}
    weights = {level: data.draw(st.floats(0.1, 1)) for level in free}
    more = data.draw(st.integers(2 * len(free), sum(free.values())))

    def variance(counts: tuple[int, ...]) -> float:
        return sum(weights[level] ** 2 * spreads[level] / count for level, count in enumerate(counts))

    chosen = allocate_items(free, weights, dict(enumerate(spreads)), {}, more)
    assert sum(chosen.values()) == more
    possible = product(*(range(2, size + 1) for size in free.values()))
    best = min(variance(counts) for counts in possible if sum(counts) == more)
    assert variance(tuple(chosen[level] for level in free)) == pytest.approx(best)


@given(st.integers(0, 40), st.integers(0, 4), st.integers(0, 4))
def test_no_level_gets_more_than_it_has(more: int, first: int, second: int) -> None:
    free = {1: 5, 2: 9}
    chosen = allocate_items(free, {1: 0.5, 2: 0.5}, {1: 0.9, 2: 0.1}, {1: first, 2: second}, more)
    assert sum(chosen.values()) == min(more, 14)
    assert all(0 <= chosen[level] <= free[level] for level in free)


def test_levels_that_vary_more_get_more() -> None:
    chosen = allocate_items({1: 100, 2: 100}, {1: 0.5, 2: 0.5}, {1: 0.4, 2: 0.1}, {}, 60)
    assert chosen == {1: 40, 2: 20}  # in proportion to the standard deviations


def _items(rng: random.Random, count: int, labelled: dict[int, int]) -> list[PairedItem]:
    """Items of three levels, which differ in how much people's differences vary."""
    items = []
    for level, chance in ((1, 0.1), (2, 0.5), (3, 0.8)):
        for number in range(count):
            people = rng.choice([-1.0, 1.0]) if rng.random() < chance else 0.0
            judge = people if rng.random() < 0.7 else rng.choice([-1.0, 0.0, 1.0])
            is_labelled = number < labelled[level]
            items.append(PairedItem(level, judge, people if is_labelled else None, judge, labelled[level] / count))
    return items


@pytest.mark.parametrize("labelled", [{1: 10, 2: 20, 3: 30}, {1: 40, 2: 40, 3: 40}, {1: 100, 2: 100, 3: 100}])
def test_the_announced_half_width_is_the_one_that_comes(labelled: dict[int, int]) -> None:
    announced, real = [], []
    weights, sizes = dict.fromkeys(labelled, 1 / 3), dict.fromkeys(labelled, 100)
    for number in range(60):
        items = _items(random.Random(number), 100, labelled)
        found = estimate_corrected_difference(items, (1, 2, 3))
        assert found is not None
        assert found.interval is not None
        real.append((found.interval.high - found.interval.low) / 2)
        announced.append(difference_half_width(sizes, weights, level_spreads(items), labelled))
    assert fmean(announced) == pytest.approx(fmean(real), rel=0.1)


def test_too_few_labels_announce_nothing() -> None:
    spreads = level_spreads([PairedItem(1, value) for value in (0.0, 1.0, -1.0, 0.0) * 5])
    assert difference_half_width({1: 20}, {1: 1.0}, spreads, {1: 2}) == 1
    assert difference_half_width({1: 20}, {1: 1.0}, spreads, {1: 10}) < 1
