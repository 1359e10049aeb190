"""How often two say the same, beyond chance, and whether scores rise and fall together."""

from __future__ import annotations

import random
from collections.abc import Hashable
from itertools import combinations
from statistics import correlation, mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats import (
    clopper_pearson,
    cohen_kappa,
    consistency,
    consistency_matrix,
    majority,
    mean_consistency,
    pearson,
)

ANSWERS = st.sampled_from([True, False, None])
PAIRS = st.lists(st.tuples(ANSWERS, ANSWERS), max_size=40)


def _table(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> list[tuple[bool, bool]]:
    return [(True, True)] * yes_yes + [(True, False)] * yes_no + [(False, True)] * no_yes + [(False, False)] * no_no


def test_consistency_by_hand() -> None:
    found = consistency([*_table(20, 5, 10, 15), (None, True), (False, None), (None, None)])
    assert (found.equal, found.n, found.left_out, found.value) == (35, 50, 3, 0.7)
    assert found.interval == clopper_pearson(35, 50)
    assert found.kappa == pytest.approx(0.4)  # by chance: 25/50 · 30/50 + 25/50 · 20/50 = 0.5


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ((45, 15, 25, 15), 0.1304),  # two worked examples that are often shown
        ((25, 35, 5, 35), 0.2593),
        ((10, 0, 0, 10), 1.0),
        ((0, 10, 10, 0), -1.0),
        ((7, 3, 0, 0), 0.0),
    ],
)
def test_known_kappas(table: tuple[int, int, int, int], kappa: float) -> None:
    found = cohen_kappa(_table(*table))
    assert found is not None
    assert round(found, 4) == kappa


def test_without_anything_to_compare_there_is_no_figure() -> None:
    assert consistency([(None, True), (None, None)]) == (0, 0, 2, None, None, None)
    alike = consistency(_table(12, 0, 0, 0))
    assert (alike.value, alike.kappa) == (1.0, None)
    assert cohen_kappa([]) is None


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(FormalimgError, match="not an answer"):
        consistency([(True, 1)])  # type: ignore[list-item]  # what merely counts as yes
    with pytest.raises(FormalimgError, match="an item for each"):
        consistency([(True, True)], items=["a", "b"])


@given(PAIRS)
def test_everyone_is_counted_and_nobody_comes_first(pairs: list[tuple[bool | None, bool | None]]) -> None:
    found = consistency(pairs)
    assert found.n + found.left_out == len(pairs)
    assert found == consistency([(other, one) for one, other in pairs])
    assert found == consistency(pairs[::-1])
    if found.value is not None:
        assert found.interval is not None
        assert found.interval.low <= found.value <= found.interval.high
        assert found.interval == clopper_pearson(found.equal, found.n)


def test_questions_about_one_image_are_not_independent() -> None:
    """If two always agree on all questions about an image or on none, an image tells as much as one question."""
    once = consistency(_table(30, 10, 0, 0))
    pairs = [pair for pair in _table(30, 10, 0, 0) for _ in range(5)]
    items = [name for name in range(40) for _ in range(5)]
    often, naive = consistency(pairs, items=items), consistency(pairs)
    assert once.interval is not None
    assert naive.interval is not None
    assert often.interval is not None
    assert often.value == once.value == 0.75
    width = often.interval.high - often.interval.low
    assert width == pytest.approx(once.interval.high - once.interval.low, abs=0.01)
    assert width > 1.8 * (naive.interval.high - naive.interval.low)


@given(st.lists(st.booleans(), max_size=9))
def test_a_majority_is_more_than_half(votes: list[bool]) -> None:
    yes, no = votes.count(True), votes.count(False)
    assert majority(votes) == (None if yes == no else yes > no)


