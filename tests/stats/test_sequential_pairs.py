"""Two models compared item by item until they are separated."""

from __future__ import annotations

from itertools import pairwise, product
from math import exp, lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.comparison import MeanError, PairedDifference, PairedItems
from formalimg.stats.intervals import normal_quantile
from formalimg.stats.sequential_pairs import (
    ALPHA,
    GateDecision,
    PairedDesign,
    PairedResult,
    PairedTest,
    decide_gate,
    look_alpha,
)
from tests.support.sizes import tries
from tests.support.values import not_none


def _compare(items: int, discordant: float, won: float, draw: np.random.Generator) -> PairedResult:
    test, wins, losses, seen = PairedTest(PairedDesign(items)), 0, 0, 0
    while (needs := test.needs) is not None:
        different = int(draw.binomial(needs - seen, discordant))
        new = int(draw.binomial(different, won))
        wins, losses, seen = wins + new, losses + different - new, needs
        test.look(wins, losses, needs)
    return test.result()


@pytest.mark.parametrize(("discordant", "won"), [(0.3, 0.5), (0.3, 0.75), (0.5, 0.95)])
def test_the_interval_covers_and_leaves_out_0_only_where_the_models_are_separated(
    discordant: float, won: float
) -> None:
    draw, runs, covered = np.random.default_rng(5), tries(40, 1000), 0
    for _ in range(runs):
        result = _compare(100, discordant, won, draw)
        low, high = not_none(result.interval)
        covered += low <= discordant * (2 * won - 1) <= high
        assert (low > 0) == (result.decision == "better")
        assert (high < 0) == (result.decision == "worse")
    assert covered / runs >= 0.95 - 3 * (0.05 * 0.95 / runs) ** 0.5


def test_equal_models_are_separated_no_more_often_than_allowed_by_enumeration() -> None:
    """All wins and losses on 20 discordant items, weighted by their chance: the exact type-I error."""
    separated = 0.0
    for first, second in product(range(11), range(11)):
        test = PairedTest(PairedDesign(20))
        chance = float(_chances[first] * _chances[second])
        if test.look(first, 10 - first, 10).decision == "going on":
            test.look(first + second, 20 - first - second, 20)
        separated += chance * (test.looks[-1].decision in ("better", "worse"))
    assert 0.01 < separated <= 0.05


_chances = np.array([1.0])
for _ in range(10):
    _chances = np.convolve(_chances, (0.5, 0.5))


