"""Random formulas: a witness is always true, and no scene contradicts a proof."""

from __future__ import annotations

import random

from tests.support.brute_force import truth
from tests.support.random_logic import CLASSES, COLORS, STYLES, random_formula

from formalimg.scenes.objects import MIN_SIDE, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable
from formalimg.scenes.solver.search import solve

UP_TO = 3


def test_witnesses_are_true_and_proofs_are_not_contradicted() -> None:
    satisfied = refuted = undecided = tried = 0
    for number in range(240):
        chance = random.Random(f"solving {number}")
        formula = random_formula(chance, chance.choice([1, 2, 3, 4, 4, 5]))
        try:
            result = solve(formula, max_objects=UP_TO, effort=0.3)
        except SolverLimitError:
            undecided += 1
            continue
        if not isinstance(result, Unsatisfiable):
            satisfied += 1
            assert truth(formula, result.scene, strict=True, style=result.style), str(formula)
            assert keeps_margin(formula, result.scene, result.margin, style=result.style), str(formula)
            continue
        refuted += 1
        for _ in range(40):
            scene = proper_scene(chance, chance.randint(0, 4 if result.max_objects is None else UP_TO))
            for style in (*STYLES, "plain"):
                tried += 1
                assert not truth(formula, scene, strict=True, style=style), f"{formula} in {scene.to_json()}"
    assert satisfied > 120
    assert refuted > 36
    assert tried > 3000
    assert undecided < 4


def proper_scene(chance: random.Random, count: int) -> Scene:
    """Up to so many objects whose boxes are large enough and do not overlap."""
    boxes: list[Box] = []
    for _ in range(4 * count):
        width, height = (chance.choice([MIN_SIDE, 50, 100, 200]) for _ in "xy")
        x, y = (chance.randrange(0, 1001 - side, 10) for side in (width, height))
        box = Box(x, y, x + width, y + height)
        if len(boxes) < count and all(_apart(box, other) for other in boxes):
            boxes.append(box)
    return Scene.of(
        SceneObject(chance.choice([*CLASSES, "plate"]), box, chance.choice([*COLORS, "green"])) for box in boxes
    )


def _apart(a: Box, b: Box) -> bool:
    return a.xmax <= b.xmin or b.xmax <= a.xmin or a.ymax <= b.ymin or b.ymax <= a.ymin
