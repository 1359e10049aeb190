"""Playing in one pass is a short cut, and must lead to the very same play as playing move by move."""

from __future__ import annotations

import random

import pytest

from formalimg import load
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.soft_score import minimax
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES
from formalimg.scenes.scene import Scene
from tests.logic.test_best_binding_agrees_with_minimax import (
    alternating_formula,
    assert_is_best,
    compare,
    components_of,
)
from tests.support.random_logic import random_scene
from tests.support.sizes import tries

COLORS = ("red", "blue", "green", "white", None)


@pytest.mark.parametrize("limit", ["_MAX_BATCH_CELLS", "_TOO_LARGE"])
def test_object_by_object_and_without_broken_ties_it_agrees_with_minimax(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(minimax, limit, 1)
    assert compare(f"quick {limit}", sizes=(2, 3, 3, 4), most_effort=1000, number=tries(40, 100)) > tries(5, 15)
    for index in range(tries(12, 40)):
        chance = random.Random(f"alternating {limit} {index}")
        formula, scene = alternating_formula(chance), random_scene(chance, (2, 3, 3))
        components = components_of(formula, "classical")
        assert_is_best(best_binding(formula, scene, "classical"), components, scene, "")


def test_on_hard_instructions_it_agrees_with_playing_move_by_move(monkeypatch: pytest.MonkeyPatch) -> None:
    hard = [item.spec for item in load("knolling") if item.level in (7, 10)][::40]
    pairs = [(spec.formula, disturbed(spec, random.Random(number))) for number, spec in enumerate(hard)]
    quick = [best_binding(formula, scene) for formula, scene in pairs]
    assert 0 < sum(found.share < 1 for found in quick) < len(pairs)
    monkeypatch.setattr(minimax, "_MAX_ONE_PASS_CELLS", 0)
    assert [best_binding(formula, scene) for formula, scene in pairs] == quick


def test_all_pairs_at_once_are_those_of_the_rules() -> None:
    chance = random.Random(7)
    for _ in range(40):
        scene = random_scene(chance, (1, 2, 5, 20))
        for predicate, rule in BINARY_RULES.items():
            told = scene.pairs(predicate)
            assert told is not None
            boxes = [obj.box for obj in scene.objects]
            assert told.tolist() == [[rule.holds(first, second) for second in boxes] for first in boxes]
    huge = Scene.of([SceneObject("cup", Box(0, 0, 2**60 + number, 9)) for number in range(2)])
    assert huge.pairs("LargerThan") is None
    assert best_binding("(exists ?x (exists ?y (LargerThan ?x ?y)))", huge).bindings == {"x": 1, "y": 0}
    assert huge.pairs("On") is None


def test_weights_choose_the_binding() -> None:
    scene = Scene.of([SceneObject("fork", Box(0, 0, 10, 10), "red"), SceneObject("cup", Box(0, 0, 10, 10), "blue")])
    asked = "(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"
    assert best_binding(asked, scene).bindings == {"x": 1}
    by_color = best_binding(asked, scene, weights={"attribute": 3})
    assert (by_color.bindings, by_color.share) == ({"x": 0}, 0.75)
    by_class = best_binding(asked, scene, weights={"object": 3, "attribute": 2})
    assert (by_class.bindings, by_class.share) == ({"x": 1}, 0.6)


def disturbed(spec: FormulaSpec, chance: random.Random) -> Scene:
    assert spec.witness is not None
    objects = [obj for obj in spec.witness.objects if chance.random() < 0.9]
    objects += [
        SceneObject(chance.choice(objects).label, somewhere(chance), chance.choice(COLORS))
        for _ in range(chance.randint(0, 6))
    ]
    return Scene.of(
        SceneObject(obj.label, somewhere(chance), chance.choice(COLORS)) if chance.random() < 0.1 else obj
        for obj in objects
    )


def somewhere(chance: random.Random) -> Box:
    x, y = chance.randrange(0, 900), chance.randrange(0, 900)
    return Box(x, y, x + chance.randrange(40, 100), y + chance.randrange(40, 100))
