"""Group-sequential boundaries and the adaptive test of G, against enumeration, and by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.sequential import (
    AdaptiveDesign,
    AdaptiveTest,
    interval_after_looks,
    look_sizes,
    passes_to_cross,
    spent_by,
)
from formalimg.stats.summary import generalizability
from tests.support.sizes import tries
from tests.support.values import not_none

RATES = st.integers(1, 19).map(lambda twentieths: twentieths / 20)


def _enumerated(looks: tuple[int, ...], bounds: tuple[int, ...], rate: float) -> list[float]:
    """The chance to have crossed by each look, by listing every sequence of passes and failures."""
    crossed = [0.0] * len(looks)
    for images in product((0, 1), repeat=looks[-1]):
        chance = prod(rate if passed else 1 - rate for passed in images)
        first = next((n for n, look in enumerate(looks) if sum(images[:look]) >= bounds[n]), None)
        for later in range(len(looks) if first is None else first, len(looks)):
            crossed[later] += chance
    return crossed


@settings(max_examples=tries(15, 200), deadline=None)
@given(st.sets(st.integers(1, 9), min_size=1, max_size=4), RATES, st.floats(0.001, 0.4), st.integers(0, 3))
def test_boundaries_spend_what_is_allowed_and_not_more_by_enumeration(
    chosen: set[int], rate: float, alpha: float, more: int
) -> None:
    looks = tuple(sorted(chosen))
    total = looks[-1] + more
    bounds = passes_to_cross(looks, total, rate, alpha)
    crossed = _enumerated(looks, bounds, rate)
    assert crossed == pytest.approx(_chance_to_cross(looks, bounds, rate))
    for n, look in enumerate(looks):
        allowed = spent_by(look / total, alpha)
        assert crossed[n] <= allowed + 1e-12
        # One pass fewer would spend too much, if so few passes can be undecided until then.
        tighter = (*bounds[:n], bounds[n] - 1)
        assert bounds[n] == 0 or _enumerated(looks[: n + 1], tighter, rate)[n] > allowed


@pytest.mark.parametrize(("epsilon", "total"), [(0.7, 200), (0.5, 300), (0.9, 57), (0.15, 200)])
def test_the_error_probability_is_kept_and_nearly_used_up(epsilon: float, total: int) -> None:
    looks = look_sizes(total, 10)
    for rate, alpha in ((epsilon, 0.025), (1 - epsilon, 0.0025)):
        bounds = passes_to_cross(looks, total, rate, alpha)
        crossed = _chance_to_cross(looks, bounds, rate)
        assert all(by <= spent_by(look / total, alpha) for by, look in zip(crossed, looks, strict=True))
        assert crossed[-1] > 0.6 * alpha
        assert all(earlier <= later for earlier, later in pairwise(bounds))
        assert _chance_to_cross(looks, bounds, rate - 0.04)[-1] < crossed[-1]


def test_a_single_look_is_the_exact_binomial_test() -> None:
    # 5 of 5 at a rate of 0.5 has a chance of 1/32; 4 or more one of 6/32.
    assert passes_to_cross((5,), 5, 0.5, 1 / 32) == (5,)
    assert passes_to_cross((5,), 5, 0.5, 0.9 / 32) == (6,)
    assert passes_to_cross((5,), 5, 0.5, 6 / 32) == (4,)


def test_rates_that_are_certain() -> None:
    assert passes_to_cross((10, 20), 20, 0.0, 0.01) == (1, 1)  # one pass refutes a rate of 0
    assert all(bound > look for bound, look in zip(passes_to_cross((10, 20), 20, 1.0, 0.01), (10, 20), strict=True))


@pytest.mark.parametrize("looks", [(10, 10), (20, 10), (0, 10), (10, 30)])
def test_looks_that_do_not_rise_are_refused(looks: tuple[int, ...]) -> None:
    with pytest.raises(FormalimgError, match="give them in order"):
        passes_to_cross(looks, 20, 0.5, 0.05)


def test_the_repeated_interval_covers_the_rate_at_all_looks_at_once() -> None:
    draw, looks, total = np.random.default_rng(3), look_sizes(60, 10), 60
    for rate in (0.7, 0.95):
        wrong = 0
        runs = tries(300, 3000)
        for _ in range(runs):
            passed = tuple(int(n) for n in draw.binomial(10, rate, len(looks)).cumsum())
            # The widest moment does not help: all looks have to cover.
            intervals = [interval_after_looks(looks[:n], passed[:n], total) for n in range(1, len(looks) + 1)]
            wrong += any(not low <= rate <= high for low, high in intervals)
        assert wrong / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_one_look_gives_the_exact_interval() -> None:
    assert interval_after_looks((50,), (40,), 50) == pytest.approx(clopper_pearson(40, 50), abs=1e-4)
    assert interval_after_looks((10,), (10,), 200)[1] == 1.0
    assert interval_after_looks((10,), (0,), 200)[0] == 0.0


# --- the adaptive test


def _climb(test: AdaptiveTest, rates: dict[int, float], draw: np.random.Generator) -> None:
    passed: dict[int, int] = {}
    seen: dict[int, int] = {}
    while (needs := test.needs) is not None:
        fresh = needs.counted - seen.get(needs.level, 0)
        passed[needs.level] = passed.get(needs.level, 0) + int(draw.binomial(fresh, rates[needs.level]))
        seen[needs.level] = needs.counted
        test.look(passed[needs.level], needs.counted)


CURVES = {
    "published": (0.93, 0.90, 0.80, 0.70, 0.665, 0.635, 0.585, 0.49, 0.53, 0.47),
    "not monotone": (0.9, 0.72, 0.85, 0.71, 0.95, 0.66, 0.9, 0.9, 0.9, 0.9),
    "flat": (0.7,) * 10,
    "step": (0.95,) * 5 + (0.3,) * 5,
}


@pytest.mark.parametrize("curve", CURVES)
def test_the_interval_of_g_covers_it(curve: str) -> None:
    rates = dict(enumerate(CURVES[curve], 1))
    true, draw, runs, covered = generalizability(rates, 0.7), np.random.default_rng(7), tries(60, 2000), 0
    for _ in range(runs):
        test = AdaptiveTest(AdaptiveDesign(dict.fromkeys(rates, 100), 0.7))
        _climb(test, rates, draw)
        found = test.result().generalizability
        assert not_none(found.low) <= not_none(found.value) <= not_none(found.high)
        covered += not_none(found.low) <= true <= not_none(found.high)
    assert covered / runs >= 0.95 - 3 * (0.05 * 0.95 / runs) ** 0.5


def test_a_clear_curve_takes_few_images() -> None:
    test = AdaptiveTest(AdaptiveDesign(dict.fromkeys(range(1, 11), 200), 0.7))
    _climb(test, dict(enumerate((1.0, 1.0, 0.0, *(0.0,) * 7), 1)), np.random.default_rng(1))
    result = test.result()
    assert result.generalizability == (0.7, 2, 2, 2)
    assert dict(result.decisions) == {1: "held", 2: "held", 3: "lost"}
    assert dict(result.counted) == {1: 30, 2: 30, 3: 10}
    assert (result.total, result.finished) == (2000, True)


def test_undecided_levels_count_by_their_rate_and_are_climbed_past() -> None:
    test = AdaptiveTest(AdaptiveDesign({1: 20, 2: 20}, 0.7))
    for passed, counted in ((7, 10), (14, 20), (6, 10), (13, 20)):
        test.look(passed, counted)
    result = test.result()
    assert set(result.decisions.values()) == {"undecided"}
    assert result.generalizability == (0.7, 1, 0, 2)


def test_an_unfinished_test_says_what_is_sure_and_leaves_the_value_open() -> None:
    test = AdaptiveTest(AdaptiveDesign({1: 40, 2: 40, 3: 40}, 0.7))
    for passed, counted in ((10, 10), (20, 20)):
        test.look(passed, counted)
    assert test.result().generalizability == (0.7, None, 1, 3)
    assert not test.result().finished


def test_a_level_that_runs_out_of_images_is_looked_at_once_more() -> None:
    test = AdaptiveTest(AdaptiveDesign({1: 40, 2: 30}, 0.7))
    for passed, counted in ((9, 10), (17, 20), (25, 30)):
        assert test.look(passed, counted).decision == "going on"
    assert test.look(32, 37, exhausted=True).decision == "held"
    test.look(7, 10)
    assert test.look(7, 10, exhausted=True).decision == "undecided"  # nothing new: nothing is decided
    assert test.needs is None
    assert test.result().generalizability == (0.7, 2, 1, 2)


@pytest.mark.parametrize(
    ("passed", "counted", "exhausted", "message"),
    [
        (5, 5, False, "needs 10 scored images"),
        (5, 20, False, "needs 10 scored images"),
        (11, 10, False, "cannot have passed"),
        (11, 11, True, "needs 10 scored images"),
    ],
)
def test_looking_at_another_time_is_refused(passed: int, counted: int, exhausted: bool, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        AdaptiveTest(AdaptiveDesign({1: 30}, 0.7)).look(passed, counted, exhausted=exhausted)


def test_designs_without_a_ladder_are_refused() -> None:
    with pytest.raises(FormalimgError, match="all levels"):
        AdaptiveDesign({1: 10, 3: 10}, 0.7)
    with pytest.raises(FormalimgError, match="from level 1"):
        AdaptiveDesign({}, 0.7)


def _chance_to_cross(looks: tuple[int, ...], bounds: Sequence[int], rate: float) -> list[float]:
    """The chance that the passes have reached their bound by each look."""
    undecided = np.ones(1)
    chances: list[float] = []
    for new, bound in zip(map(int, np.diff(looks, prepend=0)), bounds, strict=True):
        undecided = np.convolve(undecided, [comb(new, k) * rate**k * (1 - rate) ** (new - k) for k in range(new + 1)])
        chances.append(float(undecided[bound:].sum()) + (chances[-1] if chances else 0.0))
        undecided = undecided[:bound]
    return chances
