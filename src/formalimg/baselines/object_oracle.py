"""The oracle for items that ask for objects: as many as are asked for, in their colours, at places that fit."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from random import Random

from formalimg.logic import verify, vocabulary
from formalimg.models import Failed, ImageRequest, Refused
from formalimg.scenes import CANVAS, Box, Scene, SceneObject, drawable_classes, natural_aspect
from formalimg.suites import (
    ObjectSpec,
    QuestionSpec,
    asked_phrases,
    box_verdict,
    composition_objects,
    official_verdict,
    to_formula,
)

_CELLS = 5
_AREA = 120 * 120
_LONGEST = 180
_TRIES = 500
"""So many arrangements are tried: of two objects one in four fits, of more fewer do."""


def compose_objects(
    spec: ObjectSpec, request: ImageRequest, fits: Callable[[Scene], bool] = lambda scene: True
) -> Scene | Refused | Failed:
    """Return a scene that passes by every profile; refuse what cannot be drawn, with the reason.

    Args:
        spec: the objects that are asked for.
        request: the request, whose seed decides on their places.
        fits: what must hold of the scene besides.
    """
    undrawn = sorted(set(spec.object_classes) - set(drawable_classes()))
    if undrawn:
        return Refused(f"cannot be drawn: there is no drawing of a {undrawn[0]}")
    colors = vocabulary("knolling").words["color"]
    strange = sorted({one.color for one in spec.include if one.color} - set(colors))
    if strange:
        return Refused(f"cannot be drawn: there are no drawings in {strange[0]}")
    wanted = [one for one in spec.include for _ in range(one.count)]
    if not wanted or len(wanted) > _CELLS * _CELLS:
        return Refused(f"cannot be drawn: it asks for {len(wanted)} objects, and 1 to {_CELLS * _CELLS} can be drawn")
    rng, formula = Random(f"{request.seed} {request.sample} {request.prompt}"), to_formula(spec)
    for _ in range(_TRIES):
        cells = rng.sample(range(_CELLS * _CELLS), len(wanted))
        objects = [
            SceneObject(one.label, _box(one.label, cell), one.color or rng.choice(colors))
            for one, cell in zip(wanted, cells, strict=True)
        ]
        scene = Scene.of(objects)
        if _passes(spec, scene) and verify(formula, scene).passed and fits(scene):
            return scene
    return Failed("builtin/oracle found no arrangement of these objects")


def compose_composition(spec: QuestionSpec, request: ImageRequest) -> Scene | Refused | Failed:
    """Return a scene of the objects that a prompt names in numbers, colours or places; refuse what has no formula."""
    asked = composition_objects(spec, request.prompt)
    if asked is None:
        return Refused("cannot be drawn: boxes and colours do not say all that the prompt asks for")
    if asked_phrases(spec):
        return compose_objects(asked, request)
    square = (CANVAS, CANVAS)
    return compose_objects(asked, request, lambda scene: box_verdict(spec, _detections(scene), square).passed)


def _detections(scene: Scene) -> dict[str, list[dict[str, object]]]:
    detections: dict[str, list[dict[str, object]]] = {}
    for one in scene.objects:
        detections.setdefault(one.label, []).append({"box": one.box, "color": one.color})
    return detections


def _passes(spec: ObjectSpec, scene: Scene) -> bool:
    detections = _detections(scene)
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
