"""Two runs over the same items, compared; and several of them, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.comparison import (
    MissingAs,
    PairedDifference,
    PairedItems,
    adjust_for_all,
    compare_paired,
    difference_interval,
    group_means,
    item_rates,
    pair_items,
    rank_ranges,
    with_missing,
)
from formalimg.stats.observations import Observation, ScoreObservation
from tests.stats.observing import observations
from tests.support.sizes import tries
from tests.support.values import not_none


def _compare_groups(first: Sequence[ScoreObservation], second: Sequence[ScoreObservation]) -> PairedDifference:
    return pair_items(group_means(first), group_means(second)).group_difference()


def _pairs(wins: int, losses: int, ties: int) -> tuple[list[Observation], list[Observation]]:
    verdicts = [(True, False)] * wins + [(False, True)] * losses + [(True, True)] * ties
    return tuple(  # type: ignore[return-value]
        [Observation(f"{number:05}", 1, pair[side]) for number, pair in enumerate(verdicts)] for side in (0, 1)
    )


def test_a_small_comparison() -> None:
    found = compare_paired(*_pairs(8, 2, 10))
    assert found.estimate == pytest.approx(0.3)
    assert (found.wins, found.losses, found.items, found.left_out) == (8, 2, 20, ())
    assert found.p == pytest.approx(2 * (45 + 10 + 1) / 1024)
    assert found.adjusted_p is None
    assert not_none(found.interval).low < 0.3 < not_none(found.interval).high


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_with_one_image_per_item_the_p_value_is_that_of_mcnemar(wins: int, losses: int, ties: int) -> None:
    found = compare_paired(*_pairs(wins, losses, ties)).p
    if wins + losses + ties == 0:
        assert found is None
    else:
        tail = sum(comb(wins + losses, fewer) for fewer in range(min(wins, losses) + 1))
        assert found == pytest.approx(float(min(Fraction(1), Fraction(2 * tail, 2 ** (wins + losses)))), rel=1e-11)


def test_long_runs_have_an_exact_p_value_too() -> None:
    tail = sum(comb(2_000, fewer) for fewer in range(950 + 1))
    assert compare_paired(*_pairs(1_050, 950, 0)).p == pytest.approx(float(Fraction(2 * tail, 2**2_000)), rel=1e-11)


@given(observations(), observations())
def test_swapping_the_runs_mirrors_the_comparison(first: list[Observation], second: list[Observation]) -> None:
    found, swapped = compare_paired(first, second), compare_paired(second, first)
    assert (swapped.wins, swapped.losses, swapped.items) == (found.losses, found.wins, found.items)
    assert (swapped.left_out, swapped.p) == (found.left_out, found.p)
    assert (swapped.estimate is None) == (found.estimate is None)
    if swapped.estimate is not None and found.estimate is not None:
        assert swapped.estimate == pytest.approx(-found.estimate)


@given(observations(), observations())
def test_every_item_is_compared_or_left_out(first: list[Observation], second: list[Observation]) -> None:
    found = compare_paired(first, second)
    scored = [{each.item for each in run if each.passed is not None} for run in (first, second)]
    everything = {each.item for each in [*first, *second]}
    assert found.items == len(scored[0] & scored[1])
    assert set(found.left_out) == everything - (scored[0] & scored[1])
    assert (found.estimate is None) == (found.items == 0) == (found.interval is None) == (found.p is None)
    if found.estimate is not None and found.interval is not None:
        assert -1 <= found.interval.low <= found.estimate <= found.interval.high <= 1


@given(observations())
def test_a_run_equals_itself(seen: list[Observation]) -> None:
    found = compare_paired(seen, seen)
    assert (found.wins, found.losses) == (0, 0)
    assert found.estimate in (0, None)
    assert found.p in (1, None)


def test_items_with_several_images_count_once() -> None:
    first = [Observation("a", 1, passed) for passed in (True, True, False, None)]
    second = [Observation("a", 1, passed) for passed in (True, False)]
    found = compare_paired(first, second)
    assert (found.wins, found.losses, found.items) == (1, 0, 1)
    assert found.estimate == pytest.approx(2 / 3 - 1 / 2)
    assert found.p == 1


def test_many_small_wins_do_not_outweigh_a_few_large_losses() -> None:
    """A sign test sees 30 wins and 10 losses, and p = 0.002; the means are the same."""
    shares = [(3, 2)] * 30 + [(0, 3)] * 10  # images of four that pass
    first, second = (
        [Observation(str(n), 1, image < pair[side]) for n, pair in enumerate(shares) for image in range(4)]
        for side in (0, 1)
    )
    found = compare_paired(first, second)
    assert found.estimate == pytest.approx(0)
    assert (found.wins, found.losses) == (30, 10)
    assert found.p == 1


def test_levels_of_a_band_have_the_same_weight() -> None:
    """One of ten at level 1 and one of two at level 2: in a band, the second weighs as much as five."""
    first = [Observation(f"1/{n}", 1, n < 1) for n in range(10)] + [Observation(f"2/{n}", 2, n < 1) for n in range(2)]
    second = [seen._replace(passed=False) for seen in first]
    assert compare_paired(first, second).estimate == pytest.approx(2 / 12)
    assert compare_paired(first, second, levels=[1, 2]).estimate == pytest.approx((1 / 10 + 1 / 2) / 2)
    assert compare_paired(first, second, levels=[2]).estimate == pytest.approx(1 / 2)
    assert compare_paired(first, second, levels=[2]).items == 2
    nothing = compare_paired(first, second, levels=[1, 2, 3])
    assert (nothing.estimate, nothing.p, nothing.items) == (None, None, 12), "there is no item at level 3"


def test_items_without_a_partner_are_named() -> None:
    first = [Observation("a", 1, True), Observation("b", 1, None), Observation("c", 2, None)]
    second = [Observation("b", 1, True), Observation("c", 2, None), Observation("d", 1, False)]
    found = compare_paired(first, second)
    assert found == PairedDifference(None, None, None, None, 0, ("a", "b", "c", "d"))
    assert compare_paired(first, second, levels=[1]).left_out == ("a", "b", "d")
    counted = compare_paired(first, second, missing="fail")
    assert (counted.items, counted.losses, counted.left_out) == (2, 1, ("a", "d"))


def test_equal_runs_may_still_differ_on_other_items() -> None:
    found = compare_paired(*_pairs(0, 0, 50))
    assert found.estimate == 0
    assert -0.1 < not_none(found.interval).low < 0 < not_none(found.interval).high < 0.1


def test_an_interval_is_as_wide_as_the_differences_demand() -> None:
    few = difference_interval([0.08, 0.1, 0.12, 0.09, 0.11, 0.1])
    assert 0 < few.low < 0.1 < few.high < 0.2, "six groups that say the same leave no doubt of a fifth of the scale"
    assert difference_interval([0.5]) == (-1, 1), "one item says nothing of others"
    assert difference_interval([0.25] * 40).low == pytest.approx(0.25 - 2.0227 * (2 / (40 * 41)) ** 0.5, abs=1e-4)
    wider = difference_interval([0.0] * 30 + [0.5, -0.5], confidence=0.99)
    narrower = difference_interval([0.0] * 30 + [0.5, -0.5])
    assert wider.low < narrower.low < 0 < narrower.high < wider.high


def test_runs_over_different_items_of_the_same_name_are_refused() -> None:
    with pytest.raises(FormalimgError, match="at level 1 in one run and at level 2 in the other"):
        compare_paired([Observation("a", 1, True)], [Observation("a", 2, True)])


def test_scores_are_compared_group_by_group_over_the_levels_that_both_have() -> None:
    first = [_score("a", 1, 0.5), _score("a", 2, 1.0), _score("b", 1, 0.25), _score("c", 1, 0.5), _score("d", 2, None)]
    second = [_score("a", 1, 0.25), _score("a", 3, 1.0), _score("b", 1, 0.75), _score("b", 1, 0.25), _score("d", 2, 1)]
    found = _compare_groups(first, second)
    assert (found.wins, found.losses, found.items) == (1, 1, 2)
    assert found.estimate == (0.25 - 0.25) / 2  # a: level 1 alone; b: the mean of two images
    assert found.left_out == ("c", "d")


def test_the_difference_of_scores_is_that_of_the_first_minus_the_second() -> None:
    better = [_score(f"group {n}", 1, 0.75) for n in range(40)]
    worse = [_score(f"group {n}", 1, 0.5) for n in range(40)]
    found = _compare_groups(better, worse)
    assert found.estimate == pytest.approx(0.25)
    assert not_none(found.interval).low > 0
    assert found.p == pytest.approx(2 * 0.5**40)
    assert _compare_groups(worse, better).estimate == pytest.approx(-0.25)


def test_groups_that_share_no_level_are_compared_in_nothing() -> None:
    found = _compare_groups([_score("a", 1, 1.0)], [_score("a", 2, 0.0)])
    assert (found.estimate, found.p, found.left_out) == (None, None, ("a",))


def test_ranks_show_ties_as_ties() -> None:
    pairs = {(0, 1): _found(0.01, 0.9), (0, 2): _found(0.2, 0.001), (1, 2): _found(0.19, 0.2)}
    assert rank_ranges(3, pairs) == ((1, 2), (1, 3), (2, 3)), "the second is behind nobody and ahead of nobody"
    decided = {pair: one._replace(adjusted_p=0.01) for pair, one in pairs.items()}
    assert rank_ranges(3, decided) == ((1, 1), (2, 2), (3, 3))
    nothing = {(0, 1): PairedDifference(None, None, None, None, 0, ())}
    assert rank_ranges(2, nothing) == ((1, 2), (1, 2))


def test_p_values_are_adjusted_for_all_pairs_that_have_one() -> None:
    nothing = PairedDifference(None, None, None, None, 0, ())
    found = adjust_for_all([_found(0.1, 0, p=0.02), nothing, _found(0.1, 0, p=0.01)])
    assert [one.adjusted_p for one in found] == [0.02, None, 0.02]


def test_adjusted_intervals_have_the_confidence_of_bonferroni() -> None:
    chance = np.random.default_rng(3)
    differences = [[float(each) for each in chance.normal(0.2, 0.1, 40)] for _ in range(4)]
    pairs = [PairedItems({str(n): (1, each) for n, each in enumerate(those)}, {}) for those in differences]
    adjusted = adjust_for_all([pair.difference(confidence=0.9) for pair in pairs])
    wider = [difference_interval(those, confidence=1 - 0.1 / 4) for those in differences]
    assert [found.interval for found in adjusted] == [pytest.approx(interval) for interval in wider]
    alone = pairs[0].difference(confidence=0.9)
    assert adjust_for_all([alone]) == (alone._replace(adjusted_p=alone.p),), "one comparison needs no adjustment"


def test_an_interval_excludes_0_exactly_where_p_is_significant() -> None:
    """Also where the interval alone would say otherwise: p is of the signs, the interval of the spread."""
    chance = np.random.default_rng(4)
    seen = set()
    for _ in range(tries(150, 600)):
        shifts = chance.choice([0.0, 0.1, 0.2, 0.6], 5)
        differences = [
            PairedItems({str(n): (1, round(float(each), 1)) for n, each in enumerate(values)}, {}).difference()
            for values in chance.normal(shifts[:, None], 0.3, (5, int(chance.integers(5, 30)))).clip(-1, 1)
        ]
        adjusted = adjust_for_all(differences)
        for found, p in [(found, found.p) for found in differences] + [(found, found.adjusted_p) for found in adjusted]:
            assert found.interval is not None
            assert found.estimate is not None
            assert (not_none(p) <= 0.05) == (not found.interval.low <= 0 <= found.interval.high)
            assert found.interval.low <= found.estimate <= found.interval.high
        by_bonferroni = sum(5 * (found.p or 0) <= 0.05 for found in adjusted)
        seen.add(sum((found.adjusted_p or 0) <= 0.05 for found in adjusted) > by_bonferroni)
    assert seen == {True, False}, "some differences are significant by Holm's method and not by Bonferroni's"


def test_all_adjusted_intervals_of_a_report_hold_at_once() -> None:
    """Five runs, ten pairs, two of the runs equal: the case in which Holm's method leaves least to the intervals."""
    chance = np.random.default_rng(5)
    rates = np.array([0.3, 0.3, 0.5, 0.65, 0.8])
    pairs = [(one, other) for one in range(5) for other in range(one)]
    trials, hold, single = tries(60, 300), 0, 0
    for _ in range(trials):
        means = (chance.random((5, 120)) < rates[:, None]).astype(float)
        differences = [
            PairedItems({str(n): (1, each) for n, each in enumerate((means[a] - means[b]).tolist())}, {}).difference()
            for a, b in pairs
        ]
        truths = [float(rates[a] - rates[b]) for a, b in pairs]
        hold += _all_hold(adjust_for_all(differences), truths)
        single += _all_hold(differences, truths)
    assert hold >= 0.9 * trials
    assert single < 0.85 * trials, "the simulation would not show a forgotten adjustment"


