"""The sign-flip test against all choices of signs, written out; and Holm's correction."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import student_quantile
from formalimg.stats.permutation import holm, sign_flip_test


def _by_hand(differences: list[float]) -> float:
    observed = abs(sum(differences))
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(abs(each) >= observed - 1e-9 for each in sums) / len(sums)


@given(st.lists(st.sampled_from([-1.0, -0.75, -0.5, -1 / 3, 0.0, 0.25, 2 / 3, 1.0, 0.1234]), min_size=1, max_size=9))
def test_few_differences_are_tested_exactly(differences: list[float]) -> None:
    assert sign_flip_test(differences) == pytest.approx(_by_hand(differences))


@pytest.mark.parametrize("shift", [0, 3, 6, 12])
def test_shares_of_equally_many_images_are_tested_exactly_however_many_items(shift: int) -> None:
    """Counted another way: the number of choices of signs for each sum, in whole numbers."""
    quarters = [(n * 7 + shift) % 9 - 4 for n in range(60)]
    ways = {0: 1}
    for each in quarters:
        after: dict[int, int] = {}
        for total, number in ways.items():
            for signed in (each, -each):
                after[total + signed] = after.get(total + signed, 0) + number
        ways = after
    exact = sum(n for total, n in ways.items() if abs(total) >= abs(sum(quarters))) / 2 ** len(quarters)
    assert sign_flip_test([each / 4 for each in quarters]) == pytest.approx(exact, rel=1e-9)


def test_any_scores_are_tested_by_random_signs() -> None:
    """Where the exact value is known from differences next to it, which have a common step."""
    chance = np.random.default_rng(3)
    steps = [float(each) for each in chance.integers(-20, 27, 50) / 20]
    near = [each * (1 + 1e-4 * float(chance.random())) for each in steps]
    assert sign_flip_test(near) == pytest.approx(sign_flip_test(steps), abs=0.012)
    assert sign_flip_test(near) == sign_flip_test(near[::-1]), "the order of items does not matter"
    assert {sign_flip_test(near, seed=seed) for seed in range(4)} != {sign_flip_test(near)}
    assert sign_flip_test([0.1 + 0.001 * float(chance.random()) for _ in range(50)]) == 1 / 10_000, "never 0"


def test_runs_of_two_sizes_of_levels_are_tested_by_kinds() -> None:
    """Weights of levels with unequally many items have no common step."""
    differences = [1 / 199] * 70 + [-1 / 199] * 50 + [1 / 211] * 60 + [-1 / 211] * 50
    tail = sum(comb(230, n) for n in range(100 + 1)) * 2 / 2**230
    assert sign_flip_test(differences) == pytest.approx(tail, abs=0.012)


def test_without_any_difference_there_is_nothing_to_see() -> None:
    assert sign_flip_test([]) == sign_flip_test([0.0] * 5) == sign_flip_test([0.5, -0.5]) == 1
    with pytest.raises(FormalimgError, match="not a number"):
        sign_flip_test([0.5, float("nan")])
    with pytest.raises(FormalimgError, match="0 resamples are none"):
        sign_flip_test([0.5], resamples=0)


def test_holm_against_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()
    with pytest.raises(FormalimgError, match="between 0 and 1"):
        holm([0.5, 1.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_rejects_what_its_steps_reject(p_values: list[float]) -> None:
    """Step down through the sorted p-values, and stop at the first that is too large for its step."""
    rejected: set[int] = set()
    for rank, n in enumerate(sorted(range(len(p_values)), key=lambda n: p_values[n])):
        if p_values[n] * (len(p_values) - rank) > 0.05:
            break
        rejected.add(n)
    assert {n for n, p in enumerate(holm(p_values)) if p <= 0.05} == rejected


def tesstudent_quantiles_of_student_s_t_against_its_table() -> None:
    known = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 30: 2.042, 120: 1.980, 2000: 1.961}
    assert {degrees: round(student_quantile(0.95, degrees), 3) for degrees in known} == known
    assert student_quantile(0.99, 10) == pytest.approx(3.169, abs=5e-4)