def test_a_matrix_by_hand() -> None:
    raters: dict[str, dict[Hashable, bool | None]] = {
        "ann": {1: True, 2: True, 3: False, 4: True},
        "bob": {1: True, 2: False, 3: False},
        "judge": {1: False, 2: False, 3: False, 4: None},
        "eve": {9: True},
    }
    matrix = consistency_matrix(raters)
    shares = {(one, other): (it.equal, it.n, it.left_out) for one, row in matrix.items() for other, it in row.items()}
    assert shares["ann", "bob"] == (2, 3, 2)
    assert shares["ann", "judge"] == (1, 3, 2)
    assert shares["bob", "judge"] == (2, 3, 2)
    assert shares["ann", "eve"] == (0, 0, 5)
    assert all(shares[one, other] == shares[other, one] for one, other in combinations(raters, 2))
    assert mean_consistency(matrix, ["ann", "bob", "judge"]) == pytest.approx((5 / 9, 3, 0))
    assert mean_consistency(matrix, ["ann", "bob", "eve"]) == pytest.approx((2 / 3, 1, 2))
    assert mean_consistency(matrix, ["ann"]) == (None, 0, 0)


def test_a_matrix_knows_which_cases_belong_together() -> None:
    """Each entry is what the two would be given by themselves, also where one has answered other cases first."""
    draws = random.Random(1)
    items = {(image, question): image for image in range(12) for question in range(4)}
    moods = {(name, image): draws.random() < 0.5 for name in ("ann", "bob", "eve") for image in range(12)}
    raters = {
        name: {case: draws.choice([moods[name, case[0]], moods[name, case[0]], None]) for case in asked}
        for name in ("ann", "bob", "eve")
        for asked in [draws.sample(list(items), 40)]
    }
    matrix = consistency_matrix(raters, items=items, confidence=0.8)
    cases = {case for answers in raters.values() for case in answers}
    for one, other in combinations(raters, 2):
        known = [(raters[one].get(case), raters[other].get(case), items[case]) for case in sorted(cases)]
        alone = consistency([it[:2] for it in known], items=[it[2] for it in known], confidence=0.8)
        assert matrix[one][other] == matrix[other][one] == alone
        assert alone.interval != consistency([it[:2] for it in known], confidence=0.8).interval


def test_pearson_by_hand() -> None:
    """Of 1…5 with 2, 1, 4, 3, 5: 8 / 10, and Fisher's interval around artanh 0.8 = 1.0986 ± 1.96 / √2."""
    found = pearson([(1, 2), (2, 1), (3, 4), (4, 3), (5, 5), (6, None), (None, 2)])
    assert (found.n, found.left_out) == (5, 2)
    assert found.value == pytest.approx(0.8)
    assert found.interval == pytest.approx((-0.2796, 0.9862), abs=1e-4)


def test_no_correlation_is_made_up() -> None:
    assert pearson([(0.1, 0.3), (0.2, 0.9)]) == (None, None, 2, 0)  # through two points there is always a line
    assert pearson([(0.5, 0.1), (0.5, 0.2), (0.5, 0.9)]) == (None, None, 3, 0)
    three = pearson([(0.1, 0.3), (0.2, 0.9), (0.3, 0.4)])
    assert three.value is not None
    assert three.interval is None
    line = pearson([(n / 7, 1 - 3 * n / 7) for n in range(7)])
    assert line.value == pytest.approx(-1)
    assert line.interval is None
    with pytest.raises(FormalimgError, match="numbers only"):
        pearson([(0.1, float("inf")), (0.2, 0.9)])


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=20))
def test_pearson_agrees_with_the_standard_library(pairs: list[tuple[int, int]]) -> None:
    found = pearson(pairs)
    if any(len(set(side)) == 1 for side in zip(*pairs, strict=True)):
        assert found.value is None
        return
    assert found.value == pytest.approx(correlation(*zip(*pairs, strict=True)), abs=1e-12)
    assert found.interval is None or found.interval.low < (found.value or 0) < found.interval.high


def test_fishers_interval_holds_the_true_correlation_as_often_as_it_says() -> None:
    chance = random.Random(5)
    held = []
    for _ in range(2000):
        pairs = []
        for _ in range(8):
            common = chance.gauss(0, 1)
            pairs.append((common + chance.gauss(0, 0.5), common + chance.gauss(0, 0.5)))  # r = 1 / 1.25
        interval = pearson(pairs).interval
        assert interval is not None
        held.append(interval.low <= 0.8 <= interval.high)
    assert 0.93 < mean(held) < 0.97
