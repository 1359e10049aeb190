"""Shapes: boxes in which drawn objects look natural, where the formula leaves the choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import exp, log, sqrt

from formalimg.logic import Formula
from formalimg.scenes.box import CANVAS, Box
from formalimg.scenes.drawing import drawable_classes, natural_aspect
from formalimg.scenes.scene import Scene
from formalimg.scenes.scene_object import SceneObject
from formalimg.scenes.solving.margins import keeps_margin

_NATURAL = 0.2
"""How far from its natural shape (in the logarithm) an object may be and still look natural."""

_GAP = 20
_BORDER = 10
_LEAST_SIDE = 40
_LONGEST_SIDE = 420


def well_shaped(formula: Formula, scene: Scene, margin: int, style: str | None) -> Scene:
    """The scene with its objects in shapes that suit their classes, as far as the formula keeps its margin.

    Centres stay where they are, so that rows and columns do; a pen becomes long and thin in its place.
    """
    for number, obj in enumerate(scene.objects):
        for box in _suitable_boxes(obj):
            others = [other.box for place, other in enumerate(scene.objects) if place != number]
            if not _has_room(box, others):
                continue
            objects = (*scene.objects[:number], replace(obj, box=box), *scene.objects[number + 1 :])
            reshaped = replace(scene, objects=objects)
            if keeps_margin(formula, reshaped, margin, style=style):
                scene = reshaped
                break
    return scene


def _suitable_boxes(obj: SceneObject) -> Iterator[Box]:
    """Boxes around the same centre, the most natural first: of the same area, shrunk, small; then half-way to it."""
    width, height = obj.box.xmax - obj.box.xmin, obj.box.ymax - obj.box.ymin
    if obj.label not in drawable_classes() or not width or not height:
        return
    aspect = natural_aspect(obj.label)
    now = log(width / height)
    wanted = min(log(aspect), -log(aspect), key=lambda way: abs(way - now))  # drawings may be turned
    if abs(wanted - now) <= _NATURAL:
        return
    area = width * height
    for way in (wanted, (wanted + now) / 2):
        shape = exp(way)
        yield _around(obj.box, sqrt(area * shape), sqrt(area / shape))
        yield _around(obj.box, min(width, height * shape), min(height, width / shape))
        yield _around(obj.box, _LEAST_SIDE * max(1, shape), _LEAST_SIDE * max(1, 1 / shape))


def _around(box: Box, width: float, height: float) -> Box:
    """A box of about this size with exactly the same centre, on whole coordinates."""
    halves = []
    for low, high, side in ((box.xmin, box.xmax, width), (box.ymin, box.ymax, height)):
        odd = (low + high) % 2 / 2
        halves.append(max(round(side / 2 - odd), 1) + odd)
    across, down = halves
    return Box(
        *(
            int(edge)
            for edge in (box.center_x - across, box.center_y - down, box.center_x + across, box.center_y + down)
        )
    )


def _has_room(box: Box, others: list[Box]) -> bool:
    sides = (box.xmax - box.xmin, box.ymax - box.ymin)
    if min(sides) < _LEAST_SIDE or max(sides) > _LONGEST_SIDE:
        return False
    if min(box.xmin, box.ymin) < _BORDER or max(box.xmax, box.ymax) > CANVAS - _BORDER:
        return False
    return all(
        other.xmin - box.xmax >= _GAP
        or box.xmin - other.xmax >= _GAP
        or other.ymin - box.ymax >= _GAP
        or box.ymin - other.ymax >= _GAP
        for other in others
    )
