"""The object judge: a grounder finds the objects in an image, and a rule for boxes, or logic, decides.

All profiles go by one grounding, so that they can be compared item by item; the verdict is that of the chosen one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from formalimg.judges.base import MAX_OBJECTS, Grounder, Grounding, LoadedImage, Part, Unscored, Verdict
from formalimg.logic import Exists, FormulaError, PreparedFormula, prepare_formula
from formalimg.models import Price, Setting, price_of
from formalimg.scenes import CANVAS, Scene, SceneObject
from formalimg.suites import DetectionVerdict, Item, ObjectSpec, TranslatedClause, official_verdict, translate

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.judges.grounders.clip_colors import ClipColors

RuleProfile: TypeAlias = Literal["official", "strict", "logic"]
RULE_PROFILES: tuple[RuleProfile, ...] = get_args(RuleProfile)
"""What decides: the authors' rule; its strict variant, with exact numbers of boxes; or formulas."""

ColorReading: TypeAlias = Literal["grounder", "pixels", "clip"]
COLOR_READINGS: tuple[ColorReading, ...] = get_args(ColorReading)
"""Who says which colour an object has: the grounder, the pixels of its box, or a CLIP model that sees the box."""

_NUMBER = re.compile(r"(?<![\w#])#(\d+)\b")
"""The number of an object in an explanation."""

_VERSION = 1
"""The version of the rules from groundings to verdicts: raise it whenever a verdict may come out differently."""


class ProfileVerdict(NamedTuple):
    """What one profile says about an image."""

    passed: bool
    parts: tuple[Part, ...]
    evidence: Mapping[str, object]


@dataclass(frozen=True)
class ObjectJudge:
    """Judge images of items that ask for objects, by what a grounder finds in them.

    Evidence, all plain data:

    - `scene`: what the grounder found, in the grounding format, with the colours that were used;
    - `scores`: the confidence of each object, where the grounder gives any;
    - `profiles`: for each profile whether the image passes, and the reasons if not; for `strict` its graded score;
    - `explanation`: the reasons of the chosen profile, as text;
    - `confidence`, `grounder`: as those of `SceneJudge`.

    Attributes:
        grounder: finds the objects in the images.
        profile: what decides.
        colors: who says which colour an object has.
        threshold: the confidence that a box must exceed.
        counting_threshold: the same for items of the task counting.
        clip: the CLIP model, if it says which colour an object has.
    """

    grounder: Grounder
    profile: RuleProfile = "official"
    colors: ColorReading = "grounder"
    threshold: float = 0.3
    counting_threshold: float = 0.9
    clip: ClipColors | None = None

    @property
    def name(self) -> str:
        """The name of the grounder."""
        return self.grounder.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the grounder, the profile, the thresholds, and the version of the rules."""
        return {
            **self.grounder.settings,
            **(self.clip.settings if self.clip else {}),
            "profile": self.profile,
            "color_reading": self.colors,
            "min_confidence": self.threshold,
            "min_counting_confidence": self.counting_threshold,
            "object_rules": _VERSION,
        }

    @property
    def price(self) -> Price:
        """The price of what the grounder asks."""
        return price_of(self.grounder)

    @property
    def concurrency(self) -> int:
        """As many images at a time as the grounder takes."""
        return self.grounder.concurrency

    def questions(self, item: Item[object]) -> int:
        """Return how many requests to a chat model are sent per image of this item."""
        count = getattr(self.grounder, "questions", None)
        return int(count(item.spec.object_classes)) if count and isinstance(item.spec, ObjectSpec) else 0

    def unknown_classes(self, item: Item[object]) -> tuple[str, ...]:
        """Return the classes of this item that the grounder cannot look for; its images will be unscored."""
        unknown = getattr(self.grounder, "unknown_classes", None)
        return tuple(unknown(item.spec.object_classes)) if unknown and isinstance(item.spec, ObjectSpec) else ()

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows the objects that the item asks for."""
        spec = item.spec
        if not isinstance(spec, ObjectSpec) or not spec.object_classes:
            return Unscored("not understood", f"item {item.id} of {item.suite} names no objects to judge by")
        grounding = await self.grounder.ground(image, spec.object_classes)
        if isinstance(grounding, Unscored):
            return grounding
        return await asyncio.to_thread(self._judge_grounding, spec, grounding, image.pil)

    def _judge_grounding(self, spec: ObjectSpec, grounding: Grounding, image: Image) -> Verdict | Unscored:
        if len(grounding.scene) > MAX_OBJECTS:
            detail = f"{len(grounding.scene):,} objects were found, the limit is {MAX_OBJECTS:,}: look at the answers"
            return Unscored("not understood", detail, {}, grounding.cost)
        objects = colored_objects(spec, grounding.scene.objects, image, self.colors, self.clip)
        scores = confidences(grounding)
        evidence: dict[str, object] = {
            "scene": Scene.of(objects).to_json(),
            "confidence": grounding.confidence,
        }
        if scores:
            evidence["scores"] = scores
        if grounding.evidence:
            evidence["grounder"] = dict(grounding.evidence)
        try:
            verdicts = judge_by_profiles(spec, objects, scores, image.size, self.threshold, self.counting_threshold)
        except FormulaError as error:
            return Unscored("not understood", error.problems[0].message, evidence, grounding.cost)
        chosen = verdicts[self.profile]
        evidence["profiles"] = {name: {"passed": found.passed, **found.evidence} for name, found in verdicts.items()}
        reasons = [part.reason for part in chosen.parts if part.reason and part.score < 1]
        evidence["explanation"] = "\n".join(reasons) or "all that is asked for was found"
        return Verdict(chosen.passed, chosen.parts, evidence, grounding.cost)


