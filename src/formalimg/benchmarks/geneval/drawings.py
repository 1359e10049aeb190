"""Objects in drawings: what drawn scenes show of them, scenes that show an item, and what judges are asked first."""

from __future__ import annotations

from random import Random
from typing import cast

from formalimg.benchmarks.geneval.arrangement import arrange_objects, unarrangeable_because
from formalimg.benchmarks.geneval.judge import RuleProfile, judge_by_profiles
from formalimg.benchmarks.object_spec import IncludedObjects, ObjectSpec
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.preflight import BOTTLE, RED_BOTTLE, KnownDrawing, two_things
from formalimg.logic.errors import FormulaError
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Unscored, Verdict


def preflight_drawings(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two drawings: is there a bottle."""
    item = Item(suite, "preflight", 1, RED_BOTTLE, ObjectSpec("single_object", (IncludedObjects(BOTTLE, 1),)))
    return two_things(item, "whether there is a bottle", (True,), (False,))


def arrange_scene(item: Item[object], rng: Random) -> Scene | None:
    """Return a scene with the objects that an item asks for; None if there is none."""
    spec = item.spec
    if not isinstance(spec, ObjectSpec) or unarrangeable_because(spec) is not None:
        return None
    return arrange_objects(spec, rng)


def judge_drawn(item: Item[object], drawn: DrawnScene, profile: str) -> Verdict | Unscored:
    """Return the verdict on what a drawn scene shows, if all profiles agree.

    It is without parts that were not looked at for a failed one.
    """
    spec = item.spec
    if not isinstance(spec, ObjectSpec):
        return Unscored("not understood", f"item {item.id} of {item.suite} names no objects to judge by")
    try:
        verdicts = judge_by_profiles(spec, drawn.scene.objects)
    except FormulaError as error:
        return Unscored("not understood", error.problems[0].message)
    if len({found.passed for found in verdicts.values()}) > 1:
        return Unscored("not understood", "by one profile it passes and by another it does not")
    chosen = verdicts[cast(RuleProfile, profile)]
    parts = tuple(part for part in chosen.parts if part.score == 1 or part.reason)
    return Verdict(chosen.passed, parts)
