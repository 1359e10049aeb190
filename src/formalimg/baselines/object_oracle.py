"""The oracle for items that ask for objects: as many as are asked for, in their colours, at places that fit."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from formalimg.models import Failed, ImageRequest, Refused
from formalimg.scenes import CANVAS, Scene
from formalimg.suites import (
    ObjectSpec,
    QuestionSpec,
    arrange_objects,
    asked_phrases,
    box_verdict,
    composition_objects,
    unarrangeable_because,
)


def compose_objects(
    spec: ObjectSpec, request: ImageRequest, fits: Callable[[Scene], bool] = lambda scene: True
) -> Scene | Refused | Failed:
    """Return a scene that passes by every profile; refuse what cannot be drawn, with the reason.

    Args:
        spec: the objects that are asked for.
        request: the request, whose seed decides on their places.
        fits: what must hold of the scene besides.
    """
    reason = unarrangeable_because(spec)
    if reason is not None:
        return Refused(f"cannot be drawn: {reason}")
    scene = arrange_objects(spec, Random(f"{request.seed} {request.sample} {request.prompt}"), fits)
    return Failed("builtin/oracle found no arrangement of these objects") if scene is None else scene


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