def _all_hold(differences: Sequence[PairedDifference], truths: Sequence[float]) -> bool:
    return all(
        found.interval is not None and found.interval.low <= truth <= found.interval.high
        for found, truth in zip(differences, truths, strict=True)
    )


def _found(estimate: float, adjusted_p: float, p: float = 0.5) -> PairedDifference:
    return PairedDifference(estimate, None, p, adjusted_p, 10, ())


def _score(group: str, level: int, score: float | None) -> ScoreObservation:
    return ScoreObservation(group, level, 0, score)


@given(st.lists(st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None])), min_size=4))
def test_with_missing_verdicts_the_interval_holds_every_difference_they_could_make(
    pairs: list[tuple[bool | None, bool | None]],
) -> None:
    runs = [[Observation(str(n), 1, pair[side]) for n, pair in enumerate(pairs)] for side in (0, 1)]

    def compared(first: MissingAs, second: MissingAs) -> PairedDifference:
        return pair_items(item_rates(runs[0], first), item_rates(runs[1], second)).difference()

    plain, worst, best = compared("exclude", "exclude"), compared("fail", "pass"), compared("pass", "fail")
    both = with_missing(plain, worst, best)
    if plain.estimate is None:
        assert both == plain
        return
    assert both.interval is not None
    assert both.interval.low <= not_none(worst.estimate) <= not_none(best.estimate) <= both.interval.high
    assert (not_none(both.p) <= 0.05) <= all((each.p or 0) <= 0.05 for each in (plain, worst, best))
    (adjusted,) = adjust_for_all([both])
    assert adjusted.interval == both.interval, "a single comparison needs no adjustment"
