"""Scenes that show what a prompt asks for, if boxes and colours say all of it."""

from __future__ import annotations

from formalimg.benchmarks.geneval.arrangement import compose_objects
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.t2i_compbench.composition import asked_phrases
from formalimg.benchmarks.t2i_compbench.formulas import composition_objects
from formalimg.benchmarks.t2i_compbench.rule import box_verdict
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.objects import CANVAS
from formalimg.scenes.scene import Scene


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
