"""Where conditions apply, games are made smaller before they are played. The play must stay the same."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.soft_score import minimax
from formalimg.logic.soft_score.best_binding import PreparedFormula, best_binding, prepare_formula
from formalimg.logic.soft_score.minimax_plan import ForallBounds
from formalimg.logic.soft_score.payoffs import TruthTables
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene, SceneRelation
from tests.logic.test_best_binding_agrees_with_minimax import BOTH, assert_is_best, components_of, effort
from tests.rewards import game_played_out
from tests.support.brute_force import truth
from tests.support.random_logic import CLASSES, COLORS, STYLES, random_formula, random_scene
from tests.support.sizes import tries

WEIGHTS = {"relation": 3, "condition": 2, "attribute": 5}


@pytest.mark.parametrize("at_once", [None, 1])
def test_they_agree_with_minimax(monkeypatch: pytest.MonkeyPatch, at_once: int | None) -> None:
    """Whether a condition applies to all objects that are left, to some, or to none; also clause by clause."""
    if at_once is not None:
        monkeypatch.setattr(minimax, "_MAX_BATCH_CELLS", at_once)
    seen = watched(monkeypatch)
    for index in range(tries(90, 600)):
        chance = random.Random(f"conditions {at_once} {index}")
        formula, scene = parse(conditional(chance)), random_scene(chance, (2, 3, 3, 4))
        for semantics in BOTH:
            components = components_of(formula, semantics)
            if 0 < effort(components, scene) < 4000:
                assert_is_best(best_binding(formula, scene, semantics, "photo"), components, scene, "photo")
    assert min(seen["met"], seen["not met"], seen["left out"]) > 20, seen


def test_they_agree_with_the_game_played_out_by_weight() -> None:
    for index in range(tries(60, 300)):
        chance = random.Random(f"weighed conditions {index}")
        formula, scene = parse(conditional(chance)), random_scene(chance, (2, 3, 3))
        parts = game_played_out.components(formula, WEIGHTS)
        if 0 < game_played_out.effort(parts, len(scene)) < 2000:
            found = best_binding(formula, scene, style=game_played_out.STYLE, weights=WEIGHTS)  # type: ignore[arg-type]
            held = sum(clause.weight for clause in found.clauses if clause.holds)
            total = sum(clause.weight for clause in found.clauses)
            assert game_played_out.share(parts, scene) * total == held


def test_what_was_prepared_decides_as_by_definition_in_every_scene() -> None:
    """One after the other, also once it was sent elsewhere: nothing of a scene is left for the next."""
    for index in range(tries(60, 300)):
        chance = random.Random(f"prepared {index}")
        formula = random_formula(chance, chance.randint(2, 5))
        semantics: Semantics = chance.choice(BOTH)
        prepared = prepare_formula(formula, semantics)
        for _ in range(4):
            scene, style = random_scene(chance), chance.choice(STYLES)
            expected = truth(formula, scene, strict=semantics == "strict", style=style)
            assert prepared.verify(scene, style).passed is expected, str(formula)
            sent: PreparedFormula = pickle.loads(pickle.dumps(prepared))
            assert sent.verify(scene, style).passed is expected, str(formula)


def test_what_was_prepared_objects_to_the_scene_at_hand() -> None:
    text = "(exists ?x (and (On ?x ?y) (Is ?x 'cup') (HasMaterial ?x 'wooden') (On ?x ?x) (IsStyle 'photo')))"
    prepared = prepare_formula(text)
    objects = [SceneObject("cup", Box(0, 0, 9, 9), material="wooden")]
    bare, recorded = Scene.of([SceneObject("cup", Box(0, 0, 9, 9))]), Scene.of(objects, [SceneRelation("On", 0, 0)])
    unbound = "?y is not bound"
    assert problems(prepared, bare, None) == [
        unbound,
        "does not record On",
        "no material",
        "does not record On",
        "style",
    ]
    assert problems(prepared, recorded, "photo") == [unbound]
    assert problems(prepared, bare, "photo") == [unbound, "does not record On", "no material", "does not record On"]
    closed = prepare_formula(text.replace("?y", "?x"))
    assert problems(closed, bare, "photo") == ["does not record On", "no material", "does not record On"]
    assert closed.best_binding(recorded, "photo").share == 1
    for scene in (bare, recorded):
        assert message_of(prepared.verify, scene) == message_of(lambda scene: verify(text, scene), scene)


def message_of(verifying: Callable[[Scene], object], scene: Scene) -> str:
    with pytest.raises(FormulaError) as caught:
        verifying(scene)
    return str(caught.value)


def problems(prepared: PreparedFormula, scene: Scene, style: str | None) -> list[str]:
    known = ["?y is not bound", "does not record On", "no material", "style"]
    with pytest.raises(FormulaError) as caught:
        prepared.verify(scene, style)
    return [next(word for word in known if word in problem.message) for problem in caught.value.problems]


def conditional(chance: random.Random) -> str:
    """Objects and conditions in any order, before claims that are said of one or two of them, or of the style."""
    names = [f"v{number}" for number in range(chance.randint(2, 4))]

    def claim() -> str:
        first, second = chance.choice(names), chance.choice(names)
        text = chance.choice(
            [
                f"(Is ?{first} '{chance.choice(CLASSES)}')",
                f"(Has ?{first} '{chance.choice(COLORS)}')",
                f"({chance.choice(list(UNARY_RULES))} ?{first})",
                *[f"({chance.choice(list(BINARY_RULES))} ?{first} ?{second})"] * 3,
                *[f"(IsStyle '{chance.choice(STYLES)}')"] * (chance.random() < 0.3),
            ]
        )
        return text if chance.random() < 0.8 else f"(not {text})"

    def condition(name: str) -> str:
        alone = [f"(Is ?{name} '{chance.choice(CLASSES)}')", f"(Has ?{name} '{chance.choice(COLORS)}')"]
        return chance.choice([alone[0], alone[0], alone[1], f"(and {' '.join(alone)})"])

    claims = [f"(or {' '.join(claim() for _ in range(chance.choice([1, 1, 1, 2])))})" for _ in range(len(names) + 1)]
    text = f"(and {' '.join(claims)})"
    for place, name in enumerate(reversed(names)):
        if chance.random() < (0.7 if place == len(names) - 1 else 0.3):
            text = f"(forall ?{name} (implies {condition(name)} {text}))"
        else:
            text = f"(exists ?{name} {text})"
    return text


def watched(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts how often games are made smaller, and how."""
    seen: Counter[str] = Counter()
    is_met, hopeful = minimax._condition_applies, minimax._forall_candidates

    def watch_met(bounds: ForallBounds, payoffs: TruthTables, kept: list[Sequence[int]]) -> bool:
        met = is_met(bounds, payoffs, kept)
        seen["met" if met else "not met"] += 1
        return met

    def watch_hopeful(bounds: ForallBounds, payoffs: TruthTables, unit: int, ties: Any) -> list[int]:
        left = hopeful(bounds, payoffs, unit, ties)
        seen["left out"] += len(left) < payoffs.objects
        return left

    monkeypatch.setattr(minimax, "_condition_applies", watch_met)
    monkeypatch.setattr(minimax, "_forall_candidates", watch_hopeful)
    return seen
