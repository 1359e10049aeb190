"""`verify` against the model checker of nltk, which was written by others for textbook logic."""

from __future__ import annotations

import random

from formalimg.logic.verification import verify
from tests.support.random_logic import random_formula, random_scene
from tests.support.sizes import tries

PAIRS = tries(250, 700)


def test_on_random_classical_pairs() -> None:
    from tests.logic.nltk_truth import nltk_truth  # here: nltk brings scipy along, which is slow to load

    held = 0
    for number in range(PAIRS):
        chance = random.Random(f"nltk {number}")
        formula = random_formula(chance, chance.randint(2, 4), styles=False)
        scene = random_scene(chance, sizes=(1, 2, 3, 4))
        expected = nltk_truth(formula, scene)
        assert verify(formula, scene, "classical").passed is expected, f"{formula} in {scene.to_json()}"
        held += expected
    assert 0.3 < held / PAIRS < 0.7
