"""Relations that somebody has seen decide as boxes do: what boxes tell is recorded, and must tell the same."""

from __future__ import annotations

import random
from itertools import product

from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.logic.verification import verify
from formalimg.scenes.scene import Scene, SceneRelation
from tests.support.brute_force import atom_truth
from tests.support.random_logic import random_formula, random_scene

SEEN_FOR = {"LeftOf": "On", "Above": "In", "LargerThan": "Holding", "AlignedVertically": "NextTo"}


def test_what_is_recorded_decides_as_the_boxes_do() -> None:
    weighed = fell_short = 0
    for number in range(300):
        chance = random.Random(f"seen {number}")
        formula = random_formula(chance, chance.randint(2, 4))
        seen = parse(_said_otherwise(str(formula)))
        if seen == formula:
            continue
        scene = random_scene(chance)
        recorded = _recorded(scene)
        for semantics in ("strict", "classical"):
            expected = verify(formula, scene, semantics, "photo").passed
            assert verify(seen, recorded, semantics, "photo").passed is expected, f"{formula} in {scene.to_json()}"
        try:
            best = best_binding(formula, scene, style="photo")
        except FormulaError as error:  # the few that grow too large
            assert error.problems[0].kind == "size"
            continue
        found = best_binding(seen, recorded, style="photo")
        assert (found.share, found.bindings) == (best.share, best.bindings), f"{formula} in {scene.to_json()}"
        weighed += 1
        fell_short += best.share < 1
    # The formulas must be worth comparing.
    assert weighed > 80
    assert fell_short > 40


def _said_otherwise(text: str) -> str:
    for predicate, seen in SEEN_FOR.items():
        text = text.replace(f"({predicate} ", f"({seen} ")
    return text


def _recorded(scene: Scene) -> Scene:
    """The scene with a relation on record wherever the boxes tell the one that it stands for."""
    pairs = product(enumerate(scene.objects), repeat=2)
    return Scene.of(
        scene.objects,
        [
            SceneRelation(seen, first, second)
            for (first, one), (second, other) in pairs
            for predicate, seen in SEEN_FOR.items()
            if atom_truth(predicate, [one, other])
        ],
    )
