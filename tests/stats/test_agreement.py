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
from formalimg.stats.agreement import consistency, consistency_matrix, majority, mean_consistency
from formalimg.stats.correlation import pearson, within_level_correlation
from formalimg.stats.intervals import clopper_pearson
from tests.support.values import not_none

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
    found = consistency(_table(*table)).kappa
    assert round(not_none(found), 4) == kappa


def test_without_anything_to_compare_there_is_no_figure() -> None:
    assert consistency([(None, True), (None, None)]) == (0, 0, 2, None, None, None, None)
    alike = consistency(_table(12, 0, 0, 0))
    assert (alike.value, alike.kappa) == (1.0, None)
    assert consistency([]).kappa is None


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
    assert often.value == once.value == 0.75
    width = not_none(often.interval).high - not_none(often.interval).low
    assert width == pytest.approx(not_none(once.interval).high - not_none(once.interval).low, abs=0.01)
    assert width > 1.8 * (not_none(naive.interval).high - not_none(naive.interval).low)


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
    assert mean_consistency(matrix, ["ann", "bob", "judge"])[:3] == pytest.approx((5 / 9, 3, 0))
    one_pair = mean_consistency(matrix, ["ann", "bob", "eve"])
    assert one_pair[:3] == pytest.approx((2 / 3, 1, 2))
    assert one_pair.interval == matrix["ann"]["bob"].interval
    assert mean_consistency(matrix, ["ann"]) == (None, 0, 0, None)


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
        counted = [(raters[one].get(case), raters[other].get(case), items[case]) for case in sorted(cases)]
        alone = consistency([it[:2] for it in counted], items=[it[2] for it in counted], confidence=0.8)
        assert matrix[one][other] == matrix[other][one] == alone
        assert alone.interval != consistency([it[:2] for it in counted], confidence=0.8).interval


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
        held.append(not_none(interval).low <= 0.8 <= not_none(interval).high)
    assert 0.93 < mean(held) < 0.97


def test_kappa_has_an_interval_that_holds_for_few_and_for_rare() -> None:
    """A judge of sensitivity 0.9 and specificity 0.8; also where nearly nothing passes, and where nobody errs."""
    for n, rate in ((20, 0.5), (60, 0.05)):
        chance = random.Random(n)
        yes = 0.9 * rate + 0.2 * (1 - rate)
        by_chance = rate * yes + (1 - rate) * (1 - yes)
        truth = (0.9 * rate + 0.8 * (1 - rate) - by_chance) / (1 - by_chance)
        held, counted = 0, 0
        for _ in range(120):
            shown = [chance.random() < rate for _ in range(n)]
            interval = consistency([(it, chance.random() < (0.9 if it else 0.2)) for it in shown]).kappa_interval
            if interval is not None:
                counted += 1
                held += interval.low <= truth <= interval.high
        assert counted > 100
        assert 0.93 * counted <= held
    same = consistency(_table(10, 0, 0, 10)).kappa_interval
    assert 0.3 < not_none(same).low < 0.9
    assert not_none(same).high == 1
    assert consistency(_table(2, 0, 0, 1)).kappa_interval is None


def test_images_of_one_item_widen_the_interval_of_kappa() -> None:
    once = consistency(_table(15, 5, 5, 15)).kappa_interval
    often = consistency(
        [pair for pair in _table(15, 5, 5, 15) for _ in range(4)], items=[it // 4 for it in range(160)]
    ).kappa_interval
    naive = consistency([pair for pair in _table(15, 5, 5, 15) for _ in range(4)]).kappa_interval
    assert once is not None
    assert often == pytest.approx(once)
    assert not_none(naive).high - not_none(naive).low < 0.6 * (once.high - once.low)


@pytest.mark.parametrize("right", [0.9, 0.99])
def test_the_mean_of_pairs_has_an_interval(right: float) -> None:
    chance = random.Random(6)
    held = 0
    for _ in range(120):
        shown = [chance.random() < 0.5 for _ in range(25)]
        answers: dict[str, dict[int, bool | None]] = {
            who: {image: (chance.random() < right) == it for image, it in enumerate(shown)} for who in ("a", "b", "c")
        }
        found = mean_consistency(consistency_matrix(answers), answers, answers=answers)
        assert found.interval is not None
        assert found.interval.low <= not_none(found.value) <= found.interval.high
        held += found.interval.low <= right**2 + (1 - right) ** 2 <= found.interval.high
    assert held / 120 >= 0.93


def _levels_known(chance: random.Random, per_level: int, skill: float) -> tuple[list[tuple[float, float]], list[int]]:
    """Images of ten levels, from easy to hard, by people and a judge that sees the image only as often as `skill`."""
    pairs, levels = [], []
    for level in range(10):
        for _ in range(per_level):
            human = chance.random() < 0.95 - level / 10
            judge = human if chance.random() < skill else chance.random() < 0.95 - level / 10
            pairs.append((float(human), float(judge)))
            levels.append(level)
    return pairs, levels


def test_who_knows_only_the_level_does_not_agree_within_levels() -> None:
    """From level to level its mean scores have r near 1; within levels it is 0, and its interval says so."""
    chance = random.Random(2)
    held, between = 0, []
    for _ in range(60):
        pairs, levels = _levels_known(chance, 20, 0.0)
        means = [
            [mean(pair[side] for pair, at in zip(pairs, levels, strict=True) if at == k) for side in (0, 1)]
            for k in range(10)
        ]
        between.append(correlation(*zip(*means, strict=True)))
        found = within_level_correlation(pairs, levels)
        held += not_none(found.interval).low <= 0 <= not_none(found.interval).high
    assert mean(between) > 0.9
    assert held >= 0.93 * 60
    seeing = within_level_correlation(*_levels_known(chance, 20, 0.6))
    assert not_none(seeing.interval).low > 0.2


def test_agreement_within_levels_by_hand() -> None:
    """Around the means of their levels: −1, 1 with −1, 1, and −½, ½ with ½, −½: (2 − ½) / √(2.5 · 2.5)."""
    pairs = [(1.0, 2.0), (3.0, 4.0), (10.0, 8.0), (11.0, 7.0), (5.0, None), (7.0, 7.0)]
    found = within_level_correlation(pairs, ["a", "a", "b", "b", "b", "c"])
    assert found.value == pytest.approx(0.6)
    assert (found.n, found.left_out) == (5, 1)
    assert within_level_correlation([(1, 2), (2, 1), (3, 3)], [1, 2, 3]).value is None  # one image of each level
    assert within_level_correlation([], []) == (None, None, 0, 0)
    assert pearson(pairs[:4], items=range(4)).value == pytest.approx(pearson(pairs[:4]).value)
    with pytest.raises(FormalimgError, match="a level for each"):
        within_level_correlation(pairs, [1])


def test_perfect_agreement_within_levels_is_not_certain() -> None:
    same = within_level_correlation([(float(n % 2), float(n % 2)) for n in range(20)], [n // 10 for n in range(20)])
    assert same.value == pytest.approx(1)
    assert 0.3 < not_none(same.interval).low < 0.95
    assert not_none(same.interval).high == 1


def test_images_of_one_item_widen_the_interval_within_levels() -> None:
    pairs, levels = _levels_known(random.Random(3), 6, 0.5)
    once = within_level_correlation(pairs, levels).interval
    four = within_level_correlation(
        [pair for pair in pairs for _ in range(4)],
        [level for level in levels for _ in range(4)],
        items=[n // 4 for n in range(240)],
    ).interval
    assert four == pytest.approx(not_none(once))
