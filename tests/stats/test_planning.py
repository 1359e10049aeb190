"""How many images and labels a wanted precision needs, against the intervals themselves."""

from __future__ import annotations

import random
from itertools import product
from math import pi, sin, sqrt
from statistics import NormalDist, fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from formalimg.errors import FormalimgError
from formalimg.stats.comparison import compare_paired
from formalimg.stats.corrected_difference import PairedItem, estimate_corrected_difference
from formalimg.stats.observations import Observation
from formalimg.stats.planning import (
    Design,
    Goal,
    allocate_items,
    allocate_labels,
    difference_half_width,
    images_for_width,
    items_for_difference,
    labels_for_width,
    level_spreads,
    plan_corrected_design,
    plan_judged_design,
    plan_labelled_design,
    power_of,
    require_goal,
)
from formalimg.stats.variance_components import DEFAULT_SPREAD, AnswerSpread, Components
from tests.stats.observing import clopper_pearson_margin
from tests.support.sizes import tries
from tests.support.values import not_none


@pytest.mark.parametrize("width", [0.02, 0.05, 0.2])
def test_images_for_a_width_are_just_enough(width: float) -> None:
    images = images_for_width(width)
    even = images + images % 2
    assert clopper_pearson_margin(even // 2, even) <= width
    fewer = images - 2 - images % 2
    assert clopper_pearson_margin(fewer // 2, fewer) > width


def test_rates_far_from_a_half_need_fewer() -> None:
    assert images_for_width(0.05, rate=0.95) < images_for_width(0.05, rate=0.8) < images_for_width(0.05)
    assert images_for_width(0.05, confidence=0.8) < images_for_width(0.05)


def test_a_difference_needs_as_many_items_as_its_spread_asks_for() -> None:
    items = items_for_difference(0.05, discordant=0.3)
    draw = np.random.default_rng(1)
    differences = draw.choice([-1, 0, 1], p=[0.15, 0.7, 0.15], size=(4000, items)).mean(axis=1)
    assert 1.96 * differences.std() == pytest.approx(0.05, rel=0.05)


def test_labels_for_a_width_are_just_enough() -> None:
    cells = {(level, passed): 100 for level in range(1, 11) for passed in (True, False)}
    labels = labels_for_width(cells, 0.05)
    assert labels is not None
    assert allocate_labels(cells, labels).half_width <= 0.05 < allocate_labels(cells, labels - 1).half_width
    assert labels_for_width(cells, 0.005) is None  # there are not so many images


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: images_for_width(5), "5 points are 0.05"),
        (lambda: images_for_width(0.0), "half width"),
        (lambda: images_for_width(0.05, rate=2), "between 0 and 1"),
        (lambda: items_for_difference(0.05, discordant=0), "above 0"),
    ],
)
def test_widths_that_cannot_be_are_refused(call: object, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        call()  # type: ignore[operator]


SPREAD = st.floats(0.05, 1)


@given(st.lists(SPREAD, min_size=2, max_size=3), st.lists(st.integers(3, 7), min_size=3, max_size=3), st.data())
def test_no_other_allocation_is_more_precise(spreads: list[float], sizes: list[int], data: st.DataObject) -> None:
    free = {level: sizes[level] for level in range(len(spreads))}
    weights = {level: data.draw(st.floats(0.1, 1)) for level in free}
    more = data.draw(st.integers(2 * len(free), sum(free.values())))

    def variance(counts: tuple[int, ...]) -> float:
        return sum(weights[level] ** 2 * spreads[level] / count for level, count in enumerate(counts))

    chosen = allocate_items(free, weights, dict(enumerate(spreads)), {}, more)
    assert sum(chosen.values()) == more
    possible = product(*(range(2, size + 1) for size in free.values()))
    best = min(variance(counts) for counts in possible if sum(counts) == more)
    assert variance(tuple(chosen[level] for level in free)) == pytest.approx(best)


@given(st.integers(0, 40), st.integers(0, 4), st.integers(0, 4))
def test_no_level_gets_more_than_it_has(more: int, first: int, second: int) -> None:
    free = {1: 5, 2: 9}
    chosen = allocate_items(free, {1: 0.5, 2: 0.5}, {1: 0.9, 2: 0.1}, {1: first, 2: second}, more)
    assert sum(chosen.values()) == min(more, 14)
    assert all(0 <= chosen[level] <= free[level] for level in free)


def test_levels_that_vary_more_get_more() -> None:
    chosen = allocate_items({1: 100, 2: 100}, {1: 0.5, 2: 0.5}, {1: 0.4, 2: 0.1}, {}, 60)
    assert chosen == {1: 40, 2: 20}  # in proportion to the standard deviations


def _items(rng: random.Random, count: int, labelled: dict[int, int]) -> list[PairedItem]:
    """Items of three levels, which differ in how much people's differences vary."""
    items = []
    for level, chance in ((1, 0.1), (2, 0.5), (3, 0.8)):
        for number in range(count):
            people = rng.choice([-1.0, 1.0]) if rng.random() < chance else 0.0
            judge = people if rng.random() < 0.7 else rng.choice([-1.0, 0.0, 1.0])
            is_labelled = number < labelled[level]
            items.append(PairedItem(level, judge, people if is_labelled else None, judge, labelled[level] / count))
    return items


@pytest.mark.parametrize("labelled", [{1: 10, 2: 20, 3: 30}, {1: 40, 2: 40, 3: 40}, {1: 100, 2: 100, 3: 100}])
def test_the_announced_half_width_is_the_one_that_comes(labelled: dict[int, int]) -> None:
    announced, real = [], []
    weights, sizes = dict.fromkeys(labelled, 1 / 3), dict.fromkeys(labelled, 100)
    for number in range(60):
        items = _items(random.Random(number), 100, labelled)
        found = estimate_corrected_difference(items, (1, 2, 3))
        assert found is not None
        real.append((not_none(found.interval).high - not_none(found.interval).low) / 2)
        announced.append(difference_half_width(sizes, weights, level_spreads(items), labelled))
    assert fmean(announced) == pytest.approx(fmean(real), rel=0.1)


def test_too_few_labels_announce_nothing() -> None:
    spreads = level_spreads([PairedItem(1, value) for value in (0.0, 1.0, -1.0, 0.0) * 5])
    assert difference_half_width({1: 20}, {1: 1.0}, spreads, {1: 2}) == 1
    assert difference_half_width({1: 20}, {1: 1.0}, spreads, {1: 10}) < 1


DIFFERENCE = 0.12
CLOSE_JUDGE = AnswerSpread(Components(0.08, 0.05, 0.04, 0.0, 0.08), Components(0.09, 0.09, 0.07), 0.4)


def _answers(
    spread: AnswerSpread, design: Design, chance: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Draw the judge's verdicts and the majorities of raters, by model, item and image.

    Judge and people share part of each effect on a latent normal scale, so that their answers have the covariances
    that are planned for: at a rate of 50 %, a correlation r gives the covariance asin(r) / 2 pi.
    """
    shapes = ((1, design.items, 1), (2, design.items, 1), (2, design.items, design.images))
    people, judge = (np.cumsum([each.prompt, each.prompt_model, each.image]) for each in (spread.people, spread.judge))
    agreement = (0.8, spread.correlation, spread.correlation)  # what is hard for all cancels
    effects = [sqrt(spread.people[n] * spread.judge[n]) * agreement[n] for n in range(3)]
    scales = [np.diff([sin(2 * pi * min(0.25, each)) for each in sums], prepend=0) for sums in (people, judge)]
    shared = np.diff([sin(2 * pi * each) for each in np.cumsum(effects)], prepend=0)
    seen = verdict = np.zeros(shapes[-1])
    for shape, scale, other, both in zip(shapes, *scales, shared, strict=True):
        draws = chance.multivariate_normal([0, 0], [[scale, both], [both, other]], shape, check_valid="raise")
        seen, verdict = seen + draws[..., 0], verdict + draws[..., 1]
    shift = np.array([1, -1])[:, None, None] * NormalDist().inv_cdf(0.5 + DIFFERENCE / 2)
    noise = chance.normal(scale=sqrt(1 - scales[0].sum()), size=(design.raters, *shapes[-1]))
    return verdict + shift > 0, 2 * (seen + shift + noise > 0).sum(axis=0) > design.raters


def _is_significant(design: Design, judge: NDArray[np.bool_], people: NDArray[np.bool_]) -> bool:
    if design.labelled and design.has_judge:
        by_judge, by_people = (side.mean(axis=2)[0] - side.mean(axis=2)[1] for side in (judge, people))
        labelled = range(design.labelled)
        found = estimate_corrected_difference(
            [
                PairedItem(1, by_judge[n], by_people[n] if n in labelled else None, by_judge[n])
                for n in range(design.items)
            ]
        )
    else:
        runs = [
            [Observation(str(n), 1, bool(passed)) for n, images in enumerate(model) for passed in images]
            for model in (people if design.labelled else judge)
        ]
        found = compare_paired(*runs)
    return not_none(not_none(found).p) <= 0.05


@pytest.mark.parametrize(
    ("spread", "design"),
    [
        (DEFAULT_SPREAD, Design(190)),
        (DEFAULT_SPREAD, Design(80, 4)),
        (DEFAULT_SPREAD, Design(190, 1, 190, 1, False)),
        (DEFAULT_SPREAD, Design(150, 1, 150, 3, False)),
        (DEFAULT_SPREAD, Design(150, 1, 150, 5, False)),
        (DEFAULT_SPREAD, Design(80, 4, 80, 1, False)),
        (DEFAULT_SPREAD, Design(400, 1, 180, 1)),
        (CLOSE_JUDGE, Design(400, 1, 150, 1)),
        (CLOSE_JUDGE, Design(400, 1, 100, 3)),
        (CLOSE_JUDGE, Design(200, 4, 60, 1)),
    ],
)
def test_designs_have_the_power_that_is_claimed(spread: AnswerSpread, design: Design) -> None:
    chance = np.random.default_rng(8)
    repetitions = tries(400, 3_000)
    found = fmean(_is_significant(design, *_answers(spread, design, chance)) for _ in range(repetitions))
    assert power_of(design, Goal(DIFFERENCE), spread) == pytest.approx(found, abs=0.05)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("images", "raters"), [(1, 1), (4, 1), (1, 5)])
def test_designs_are_just_large_enough(power: float, images: int, raters: int) -> None:
    goal = Goal(0.05, power)
    for design in (
        plan_judged_design(goal, DEFAULT_SPREAD, images),
        plan_labelled_design(goal, DEFAULT_SPREAD, images, raters),
    ):
        smaller = design._replace(items=design.items - 1, labelled=max(0, design.labelled - 1))
        assert power_of(smaller, goal, DEFAULT_SPREAD) < power <= power_of(design, goal, DEFAULT_SPREAD)
    corrected = plan_corrected_design(goal, DEFAULT_SPREAD, 4_000, images, raters, 10)
    assert corrected is not None
    smaller = corrected._replace(labelled=corrected.labelled - 1)
    assert power_of(smaller, goal, DEFAULT_SPREAD, 10) < power <= power_of(corrected, goal, DEFAULT_SPREAD, 10)


def test_labels_on_all_items_may_not_be_enough() -> None:
    assert plan_corrected_design(Goal(0.05), DEFAULT_SPREAD, 500, 1, 1) is None


def test_a_judge_that_follows_people_saves_labels() -> None:
    needed = []
    for correlation in (0.0, 0.3, 0.6):
        design = plan_corrected_design(Goal(0.05), DEFAULT_SPREAD._replace(correlation=correlation), 2_000, 1, 1)
        needed.append(not_none(design).labelled)
    assert needed == sorted(needed, reverse=True)
    assert needed[2] < needed[0]


def test_more_images_with_one_rater_beat_fewer_with_several() -> None:
    goal = Goal(0.05)
    single = power_of(Design(500, 1, 500, 1, False), goal, DEFAULT_SPREAD)
    several = power_of(Design(100, 1, 100, 5, False), goal, DEFAULT_SPREAD)
    assert single > 2 * several


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (Goal(5.0), "5 points are 0.05"),
        (Goal(0.0), "difference"),
        (Goal(0.05, 1.0), "power"),
        (Goal(0.05, 0.05), "power"),
        (Goal(float("nan")), "difference"),
    ],
)
def test_impossible_goals_are_refused(goal: Goal, message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        require_goal(goal)


def test_an_even_number_of_raters_is_refused() -> None:
    with pytest.raises(FormalimgError, match="odd number"):
        power_of(Design(100, 1, 100, 2, False), Goal(0.05), DEFAULT_SPREAD)
