"""Scenes that show what an item asks for: as many objects as are asked for, in their colours, at places that fit."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from random import Random

from formalimg.benchmarks.geneval.rule import official_verdict
from formalimg.benchmarks.object_spec import ObjectSpec, to_formula
from formalimg.drawing.icon_scene import drawable_classes, natural_aspect
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

_CELLS = 5
_AREA = 120 * 120
_LONGEST = 180
_TRIES = 500
"""So many arrangements are tried: of two objects one in four fits, of more fewer do."""


def compose_objects(
    spec: ObjectSpec, request: ImageRequest, fits: Callable[[Scene], bool] = lambda scene: True
) -> Scene | Refused | Failed:
    """Return a scene that passes by every profile; refuse what cannot be drawn, with the reason."""
    reason = unarrangeable_because(spec)
    if reason is not None:
        return Refused(f"cannot be drawn: {reason}")
    scene = arrange_objects(spec, Random(f"{request.seed} {request.sample} {request.prompt}"), fits)
    return Failed("builtin/oracle found no arrangement of these objects") if scene is None else scene


def unarrangeable_because(spec: ObjectSpec) -> str | None:
    """Return why no drawing shows what an item asks for; None if one can, as far as its words tell."""
    undrawn = sorted(set(spec.object_classes) - set(drawable_classes()))
    if undrawn:
        return f"there is no drawing of a {undrawn[0]}"
    strange = sorted({one.color for one in spec.include if one.color} - set(_colors()))
    if strange:
        return f"there are no drawings in {strange[0]}"
    wanted = sum(one.count for one in spec.include)
    if not 1 <= wanted <= _CELLS * _CELLS:
        return f"it asks for {wanted} objects, and 1 to {_CELLS * _CELLS} can be drawn"
    return None


def arrange_objects(spec: ObjectSpec, rng: Random, fits: Callable[[Scene], bool] = lambda scene: True) -> Scene | None:
    """Return a scene that passes by every profile; None if no arrangement was found."""
    wanted = [one for one in spec.include for _ in range(one.count)]
    colors, formula = _colors(), to_formula(spec)
    for _ in range(_TRIES):
        cells = rng.sample(range(_CELLS * _CELLS), len(wanted))
        objects = [
            SceneObject(one.label, _box(one.label, cell), one.color or rng.choice(colors))
            for one, cell in zip(wanted, cells, strict=True)
        ]
        scene = Scene.of(objects)
        if _passes(spec, scene) and verify(formula, scene).passed and fits(scene):
            return scene
    return None


def _colors() -> tuple[str, ...]:
    return vocabulary("knolling").words["color"]


def _passes(spec: ObjectSpec, scene: Scene) -> bool:
    detections: dict[str, list[dict[str, object]]] = {}
    for one in scene.objects:
        detections.setdefault(one.label, []).append({"box": one.box, "color": one.color})
    return official_verdict(spec, detections).passed and official_verdict(spec, detections, strict=True).passed


def _box(label: str, cell: int) -> Box:
    """Return a box in the natural proportions of a class, in the middle of a cell of the canvas."""
    side = CANVAS / _CELLS
    aspect = natural_aspect(label)
    width, height = sqrt(_AREA * aspect), sqrt(_AREA / aspect)
    shrink = min(1.0, _LONGEST / max(width, height)) / 2
    x, y = (cell % _CELLS + 0.5) * side, (cell // _CELLS + 0.5) * side
    edges = (x - width * shrink, y - height * shrink, x + width * shrink, y + height * shrink)
    return Box(*map(round, edges))
