"""Fisher's exact test of two shares, against enumeration of all ways to spread the successes."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.permutation import errors_to_notice, fisher_lower, power_to_notice

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
    with pytest.raises(FormalimgError, match="are no shares"):
        fisher_lower(5, 4, 1, 2)
