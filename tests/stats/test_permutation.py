"""The sign-flip test against all choices of signs, written out; and Holm's correction."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import student_quantile
from formalimg.stats.permutation import errors_to_notice, fisher_lower, holm, power_to_notice, sign_flip_test


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
    with pytest.raises(FormalimgError, match="0 resamples are too few"):
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


_COUNTS = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))


@given(_COUNTS)
def test_the_p_value_counts_the_ways_to_spread_the_successes(counts: tuple[int, int, int, int]) -> None:
    part, failed, other_part, other_failed = counts
    whole, total = part + failed, sum(counts)
    spreads = list(combinations(range(total), part + other_part))  # the first `whole` are the first group
    as_low = sum(sum(place < whole for place in spread) <= part for spread in spreads)
    p = fisher_lower(part, whole, other_part, other_part + other_failed)
    assert p == pytest.approx(as_low / len(spreads), abs=1e-12)


def test_larger_counts_agree_with_whole_numbers() -> None:
    ways = sum(comb(190, count) * comb(60, 70 - count) for count in range(10, 46))
    assert fisher_lower(45, 70, 145, 180) == pytest.approx(ways / comb(250, 70), rel=1e-9)


@given(st.integers(8, 60), st.integers(20, 200), st.sampled_from([0.05, 0.005, 0.0005]))
def test_the_fewest_significant_errors(whole: int, other: int, alpha: float) -> None:
    errors = errors_to_notice(whole, other, alpha)
    assert errors is not None
    assert fisher_lower(whole - errors, whole, other, other) <= alpha
    assert errors == 1 or fisher_lower(whole - errors + 1, whole, other, other) > alpha


@given(st.integers(1, 12), st.floats(0.01, 0.99), st.integers(0, 12))
def test_the_power_is_that_of_a_coin(whole: int, rate: float, errors: int) -> None:
    wanted = sum(comb(whole, n) * rate**n * (1 - rate) ** (whole - n) for n in range(errors, whole + 1))
    assert power_to_notice(rate, whole, errors) == pytest.approx(wanted, abs=1e-9)
    assert power_to_notice(1.0, whole, errors) == float(errors <= whole)
    assert power_to_notice(0.0, whole, errors) == float(errors == 0)


def test_what_are_no_shares_is_refused() -> None:
    with pytest.raises(FormalimgError, match="are invalid"):
        fisher_lower(5, 4, 1, 2)
