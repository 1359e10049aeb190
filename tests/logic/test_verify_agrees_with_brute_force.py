"""`verify` against the definition of truth, on thousands of random formulas and scenes."""

from __future__ import annotations

import random

import pytest

from formalimg.logic import world as logic_world
from formalimg.logic.syntax import Count, Exists, Forall, Formula, subformulas
from formalimg.logic.verification import verify
from tests.support.brute_force import truth
from tests.support.random_logic import STYLES, random_formula, random_scene
from tests.support.sizes import tries

BATCHES = tries(2, 12)
PAIRS = 1000  # in each batch


@pytest.mark.parametrize("batch", range(BATCHES))
def test_on_random_pairs(batch: int) -> None:
    held = empty = alternating = 0
    for number in range(PAIRS):
        chance = random.Random(f"pair {batch} {number}")
        formula = random_formula(chance, chance.randint(1, 5))
        scene = random_scene(chance)
        style = chance.choice(STYLES)
        for semantics in ("strict", "classical"):
            expected = truth(formula, scene, strict=semantics == "strict", style=style)
            assert verify(formula, scene, semantics, style).passed is expected, f"{formula} in {scene.to_json()}"
            held += expected
        empty += len(scene) == 0
        alternating += _alternates(formula)
    # The pairs must be worth comparing: both outcomes, the empty scene and alternation are all common.
    assert 0.3 < held / (2 * PAIRS) < 0.7
    assert empty > PAIRS / 20
    assert alternating > PAIRS / 10


@pytest.mark.parametrize("rows", [logic_world.MAX_ROWS, 6])
def test_on_random_pairs_with_counts(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting quantifiers and `distinct` among all the others; with room for tables and without."""
    monkeypatch.setattr(logic_world, "MAX_ROWS", rows)
    held = counted = 0
    pairs = tries(300, 10_000)
    for number in range(pairs):
        chance = random.Random(f"counts {number}")
        formula = random_formula(chance, chance.randint(1, 5), counts=True)
        scene = random_scene(chance)
        style = chance.choice(STYLES)
        for semantics in ("strict", "classical"):
            expected = truth(formula, scene, strict=semantics == "strict", style=style)
            verdict = verify(formula, scene, semantics, style)
            assert verdict.passed is expected, f"{formula} in {scene.to_json()}"
            assert verdict.proof.holds is expected
            held += expected
        counted += any(isinstance(part, Count) for part in subformulas(formula))
    assert 0.3 < held / (2 * pairs) < 0.7
    assert counted > pairs / 2


def test_where_every_table_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """With almost no room for tables, formulas are decided value by value: slower, and still right."""
    monkeypatch.setattr(logic_world, "MAX_ROWS", 6)
    for number in range(tries(500, 1500)):
        chance = random.Random(f"narrow {number}")
        formula = random_formula(chance, chance.randint(2, 5))
        scene = random_scene(chance)
        for semantics in ("strict", "classical"):
            expected = truth(formula, scene, strict=semantics == "strict", style="photo")
            assert verify(formula, scene, semantics, "photo").passed is expected, f"{formula} in {scene.to_json()}"


def test_on_larger_scenes() -> None:
    """More objects than are compared one by one, so that the ranked way is taken too."""
    for number in range(tries(100, 300)):
        chance = random.Random(f"large {number}")
        formula = random_formula(chance, 3)
        scene = random_scene(chance, sizes=(20, 25))
        expected = truth(formula, scene, strict=True, style="photo")
        assert verify(formula, scene, style="photo").passed is expected, f"{formula} in {scene.to_json()}"


def test_the_proof_agrees_with_the_verdict() -> None:
    for number in range(tries(1000, 3000)):
        chance = random.Random(f"proof {number}")
        formula = random_formula(chance, chance.randint(1, 5))
        scene = random_scene(chance)
        for semantics in ("strict", "classical"):
            verdict = verify(formula, scene, semantics, "photo")
            assert verdict.proof.holds is verdict.passed, f"{formula} in {scene.to_json()}"
            assert verdict.explain().startswith("✓" if verdict else "✗")


def _alternates(formula: Formula) -> bool:
    """Does a forall stand inside an exists, or the other way round?"""
    return any(
        isinstance(inner, Exists | Forall) and type(inner) is not type(outer)
        for outer in subformulas(formula)
        if isinstance(outer, Exists | Forall)
        for inner in subformulas(outer.body)
    )
