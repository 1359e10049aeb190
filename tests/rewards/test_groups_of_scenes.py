"""A group of scenes scored at once has the very numbers of its scenes one by one, and of the game played out."""

from __future__ import annotations

import random

import pytest

from formalimg import load
from formalimg.logic.errors import FormulaError
from formalimg.logic.soft_score import group_game
from formalimg.logic.soft_score.best_binding import PreparedFormula, prepare_formula
from formalimg.logic.syntax import And, Atom, Exists, Formula, Variable
from formalimg.rewards.result import PairError
from formalimg.rewards.scorer import Scorer
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation
from tests.rewards.game_played_out import STYLE, components, effort, holds, reward, share
from tests.rewards.test_quick_games import disturbed
from tests.support.brute_force import truth
from tests.support.random_logic import random_formula, random_scene
from tests.support.sizes import tries

WEIGHTS = {"relation": 3, "count": 2, "object": 5}


def random_asked(chance: random.Random) -> Formula:
    formula = random_formula(chance, chance.randint(1, 4), counts=chance.random() < 0.3)
    if chance.random() < 0.3:
        first, second = Variable("d1"), Variable("d2")
        relation = Atom(chance.choice(["LeftOf", "LargerThan", "AlignedVertically"]), (first, second))
        apart = And((Atom("distinct", (first, second)), relation))
        formula = And((formula, Exists(first, Exists(second, apart))))
    return formula


@pytest.mark.parametrize("cells", [group_game.MAX_GROUP_CELLS, 60])
def test_random_formulas_have_the_shares_of_the_game_played_out(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    monkeypatch.setattr(group_game, "MAX_GROUP_CELLS", cells)
    played = between = 0
    number = tries(60, 500)
    for index in range(number):
        chance = random.Random(f"groups {index}")
        formula = random_asked(chance)
        scenes = [random_scene(chance, (0, 1, 2, 3, 4)) for _ in range(5)]
        for credit in ("held", "earned"):
            ready = prepare_formula(formula, weights=WEIGHTS, credit=credit)  # type: ignore[arg-type]
            found = ready.shares(scenes, [STYLE] * 5)
            assert found == [ready.share(scene, STYLE) for scene in scenes], f"{formula} {credit}"
            parts = components(formula, WEIGHTS)
            for scene, value in zip(scenes, found, strict=True):
                assert isinstance(value, float)
                between += 0 < value < 1
                passes = truth(formula, scene, strict=True, style=STYLE)
                assert (value == 1) is passes
                if len(scene) and 0 < effort(parts, len(scene)) < 800:
                    played += 1
                    expected = share(parts, scene, holds) if credit == "held" else reward(parts, scene, passes)
                    assert value == float(expected), f"{formula} in {scene.to_json()}"
    assert played > number * 3
    assert between > number


def test_most_instructions_are_scored_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [item for item in load("knolling") if item.level == 10][::20]
    alone = 0

    def share_alone(*_: object) -> float:
        nonlocal alone
        alone += 1
        return 0.0

    monkeypatch.setattr(PreparedFormula, "share", share_alone)
    for number, item in enumerate(items):
        scenes = [disturbed(item.spec, random.Random(f"{number} {scene}")) for scene in range(3)]
        prepare_formula(item.spec.formula, credit="earned").shares(scenes)
    assert alone == 0


def test_a_scene_that_cannot_decide_the_formula_leaves_the_others_alone() -> None:
    ready = prepare_formula("(exists ?x (exists ?y (On ?x ?y)))")
    objects = (SceneObject("cup", Box(0, 0, 9, 9)), SceneObject("desk", Box(0, 9, 9, 20)))
    on = [SceneRelation("On", 0, 1)]
    first, second, third = ready.shares([Scene.of(objects, on), Scene.of(objects), Scene.of(objects, [])])
    assert (first, third) == (1, 0)
    assert isinstance(second, FormulaError)


def test_worlds_with_numbers_too_large_for_arrays_are_read_in_sets() -> None:
    huge = [Scene.of([SceneObject("cup", Box(0, 0, 2**60 + n, 9)) for n in range(size)]) for size in (1, 2, 3)]
    asked = "(exists ?x (exists ?y (exists ?z (and (LargerThan ?x ?y) (LargerThan ?y ?z)))))"
    assert prepare_formula(asked).shares(huge) == [0.0, 0.5, 1.0]


def test_the_scorer_scores_scenes_of_one_task_as_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [item for item in load("knolling") if item.level in (6, 9)][::90]
    chance = random.Random(3)
    pairs = [(disturbed(item.spec, chance).to_json(), item) for item in items for _ in range(4)]
    pairs.append(({"objects": None}, items[0]))
    chance.shuffle(pairs)
    scorer = Scorer()
    expected = [scorer.score_all([pair])[0].without_parts() for pair in pairs]
    sizes: list[int] = []
    original = PreparedFormula.shares

    def counting(self: PreparedFormula, scenes: list[Scene], styles: list[str | None]) -> list[float | FormulaError]:
        sizes.append(len(scenes))
        return original(self, scenes, styles)

    monkeypatch.setattr(PreparedFormula, "shares", counting)
    assert scorer.score_all(pairs, parts=False) == expected
    assert sizes == [4] * len(items)
    assert sum(scored.score is None for scored in expected) == 1


def test_a_task_that_is_wrong_is_named_by_the_index_of_its_pair() -> None:
    scene = Scene.of([SceneObject("cup", Box(0, 0, 9, 9))])
    with pytest.raises(PairError, match="pair 2"):
        Scorer().score_all([(scene, "(exists ?x (Is ?x 'cup'))")] * 2 + [(scene, "(Is ?x 'cup')")], parts=False)