def test_clear_differences_take_few_items_and_equal_models_end_without_all() -> None:
    draw = np.random.default_rng(2)
    clear = _compare(2000, 0.4, 0.95, draw)
    assert (clear.decision, clear.counted < 200) == ("better", True)
    assert _compare(2000, 0.4, 0.05, draw).decision == "worse"
    equal = PairedTest(PairedDesign(400))
    while (needs := equal.needs) is not None:
        equal.look(needs // 10, needs // 10, needs)
    assert equal.result().decision == "hopeless"
    assert equal.result().counted < 400
    assert equal.result().difference == 0


def test_models_that_never_differ() -> None:
    test = PairedTest(PairedDesign(200))
    while (needs := test.needs) is not None:
        test.look(0, 0, needs)
    result = test.result()
    assert result.decision == "hopeless"
    assert -0.1 < not_none(result.interval).low < 0 < not_none(result.interval).high < 0.1


def test_items_that_cannot_be_scored_end_the_comparison_early() -> None:
    test = PairedTest(PairedDesign(30))
    test.look(3, 1, 10)
    assert test.look(5, 2, 17, exhausted=True).decision == "undecided"
    assert test.needs is None
    with pytest.raises(FormalimgError, match="has ended"):
        test.look(5, 2, 30)


@pytest.mark.parametrize(("wins", "losses", "counted"), [(1, 1, 5), (8, 3, 10), (-1, 0, 10)])
def test_looks_that_cannot_be_are_refused(wins: int, losses: int, counted: int) -> None:
    with pytest.raises(FormalimgError, match=r"the interim analysis needs|count them again"):
        PairedTest(PairedDesign(30)).look(wins, losses, counted)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(FormalimgError, match="no items"):
        PairedDesign(0)
    assert PairedTest(PairedDesign(10)).result().difference is None


@pytest.mark.parametrize("is_better", [True, False])
def test_missing_verdicts_of_the_loser_end_the_certainty_before_they_turn_the_difference(is_better: bool) -> None:
    test = PairedTest(PairedDesign(200))
    while test.needs is not None:
        often, rarely = round(0.3 * test.needs), round(0.05 * test.needs)
        test.look(*((often, rarely) if is_better else (rarely, often)), test.needs)
    last = test.looks[-1]
    assert last.decision == ("better" if is_better else "worse")
    certain = [missing for missing in range(abs(last.wins - last.losses)) if test.is_certain(missing)]
    assert certain == [*range(len(certain))]
    assert 0 < len(certain) < abs(last.wins - last.losses)


def test_models_that_are_not_separated_are_not_certain() -> None:
    test = PairedTest(PairedDesign(20))
    assert not test.is_certain(0)
    test.look(1, 1, 10)
    assert not test.is_certain(0)


def _paired(wins: int, losses: int, items: int) -> PairedDifference:
    signs = [1.0] * wins + [-1.0] * losses + [0.0] * (items - wins - losses)
    return PairedItems({str(number): (1, sign) for number, sign in enumerate(signs)}, {}).difference()


def _estimate(mean: float, error: float, items: int = 400) -> PairedDifference:
    return PairedDifference(mean, None, 0.5, None, items, (), error=MeanError(error, items - 1))


def _chance(counts: tuple[int, int, int], chances: tuple[float, float, float]) -> float:
    """The probability of so many wins, losses and ties."""
    total = lgamma(sum(counts) + 1) - sum(lgamma(count + 1) for count in counts)
    return exp(total + sum(count * log(chance) for count, chance in zip(counts, chances, strict=True) if count))


@pytest.mark.parametrize(("items", "differ"), [(60, 0.25), (60, 0.08), (120, 0.06), (150, 0.021)])
def test_a_loss_as_large_as_the_margin_passes_or_is_worse_in_one_of_twenty_by_enumeration(
    items: int, differ: float
) -> None:
    margin = 0.02
    chances = ((differ - margin) / 2, (differ + margin) / 2, 1 - differ)
    most = int(items * differ + 6 * (items * differ) ** 0.5)  # more differing items are next to impossible
    found = dict.fromkeys(("pass", "worse", "cannot tell"), 0.0)
    for wins in range(most):
        for losses in range(min(most, items - wins)):
            chance = _chance((wins, losses, items - wins - losses), chances)
            if chance > 1e-7:
                found[decide_gate(_paired(wins, losses, items), margin).outcome] += chance
    assert sum(found.values()) == pytest.approx(1, abs=1e-3)
    assert found["pass"] <= 0.055
    assert found["worse"] <= 0.055


@pytest.mark.parametrize("looks", [1, 2, 5, 10])
def test_looks_together_cross_as_often_as_one_would(looks: int) -> None:
    """An independent oracle: normal increments of the sizes that a pipeline had."""
    generator = np.random.default_rng(looks)
    sizes = np.sort(generator.choice(np.arange(50, 2_000), looks, replace=False))
    walks = generator.normal(size=(200_000, looks)) * np.sqrt(np.diff(sizes, prepend=0))
    scaled = walks.cumsum(axis=1) / np.sqrt(sizes)
    alphas = [look_alpha(sizes[:number].tolist(), looks) for number in range(1, looks + 1)]
    assert all(earlier < later for earlier, later in pairwise(alphas))
    crossed = (scaled > [normal_quantile(1 - 2 * alpha) for alpha in alphas]).any(axis=1).mean()
    assert 0.045 < crossed < ALPHA + 0.002


def test_looks_that_do_not_fit_their_plan_are_refused() -> None:
    for items, looks in (([], 3), ([10, 20], 1), ([10], 41)):
        with pytest.raises(FormalimgError, match="looks cannot be"):
            look_alpha(items, looks)
    with pytest.raises(FormalimgError, match="do not rise"):
        look_alpha([20, 20], 3)


@settings(max_examples=tries(100, 1000), deadline=None)
@given(st.floats(-0.3, 0.3), st.floats(0.001, 0.1), st.floats(0.001, 0.3), st.floats(0, 0.1))
def test_the_outcome_follows_from_the_bounds_and_missing_verdicts_only_widen_them(
    mean: float, error: float, margin: float, gap: float
) -> None:
    plain = _estimate(mean, error)
    decision = decide_gate(plain, margin)
    assert decision.low < mean < decision.high
    assert (decision.outcome == "pass") == (decision.low > -margin)
    assert (decision.outcome == "worse") == (decision.high < -margin)
    bounded = decide_gate(plain, margin, worst=_estimate(mean - gap, error), best=_estimate(mean + gap, error))
    assert bounded.low <= decision.low
    assert bounded.high >= decision.high
    assert bounded.outcome in (decision.outcome, "cannot tell")


@settings(max_examples=tries(100, 1000), deadline=None)
@given(st.floats(-0.1, 0.1), st.floats(0.01, 0.1))
def test_the_further_items_that_it_names_would_tell_what_was_seen(mean: float, error: float) -> None:
    decision = decide_gate(_estimate(mean, error), 0.02)
    if decision.more_items is None:
        return
    share = decision.items / (decision.items + decision.more_items)
    later = decide_gate(_estimate(mean, error * share**0.5, decision.items + decision.more_items), 0.02)
    assert later.outcome == ("pass" if mean > -0.02 else "worse")


def test_more_images_of_each_item_help_as_far_as_images_differ() -> None:
    decision = GateDecision("cannot tell", 0.0, -0.03, 0.03, 0.02, ALPHA, 400, growth=2.0)
    assert decision.samples(2, 1.0) == 4  # all the variance is that of images: twice the images do
    assert decision.samples(2, 0.75) == 6  # 1/4 of the variance stays, and 1/4 is left for images
    assert decision.samples(2, 0.5) is None  # half of it stays, which is all there may be
    assert GateDecision("pass", 0.0, -0.01, 0.01, 0.02, ALPHA, 400).samples(2, 1.0) is None


def test_missing_verdicts_that_can_decide_leave_the_gate_open() -> None:
    decision = decide_gate(_estimate(0.0, 0.001), 0.02, worst=_estimate(-0.05, 0.001), best=_estimate(0.05, 0.001))
    assert (decision.outcome, decision.is_open, decision.more_items) == ("cannot tell", True, None)


def test_a_single_item_cannot_tell_and_no_item_is_an_error() -> None:
    assert decide_gate(_paired(0, 1, 1), 0.02).outcome == "cannot tell"
    with pytest.raises(FormalimgError, match="no item in common"):
        decide_gate(PairedItems({}, {}).difference(), 0.02)
    with pytest.raises(FormalimgError, match="margin"):
        decide_gate(_paired(1, 1, 9), 1.0)
