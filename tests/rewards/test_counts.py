"""Counts in the reward: the closeness of the number, against a game played out over all bindings, and by example."""

from __future__ import annotations

import random

import pytest

from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.soft_score.best_binding import prepare_formula
from formalimg.logic.syntax import COUNT_BOUNDS, CREDIT_UNIT, Count
from formalimg.rewards.scorer import Scorer
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.rewards.game_played_out import STYLE, components, count_value, effort, holds, reward, share
from tests.support.brute_force import truth
from tests.support.random_logic import random_formula, random_scene
from tests.support.sizes import tries

WEIGHTS = {"relation": 3, "count": 2}


def cups(number: int, *others: str) -> Scene:
    labels = ["cup"] * number + list(others)
    return Scene.of(SceneObject(label, Box(50 * n, 0, 50 * n + 40, 50), "red") for n, label in enumerate(labels))


def test_the_share_is_the_game_over_the_clauses_and_1_if_and_only_if_the_formula_holds() -> None:
    played = shared = 0
    number = tries(100, 3000)
    for index in range(number):
        chance = random.Random(f"reward counts {index}")
        formula, scene = random_formula(chance, chance.randint(1, 4), counts=True), random_scene(chance)
        parts = components(formula, WEIGHTS)
        if not 0 < effort(parts, max(1, len(scene))) < 1500:
            continue
        passes = truth(formula, scene, strict=True, style=STYLE)
        held = prepare_formula(formula, weights=WEIGHTS, credit="held")  # type: ignore[arg-type]
        earned = prepare_formula(formula, weights=WEIGHTS, credit="earned")  # type: ignore[arg-type]
        for ready in (held, earned):
            best = ready.best_binding(scene, STYLE)
            assert ready.share(scene, STYLE) == best.share
            assert (best.share == 1) is passes, f"{formula} in {scene.to_json()}"
        if len(scene):
            assert held.share(scene, STYLE) == float(share(parts, scene, holds)), f"{formula} in {scene.to_json()}"
            assert earned.share(scene, STYLE) == float(reward(parts, scene, passes))
            shared += any(clause.closeness for clause in best.clauses)
        played += 1
    assert played > number * 0.9
    assert shared > number / 30


@pytest.mark.parametrize("bound", COUNT_BOUNDS)
@pytest.mark.parametrize("positive", [True, False])
def test_a_count_is_worth_more_the_closer_it_is_and_1_only_if_it_holds(bound: str, positive: bool) -> None:
    for number in range(7):
        count = parse(f"({bound} {number} ?x (Is ?x 'cup'))")
        assert isinstance(count, Count)
        limits = count.limits(positive)
        worth = [limits.credit(found) for found in range(17)]
        assert [one / CREDIT_UNIT for one in worth] == [float(count_value(count, positive, n)) for n in range(17)]
        allowed = [n for n in range(17) if count.allows(n) is positive]
        assert [n for n in range(17) if worth[n] == CREDIT_UNIT] == allowed
        for n in range(16):  # towards the allowed numbers it never falls
            if allowed and n + 1 <= allowed[0]:
                assert worth[n] <= worth[n + 1]
            if allowed and n >= allowed[-1]:
                assert worth[n] >= worth[n + 1]


def test_every_cup_on_the_way_to_three_pays_and_every_cup_too_many_costs() -> None:
    three = "(exactly 3 ?x (Is ?x 'cup'))"
    scores = [prepare_formula(three, credit="earned").share(cups(n)) for n in range(7)]
    assert scores == [0, 1 / 3, 2 / 3, 1, 3 / 4, 3 / 5, 3 / 6]


def test_the_scorer_returns_the_share_and_says_what_was_needed_and_found() -> None:
    scorer = Scorer(surplus=0)
    [found] = scorer.score_all([(cups(2), "(exactly 3 ?x (Is ?x 'cup'))")])
    assert (found.score, found.passed) == (2 / 3, False)
    assert [(part.kind, part.score) for part in found.parts] == [("count", 2 / 3)]
    assert found.reason == "(exactly 3 ?x (Is ?x 'cup')): 3 cups needed, 2 found: #0 #1"


def test_a_count_that_holds_of_nothing_earns_nothing_while_what_is_asked_for_is_missing() -> None:
    asked = "(and (exactly 3 ?x (Is ?x 'cup')) (at-most 1 ?y (Is ?y 'fork')))"
    ready = prepare_formula(asked, credit="earned")
    assert ready.share(cups(0, "hammer")) == 0
    assert ready.share(cups(0)) == 0
    assert ready.share(cups(1)) == pytest.approx((1 / 3 + 1) / 2)
    best = ready.best_binding(cups(0, "hammer"))
    assert [clause.score for clause in best.clauses] == [0, 0]


def test_weights_that_would_overflow_give_one_score_for_the_formula() -> None:
    parts = " ".join(["(or (Is ?p 'a') (Is ?p 'b'))"] * 3000)
    formula = f"(exists ?p (and (exactly 1 ?x (LeftOf ?x ?p)) {parts}))"
    ready = prepare_formula(formula, weights={"condition": 1_000_000})
    with pytest.raises(FormulaError) as caught:
        ready.share(cups(2, "fork"))
    assert [problem.kind for problem in caught.value.problems] == ["size"]
