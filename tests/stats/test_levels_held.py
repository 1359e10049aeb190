"""G: the level up to which a rate is held."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import EffectiveCount
from formalimg.stats.summary import generalizability, generalizability_interval

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
        ({1: float("nan")}, 0.7, "does not lie between"),
        ({1: 0.9}, 70, r"70 % is 0\.7"),
    ],
)
def test_nonsense_is_refused(rates: dict[int, float], epsilon: float, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        generalizability(rates, epsilon)


def test_unknown_levels_are_lost_for_the_lower_end_and_held_for_the_upper_one() -> None:
    all_pass, all_fail = EffectiveCount(50, 50), EffectiveCount(0, 50)
    assert generalizability_interval({1: all_pass, 2: all_pass, 3: all_fail}, 0.5, 0.95) == (2, 2)
    assert generalizability_interval({1: all_pass, 2: None, 3: all_pass}, 0.5, 0.95) == (1, 3)
    assert generalizability_interval({1: None, 2: all_fail, 3: all_pass}, 0.5, 0.95) == (0, 1)