def colored_objects(
    spec: ObjectSpec,
    objects: Sequence[SceneObject],
    image: Image,
    colors: ColorReading,
    clip: ClipColors | None = None,
) -> list[SceneObject]:
    """Return the objects with the colours to go by; pixels are read only if the item names a colour."""
    if colors == "grounder" or not any(one.color for one in spec.include):
        return list(objects)
    if clip is not None:
        named = {
            label: iter(clip.name_colors(image, [one.box for one in objects if one.label == label], label))
            for label in {one.label for one in objects}
        }
        return [SceneObject(one.label, one.box, next(named[one.label])) for one in objects]
    from formalimg.judges.grounders.pixel_colors import color_in

    return [SceneObject(one.label, one.box, color_in(image, one.box, more_words=True).name) for one in objects]


def judge_by_profiles(
    spec: ObjectSpec,
    objects: Sequence[SceneObject],
    scores: Sequence[float] = (),
    size: tuple[int, int] = (CANVAS, CANVAS),
    threshold: float = 0.3,
    counting_threshold: float = 0.9,
) -> dict[RuleProfile, ProfileVerdict]:
    """Return what each profile says about objects on the canvas.

    Args:
        spec: what is asked for.
        objects: the objects.
        scores: the confidence of each; empty if all are certain.
        size: width and height of the image in pixels: the rule for positions depends on its proportions.
        threshold: the confidence that a box must exceed.
        counting_threshold: the same for items of the task counting.
    """
    scores = scores or [1.0] * len(objects)
    detections = pixel_detections(objects, scores, size)
    official, strict = (
        official_verdict(spec, detections, strict=exact, threshold=threshold, counting_threshold=counting_threshold)
        for exact in (False, True)
    )
    above = counting_threshold if spec.tag == "counting" else threshold
    counted = [number for number, score in enumerate(scores) if score > above]
    return {
        "official": _by_rule(official, {"reasons": list(official.reasons)}),
        "strict": _by_rule(strict, {"reasons": list(strict.reasons), "score": round(strict.score, 6)}),
        "logic": logic_verdict(spec, objects, counted),
    }


def pixel_detections(
    objects: Sequence[SceneObject], scores: Sequence[float], size: tuple[int, int]
) -> dict[str, list[dict[str, object]]]:
    """Return objects on the canvas as detections by class, with boxes in pixels of an image of this size."""
    across, down = size[0] / CANVAS, size[1] / CANVAS
    detections: dict[str, list[dict[str, object]]] = {}
    for one, score in zip(objects, scores, strict=True):
        box = [one.box.xmin * across, one.box.ymin * down, one.box.xmax * across, one.box.ymax * down]
        detections.setdefault(one.label, []).append({"box": box, "score": score, "color": one.color})
    return detections


def confidences(grounding: Grounding) -> list[float]:
    """Return the confidence of each object; empty if the grounder gives none, or not one for each."""
    found = grounding.evidence.get("found")
    if not isinstance(found, list) or len(found) != len(grounding.scene):
        return []
    scores = [one.get("score") if isinstance(one, Mapping) else None for one in found]
    return [float(score) for score in scores if isinstance(score, int | float)] if None not in scores else []


def _by_rule(found: DetectionVerdict, evidence: Mapping[str, object]) -> ProfileVerdict:
    parts = tuple(
        Part(check.name, check.kind, float(check.passed), about=check.about, reason=check.reason)
        for check in found.checks
    )
    return ProfileVerdict(found.passed, parts, evidence)


def logic_verdict(spec: ObjectSpec, objects: Sequence[SceneObject], counted: Sequence[int]) -> ProfileVerdict:
    """Return whether the formulas of what is asked for hold.

    Args:
        spec: what is asked for.
        objects: everything that was found.
        counted: the numbers of the objects that are certain enough to count.
    """
    scene = Scene.of([objects[number] for number in counted])
    parts = []
    for clause in translate(spec):
        prepared = prepare_formula(clause.formula)
        holds = prepared.verify(scene).passed
        reason = "" if holds else _renumbered(_explained(clause, prepared, scene), counted)
        parts.append(Part(clause.text, clause.kind, float(holds), about=clause.about, reason=reason))
    passed = all(part.score == 1 for part in parts)
    return ProfileVerdict(passed, tuple(parts), {"reasons": [part.reason for part in parts if part.reason]})


def _explained(clause: TranslatedClause, prepared: PreparedFormula, scene: Scene) -> str:
    """Return why a clause does not hold: how many were needed and found, or what the closest objects lack."""
    failed = [one for one in prepared.best_binding(scene).clauses if not one.holds]
    lacks = "; ".join(dict.fromkeys(one.reason for one in failed))
    if not isinstance(clause.formula, Exists):
        return lacks
    relation = clause.kind == "relation"
    classes = clause.about[1:] if relation else clause.about[-1:]
    missing = [label for label in classes if all(one.label != label for one in scene.objects)]
    if missing:
        return "; ".join(f"1 {label} needed, none found" for label in missing)
    wanted = f"{classes[0]} {clause.about[0]} {classes[1]}" if relation else " ".join(clause.about)
    closest = dict.fromkeys(bound.description for one in failed for bound in one.bindings)
    return f"{wanted} needed; closest {' and '.join(closest)}: {lacks}"


def _renumbered(text: str, numbers: Sequence[int]) -> str:
    """Return a text in which the objects that count have their numbers among all objects."""
    return _NUMBER.sub(lambda found: f"#{numbers[int(found[1])]}", text)
