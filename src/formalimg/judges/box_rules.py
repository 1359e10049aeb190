"""Helpers shared by box-based rules: object colours, detections, confidences and clause formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg.benchmarks.object_spec import OBJECT_COLORS, ObjectSpec, TranslatedClause, translate
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding
from formalimg.judges.factory import DETECTORS, GROUNDER_OPTIONS, open_chat, open_grounder
from formalimg.logic.soft_score.best_binding import PreparedFormula, prepare_formula
from formalimg.logic.syntax import Exists
from formalimg.models.options import Options
from formalimg.scenes.objects import CANVAS, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Part

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.judges.grounders.colors import ClipColors

ColorReading: TypeAlias = Literal["grounder", "pixels", "clip"]

COLOR_READINGS: tuple[ColorReading, ...] = get_args(ColorReading)
"""Who says which colour an object has: the grounder, the pixels of its box, or a CLIP model that sees the box."""

_NUMBER = re.compile(r"(?<![\w#])#(\d+)\b")
"""The number of an object in an explanation."""


class ProfileVerdict(NamedTuple):
    """The verdict of one judging profile on an image."""

    passed: bool
    parts: tuple[Part, ...]
    evidence: Mapping[str, object]


def name_colors(
    spec: ObjectSpec, objects: Sequence[SceneObject], image: Image, colors: ColorReading, clip: ClipColors | None = None
) -> list[SceneObject]:
    """Assign a colour to each object, reading pixels only if the item mentions a colour."""
    if colors == "grounder" or not any(requirement.color for requirement in spec.include):
        return list(objects)
    if clip is not None:
        names = {
            label: iter(clip.name_colors(image, [obj.box for obj in objects if obj.label == label], label))
            for label in {obj.label for obj in objects}
        }
        return [SceneObject(obj.label, obj.box, next(names[obj.label])) for obj in objects]
    from formalimg.judges.grounders.colors import color_in

    return [SceneObject(obj.label, obj.box, color_in(image, obj.box).name) for obj in objects]


def pixel_detections(
    objects: Sequence[SceneObject], scores: Sequence[float], size: tuple[int, int]
) -> dict[str, list[dict[str, object]]]:
    """Group objects by class as detections, with boxes converted from the canvas to pixels."""
    across, down = size[0] / CANVAS, size[1] / CANVAS
    detections: dict[str, list[dict[str, object]]] = {}
    for obj, score in zip(objects, scores, strict=True):
        box = [obj.box.xmin * across, obj.box.ymin * down, obj.box.xmax * across, obj.box.ymax * down]
        detections.setdefault(obj.label, []).append({"box": box, "score": score, "color": obj.color})
    return detections


def read_confidences(grounding: Grounding) -> list[float]:
    """Return the confidence of each object, or an empty list if any is missing."""
    entries = grounding.evidence.get("found")
    if not isinstance(entries, list) or len(entries) != len(grounding.scene):
        return []
    scores = [entry.get("score") if isinstance(entry, Mapping) else None for entry in entries]
    return [float(score) for score in scores if isinstance(score, int | float)] if None not in scores else []


def logic_verdict(spec: ObjectSpec, objects: Sequence[SceneObject], counted: Sequence[int]) -> ProfileVerdict:
    """Check the formula of each requirement against the counted objects."""
    scene = Scene.of([objects[number] for number in counted])
    parts = []
    for clause in translate(spec):
        prepared = prepare_formula(clause.formula)
        holds = prepared.verify(scene).passed
        reason = "" if holds else _explain_clause(clause, prepared, scene)
        # the objects that count have their numbers among all objects
        reason = _NUMBER.sub(lambda number: f"#{counted[int(number[1])]}", reason)
        parts.append(Part(clause.text, clause.kind, float(holds), about=clause.about, reason=reason))
    passed = all(part.score == 1 for part in parts)
    return ProfileVerdict(passed, tuple(parts), {"reasons": [part.reason for part in parts if part.reason]})


def _explain_clause(clause: TranslatedClause, prepared: PreparedFormula, scene: Scene) -> str:
    """Explain why a clause fails: required and actual counts, or mismatches of the closest objects."""
    failed = [judged for judged in prepared.best_binding(scene).clauses if not judged.holds]
    reasons = "; ".join(dict.fromkeys(judged.reason for judged in failed))
    if not isinstance(clause.formula, Exists):
        return reasons
    relation = clause.kind == "relation"
    classes = clause.about[1:] if relation else clause.about[-1:]
    missing = [label for label in classes if all(obj.label != label for obj in scene.objects)]
    if missing:
        return "; ".join(f"1 {label} needed, none found" for label in missing)
    needed = f"{classes[0]} {clause.about[0]} {classes[1]}" if relation else " ".join(clause.about)
    closest = dict.fromkeys(bound.description for judged in failed for bound in judged.bindings)
    return f"{needed} needed; closest {' and '.join(closest)}: {reasons}"


def read_color_options(reader: Options, name: str) -> dict[str, Any]:
    """Read the `colors` option, which defaults to `pixels` for detectors and to `grounder` otherwise."""
    colors = reader.choice("colors", COLOR_READINGS, "pixels" if name.startswith(DETECTORS) else "grounder")
    if colors == "clip":
        from formalimg.judges.grounders.colors import DEFAULT_CLIP, open_clip_colors

        return {"colors": colors, "clip": open_clip_colors(reader.text("clip", DEFAULT_CLIP), OBJECT_COLORS)}
    if reader.text("clip", None) is not None:
        raise FormalimgError("clip names the model of colors=clip: give -J colors=clip, too")
    return {"colors": colors}


def open_rule_grounder(suite: str, name: str, options: Mapping[str, str], threshold: float) -> Grounder:
    """Open the grounder for a box-based rule, with a detector threshold low enough for the rule."""
    if name.startswith(DETECTORS):
        # Boxes that the rule counts must not be dropped by the detector's own threshold, which is higher.
        return open_grounder(name, {"threshold": f"{max(threshold, 0.01):g}", **options})
    if name.startswith("builtin/"):
        return open_grounder(name, options)
    from formalimg.judges.grounders.vlm import REQUESTS, VlmGrounder

    chat, judge_options = open_chat(name, options, GROUNDER_OPTIONS, suite, {"requests": REQUESTS})
    return VlmGrounder(chat, colors=OBJECT_COLORS, **judge_options)
