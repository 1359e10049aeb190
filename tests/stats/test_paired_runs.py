"""Two runs over the same items, compared."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats import Observation, ScoreObservation, compare_paired, compare_paired_scores
from tests.stats.observing import observations


def _pairs(wins: int, losses: int, ties: int) -> tuple[list[Observation], list[Observation]]:
    verdicts = [(True, False)] * wins + [(False, True)] * losses + [(True, True)] * ties
    return tuple(  # type: ignore[return-value]
        [Observation(f"{number:05}", 1, pair[side]) for number, pair in enumerate(verdicts)] for side in (0, 1)
    )


def test_a_small_comparison() -> None:
    found = compare_paired(*_pairs(8, 2, 10))
    assert found[:4] == (8, 2, 10, 0.3)
    assert found.p_value == pytest.approx(2 * (45 + 10 + 1) / 1024)
    assert found.interval is not None
    assert found.interval.low < 0.3 < found.interval.high
    assert (found.only_first, found.only_second, found.unscored) == ((), (), ())


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_the_p_value_is_that_of_the_exact_sign_test(wins: int, losses: int, ties: int) -> None:
    found = compare_paired(*_pairs(wins, losses, ties), resamples=40).p_value
    if wins + losses + ties == 0:
        assert found is None
    else:
        tail = sum(comb(wins + losses, fewer) for fewer in range(min(wins, losses) + 1))
        assert found == pytest.approx(float(min(Fraction(1), Fraction(2 * tail, 2 ** (wins + losses)))), rel=1e-11)


def test_long_runs_have_an_exact_p_value_too() -> None:
    tail = sum(comb(2_000, fewer) for fewer in range(950 + 1))
    assert compare_paired(*_pairs(1_050, 950, 0), resamples=40).p_value == pytest.approx(
        float(Fraction(2 * tail, 2**2_000)), rel=1e-11
    )


@given(observations(), observations())
def test_swapping_the_runs_mirrors_the_comparison(first: list[Observation], second: list[Observation]) -> None:
    found, swapped = compare_paired(first, second, resamples=40), compare_paired(second, first, resamples=40)
    assert (swapped.wins, swapped.losses, swapped.ties) == (found.losses, found.wins, found.ties)
    assert (swapped.only_first, swapped.only_second, swapped.unscored) == (
        found.only_second,
        found.only_first,
        found.unscored,
    )
    assert swapped.p_value == found.p_value
    assert (swapped.difference is None) == (found.difference is None)
    if swapped.difference is not None and found.difference is not None:
        assert swapped.difference == -found.difference


@given(observations(), observations())
def test_every_item_is_somewhere(first: list[Observation], second: list[Observation]) -> None:
    found = compare_paired(first, second, resamples=40)
    compared = found.wins + found.losses + found.ties
    named = [*found.only_first, *found.only_second, *found.unscored]
    assert len(set(named)) == len(named)
    assert compared + len(named) == len({each.item for each in [*first, *second]})
    scored = [{each.item for each in run if each.passed is not None} for run in (first, second)]
    assert set(found.only_first) == scored[0] - scored[1]
    assert set(found.only_second) == scored[1] - scored[0]
    assert (found.difference is None) == (compared == 0) == (found.interval is None) == (found.p_value is None)
    if found.difference is not None and found.interval is not None:
        assert -1 <= found.interval.low <= found.difference <= found.interval.high <= 1


@given(observations())
def test_a_run_equals_itself(seen: list[Observation]) -> None:
    found = compare_paired(seen, seen, resamples=40)
    assert (found.wins, found.losses, found.only_first, found.only_second) == (0, 0, (), ())
    assert found.difference in (0, None)
    assert found.p_value in (1, None)


def test_items_with_several_images_count_once() -> None:
    first = [Observation("a", 1, passed) for passed in (True, True, False, None)]
    second = [Observation("a", 1, passed) for passed in (True, False)]
    found = compare_paired(first, second)
    assert found[:3] == (1, 0, 0)
    assert found.difference == pytest.approx(2 / 3 - 1 / 2)
    assert found.p_value == 1


def test_items_without_a_partner_are_named() -> None:
    first = [Observation("a", 1, True), Observation("b", 1, None), Observation("c", 1, None)]
    second = [Observation("b", 1, True), Observation("c", 1, None), Observation("d", 1, False)]
    found = compare_paired(first, second)
    assert found == (0, 0, 0, None, None, None, ("a",), ("b", "d"), ("c",))


def test_equal_runs_may_still_differ_on_other_items() -> None:
    found = compare_paired(*_pairs(0, 0, 50))
    assert found.difference == 0
    assert found.interval is not None
    assert -0.1 < found.interval.low < 0 < found.interval.high < 0.1


def test_the_same_seed_gives_the_same_interval_whatever_the_order() -> None:
    first, second = _pairs(400, 300, 300)
    found = compare_paired(first, second, resamples=100, seed=3)
    assert compare_paired(first[::-1], second, resamples=100, seed=3) == found
    assert {compare_paired(first, second, resamples=100, seed=seed).interval for seed in range(4, 9)} != {
        found.interval
    }


def test_runs_over_different_items_of_the_same_name_are_refused() -> None:
    with pytest.raises(FormalimgError, match="at level 1 in one run and at level 2 in the other"):
        compare_paired([Observation("a", 1, True)], [Observation("a", 2, True)])


def test_scores_are_compared_group_by_group_over_the_levels_that_both_have() -> None:
    first = [_score("a", 1, 0.5), _score("a", 2, 1.0), _score("b", 1, 0.25), _score("c", 1, 0.5), _score("d", 2, None)]
    second = [_score("a", 1, 0.25), _score("a", 3, 1.0), _score("b", 1, 0.75), _score("b", 1, 0.25), _score("d", 2, 1)]
    found = compare_paired_scores(first, second)
    assert (found.wins, found.losses, found.ties) == (1, 1, 0)
    assert found.difference == (0.25 - 0.25) / 2  # a: level 1 alone; b: the mean of two images
    assert (found.only_first, found.only_second, found.unscored) == (("c",), ("d",), ())


def test_the_difference_of_scores_is_that_of_the_first_minus_the_second() -> None:
    better = [_score(f"group {n}", 1, 0.75) for n in range(40)]
    worse = [_score(f"group {n}", 1, 0.5) for n in range(40)]
    found = compare_paired_scores(better, worse)
    assert found.difference == 0.25
    assert found.interval is not None
    assert found.interval.low > 0
    assert found.p_value == pytest.approx(2 * 0.5**40)
    assert compare_paired_scores(worse, better).difference == -0.25


def test_groups_that_share_no_level_are_compared_in_nothing() -> None:
    found = compare_paired_scores([_score("a", 1, 1.0)], [_score("a", 2, 0.0)])
    assert (found.difference, found.p_value, found.unscored) == (None, None, ("a",))


def _score(group: str, level: int, score: float | None) -> ScoreObservation:
    return ScoreObservation(group, level, 0, score)
