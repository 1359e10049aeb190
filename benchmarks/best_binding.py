"""Speed of the best binding, on the default Knolling suite with its witnesses disturbed."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence

from formalimg import load, verify
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.errors import FormulaError
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.logic.syntax import Formula
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene

COLORS = ("red", "blue", "green", "white", None)


def main() -> None:
    specs = [item.spec for item in load("knolling")]
    best_binding(specs[0].formula, disturbed(specs[0], random.Random(0), 0))  # numpy is loaded now, not while measuring
    for least in (0, 30):
        scenes = [disturbed(spec, random.Random(f"disturbed {n}"), least) for n, spec in enumerate(specs)]
        passed = sum(verify(spec.formula, scene).passed for spec, scene in zip(specs, scenes, strict=True))
        size = f"scenes of at least {least} objects" if least else "scenes as they are"
        print(f"{len(specs)} items, {size}, {passed} still pass")
        show("verify", [timed(verify, spec.formula, scene) for spec, scene in zip(specs, scenes, strict=True)])
        show(
            "best_binding",
            [timed(best_binding, spec.formula, scene) for spec, scene in zip(specs, scenes, strict=True)],
        )


def disturbed(spec: FormulaSpec, chance: random.Random, least: int) -> Scene:
    """The witness with one to three objects moved, recoloured, relabelled or removed, padded with more of the same."""
    assert spec.witness is not None
    objects = list(spec.witness.objects)
    classes = [obj.label for obj in objects]
    for _ in range(min(chance.randint(1, 3), len(objects))):
        number = chance.randrange(len(objects))
        obj = objects.pop(number)
        change = chance.choice(["move", "recolour", "relabel", "drop"])
        if change == "move":
            objects.insert(number, SceneObject(obj.label, somewhere(chance), obj.color))
        elif change == "recolour":
            objects.insert(number, SceneObject(obj.label, obj.box, chance.choice(COLORS)))
        elif change == "relabel":
            objects.insert(number, SceneObject(chance.choice(classes), obj.box, obj.color))
    while len(objects) < least:
        objects.append(SceneObject(chance.choice(classes), somewhere(chance), chance.choice(COLORS)))
    return Scene.of(objects)


def somewhere(chance: random.Random) -> Box:
    width, height = chance.randrange(40, 200), chance.randrange(40, 200)
    x, y = chance.randrange(0, 1000 - width), chance.randrange(0, 1000 - height)
    return Box(x, y, x + width, y + height)


def timed(function: Callable[[Formula, Scene], object], formula: Formula, scene: Scene) -> float:
    fresh = Scene(scene.objects)  # nothing remembered from before
    start = time.perf_counter()
    try:
        function(formula, fresh)
    except FormulaError as error:
        print(f"refused: {error.problems[0].message}")
    return time.perf_counter() - start


def show(name: str, seconds: Sequence[float]) -> None:
    times = sorted(1000 * second for second in seconds)
    high = times[int(len(times) * 0.99)]
    print(f"  {name:13} median {statistics.median(times):.2f} ms, 99 % {high:.2f} ms, max {times[-1]:.1f} ms")


if __name__ == "__main__":
    main()
