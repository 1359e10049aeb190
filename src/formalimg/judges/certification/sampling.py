"""Random scenes that no suite holds: any classes, any colours, anywhere."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from formalimg.logic import vocabulary
from formalimg.scenes import CANVAS, MIN_SIDE, Box, Scene, SceneObject, drawable_classes, natural_aspect

_MAX_OBJECTS = 25
_GAP = 20
_BORDER = 5
_LARGEST_SIDE = 200
_LONGEST_SIDE = 420
_STRETCH = 0.2
_TRIES = 200


def random_scenes(count: int, seed: int) -> Iterator[Scene]:
    """So many scenes of 1 to 25 objects, the same for the same seed.

    Smaller sides are from the least that solving gives (20 of 1000) to 200, small ones as frequent as large ones;
    shapes are about natural, lying or standing. Boxes keep a distance of 20.
    """
    for number in range(count):
        chance = random.Random(f"certification {seed} {number}")
        yield _scene(chance, chance.randint(1, _MAX_OBJECTS))


def _scene(chance: random.Random, objects: int) -> Scene:
    colors = (*vocabulary("knolling").words["color"], "other")
    placed: list[SceneObject] = []
    for _ in range(_TRIES):
        if len(placed) == objects:
            break
        label = chance.choice(drawable_classes())
        box = _box(chance, natural_aspect(label))
        if box is not None and all(_apart(box, other.box) for other in placed):
            placed.append(SceneObject(label, box, chance.choice(colors)))
    return Scene.of(placed)


def _box(chance: random.Random, aspect: float) -> Box | None:
    shape = math.exp(chance.choice((-1, 1)) * math.log(aspect) + chance.uniform(-_STRETCH, _STRETCH))
    smaller = math.exp(chance.uniform(math.log(MIN_SIDE), math.log(_LARGEST_SIDE)))
    width, height = max(MIN_SIDE, round(smaller * max(1, shape))), max(MIN_SIDE, round(smaller * max(1, 1 / shape)))
    if max(width, height) > _LONGEST_SIDE:
        return None
    left = chance.randint(_BORDER, CANVAS - _BORDER - width)
    top = chance.randint(_BORDER, CANVAS - _BORDER - height)
    return Box(left, top, left + width, top + height)


def _apart(one: Box, other: Box) -> bool:
    across = max(one.xmin, other.xmin) - min(one.xmax, other.xmax)
    down = max(one.ymin, other.ymin) - min(one.ymax, other.ymax)
    return max(across, down) >= _GAP
