"""Power of planned designs, against simulated comparisons that the package's own tests analyse."""

from __future__ import annotations

from math import pi, sin, sqrt
from statistics import NormalDist, fmean

import numpy as np
import pytest
from numpy.typing import NDArray

from formalimg.errors import FormalimgError
from formalimg.stats.comparison import compare_paired
from formalimg.stats.corrected_difference import PairedItem, estimate_corrected_difference
from formalimg.stats.observations import Observation
from formalimg.stats.planning import (
    Design,
    Goal,
    plan_corrected_design,
    plan_judged_design,
    plan_labelled_design,
    power_of,
    require_goal,
)
from formalimg.stats.variance_components import DEFAULT_SPREAD, AnswerSpread, Components
from tests.support.sizes import tries

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
    assert found is not None
    assert found.p is not None
    return found.p <= 0.05


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
        assert design is not None
        needed.append(design.labelled)
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
