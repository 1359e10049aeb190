"""Formulas verified in a group of scenes hold where they do in each scene alone."""

from __future__ import annotations

import random
from typing import Literal

import pytest

from formalimg import FormulaError, load
from formalimg.logic.constraints import Semantics
from formalimg.logic.parser import parse
from formalimg.logic.soft_score import group_verify
from formalimg.logic.soft_score.best_binding import prepare_formula
from formalimg.logic.soft_score.group_verify import TooWideForGroupsError
from formalimg.logic.syntax import Formula
from formalimg.logic.verification import verify
from formalimg.scenes.scene import Scene
from tests.rewards.test_quick_games import disturbed
from tests.support.random_logic import random_formula, random_scene
from tests.support.sizes import tries

STYLE = "sketch"

WRITTEN = (
    "(forall ?x (implies (and (Is ?x 'cup') (exists ?y (LeftOf ?x ?y)))"
    " (exists ?z (and (Is ?z 'fork') (Above ?x ?z)))))",
    "(exists ?x (forall ?y (implies (LeftOf ?y ?x) (or (Is ?y 'cup') (not (exists ?z (Above ?z ?y)))))))",
    "(forall ?x (exists ?y (and (not (LeftOf ?x ?x)) (distinct ?x ?y))))",
    "(iff (forall ?x (Is ?x 'cup')) (exists ?x (exists ?y (and (AlignedVertically ?x ?y) (Has ?y 'red')))))",
    "(exists ?x (and (IsStyle 'sketch')"
    " (forall ?y (implies (Is ?y 'fork') (forall ?z (implies (Above ?z ?y) (LeftOf ?x ?z)))))))",
    "(not (forall ?x (implies (Has ?x 'red') (Is ?x 'cup'))))",
)


def held_in_group(formula: Formula, scenes: list[Scene], semantics: Semantics) -> list[bool]:
    literals, verifier = prepare_formula(formula, semantics)._group_plan
    return verifier.holds(literals.tables(scenes, [STYLE] * len(scenes))[0])


@pytest.mark.parametrize("semantics", ["strict", "classical"])
def test_random_formulas(semantics: Literal["strict", "classical"]) -> None:
    held = 0
    number = tries(80, 2000)
    for index in range(number):
        chance = random.Random(f"group verify {index}")
        formula = random_formula(chance, chance.randint(1, 5))
        scenes = [random_scene(chance, (1, 2, 3, 5, 8)) for _ in range(6)]
        expected = [verify(formula, scene, semantics, STYLE).passed for scene in scenes]
        try:
            found = held_in_group(formula, scenes, semantics)
        except FormulaError as error:  # no dense score, for a scene or for a group
            assert "the lifted form would have" in str(error)
            with pytest.raises(FormulaError):
                prepare_formula(formula, semantics).share(scenes[0])
            continue
        assert found == expected, str(formula)
        held += sum(expected)
    assert number < held < 5 * number


@pytest.mark.parametrize("semantics", ["strict", "classical"])
@pytest.mark.parametrize("text", WRITTEN)
def test_formulas_of_every_form(text: str, semantics: Literal["strict", "classical"]) -> None:
    formula = parse(text)
    chance = random.Random(text)
    scenes = [random_scene(chance, (1, 2, 3, 5)) for _ in range(40)]
    expected = [verify(formula, scene, semantics, STYLE).passed for scene in scenes]
    assert held_in_group(formula, scenes, semantics) == expected


def test_instructions() -> None:
    held = []
    for number, item in enumerate([item for item in load("knolling") if item.level in (5, 10)][::20]):
        scenes = [disturbed(item.spec, random.Random(f"{number} {index}")) for index in range(6)]
        expected = [verify(item.spec.formula, scene).passed for scene in scenes]
        assert held_in_group(item.spec.formula, scenes, "strict") == expected
        held += expected
    assert 0 < sum(held) < len(held)


def test_wide_tables_are_left_to_scenes_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_verify, "MAX_ROWS", 8)
    formula = parse("(exists ?x (exists ?y (and (LeftOf ?x ?y) (Above ?x ?y))))")
    scenes = [random_scene(random.Random(number), (4,)) for number in range(5)]
    with pytest.raises(TooWideForGroupsError):
        held_in_group(formula, scenes, "strict")
    prepared = prepare_formula(formula)
    assert prepared.shares(scenes) == [prepared.share(scene) for scene in scenes]
