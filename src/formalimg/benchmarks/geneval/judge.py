"""The object judge: a grounder detects objects, and a box rule or a formula decides.

All profiles go by one grounding, so that they can be compared item by item; the verdict is that of the chosen one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from formalimg.benchmarks.geneval.rule import DetectionVerdict, official_verdict
from formalimg.benchmarks.object_spec import IncludedObjects, ObjectSpec
from formalimg.drawing.scene import DrawnScene
from formalimg.errors import FormalimgError
from formalimg.judges.base import MAX_OBJECTS, Grounding, LoadedImage
from formalimg.judges.box_rules import (
    ColorReading,
    ProfileVerdict,
    logic_verdict,
    name_colors,
    open_rule_grounder,
    pixel_detections,
    read_color_options,
    read_confidences,
)
from formalimg.judges.chat_judge import check_option
from formalimg.judges.factory import ICONS
from formalimg.judges.preflight import BOTTLE, RED_BOTTLE, KnownDrawing, two_things
from formalimg.logic.errors import FormulaError
from formalimg.models.options import Options
from formalimg.models.pricing import Price, price_of
from formalimg.scenes.objects import CANVAS, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Item, Judge, Part, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.judges.grounders.colors import ClipColors
    from formalimg.judges.recorded_judge import RecordedModels

RuleProfile: TypeAlias = Literal["official", "strict", "logic"]
RULE_PROFILES: tuple[RuleProfile, ...] = get_args(RuleProfile)
"""What decides: the authors' rule; its strict variant, with exact numbers of boxes; or formulas."""


_OPTIONS = ("profile", "colors", "clip", "confidence", "counting_confidence")


_VERSION = 1
"""The version of the rules from groundings to verdicts: raise it whenever a verdict may come out differently."""


@dataclass(frozen=True)
class ObjectJudge:
    """Judge that decides by the objects a grounder detects in an image.

    Evidence, all plain data:

    - `scene`: what the grounder found, in the grounding format, with the colours that were used;
    - `scores`: the confidence of each object, where the grounder gives any;
    - `profiles`: for each profile whether the image passes, and the reasons if not; for `strict` its graded score;
    - `explanation`: the reasons of the chosen profile, as text;
    - `confidence`, `grounder`: as those of `SceneJudge`.
    """

    grounder: Grounder  # finds the objects in the images
    profile: RuleProfile = "official"  # what decides
    colors: ColorReading = "grounder"  # who says which colour an object has
    threshold: float = 0.3  # the confidence that a box must exceed
    counting_threshold: float = 0.9  # the same for items of the task counting
    clip: ClipColors | None = None  # the CLIP model, if it says which colour an object has

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
        """The price of the grounder's requests."""
        return price_of(self.grounder)

    @property
    def concurrency(self) -> int:
        """The number of images that the grounder processes concurrently."""
        return self.grounder.concurrency

    def questions(self, item: Item[object]) -> int:
        """Return how many requests to a chat model are sent per image of this item."""
        count = getattr(self.grounder, "questions", None)
        return int(count(item.spec.object_classes)) if count and isinstance(item.spec, ObjectSpec) else 0

    def unknown_classes(self, item: Item[object]) -> tuple[str, ...]:
        """Return the item's classes that the grounder does not support, which leave its images unscored."""
        unknown = getattr(self.grounder, "unknown_classes", None)
        return tuple(unknown(item.spec.object_classes)) if unknown and isinstance(item.spec, ObjectSpec) else ()

    def goes_by_boxes(self, item: Item[object]) -> bool:
        """Return True, because boxes always decide."""
        return True

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge whether the image shows the objects that the item requires."""
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
        objects = name_colors(spec, grounding.scene.objects, image, self.colors, self.clip)
        scores = read_confidences(grounding)
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
        evidence["profiles"] = {
            name: {"passed": verdict.passed, **verdict.evidence} for name, verdict in verdicts.items()
        }
        reasons = [part.reason for part in chosen.parts if part.reason and part.score < 1]
        evidence["explanation"] = "\n".join(reasons) or "all that is asked for was found"
        return Verdict(chosen.passed, chosen.parts, evidence, grounding.cost)


def judge_by_profiles(
    spec: ObjectSpec,
    objects: Sequence[SceneObject],
    scores: Sequence[float] = (),
    size: tuple[int, int] = (CANVAS, CANVAS),
    threshold: float = 0.3,
    counting_threshold: float = 0.9,
) -> dict[RuleProfile, ProfileVerdict]:
    """Return the verdict of each profile on the objects on a canvas."""
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


def _by_rule(verdict: DetectionVerdict, evidence: Mapping[str, object]) -> ProfileVerdict:
    parts = tuple(
        Part(check.name, check.kind, float(check.passed), about=check.about, reason=check.reason)
        for check in verdict.checks
    )
    return ProfileVerdict(verdict.passed, parts, evidence)


def open_judge(suite: str, name: str | None, options: Mapping[str, str]) -> Judge:
    """Open a judge that detects objects and decides by a rule."""
    name = name or ICONS
    grounder_options = dict(options)
    reader = Options(suite, {key: grounder_options.pop(key) for key in _OPTIONS if key in grounder_options})
    settings: dict[str, Any] = {
        "profile": reader.choice("profile", RULE_PROFILES, "official"),
        **read_color_options(reader, name),
        "threshold": reader.number("confidence", 0.3, minimum=0, maximum=1),
        "counting_threshold": reader.number("counting_confidence", 0.9, minimum=0, maximum=1),
    }
    return ObjectJudge(open_rule_grounder(suite, name, grounder_options, settings["threshold"]), **settings)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Reopen a judge from recorded settings and groundings."""
    settings = recorded.settings
    if "protocol" in settings:
        raise FormalimgError("it has no published protocol")
    check_option("profile", settings["profile"], RULE_PROFILES)
    thresholds = settings["min_confidence"], settings["min_counting_confidence"]
    return ObjectJudge(recorded.grounder, settings["profile"], "grounder", *thresholds)


def preflight_drawings(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two preflight drawings, one with a bottle and one without."""
    item = Item(suite, "preflight", 1, RED_BOTTLE, ObjectSpec("single_object", (IncludedObjects(BOTTLE, 1),)))
    return two_things(item, "whether there is a bottle", (True,), (False,))


def judge_drawn(item: Item[object], drawn: DrawnScene, profile: str) -> Verdict | Unscored:
    """Return the verdict on a drawn scene, or an unscored result if the profiles disagree.

    It is without parts that were not looked at for a failed one.
    """
    spec = item.spec
    if not isinstance(spec, ObjectSpec):
        return Unscored("not understood", f"item {item.id} of {item.suite} names no objects to judge by")
    try:
        verdicts = judge_by_profiles(spec, drawn.scene.objects)
    except FormulaError as error:
        return Unscored("not understood", error.problems[0].message)
    if len({verdict.passed for verdict in verdicts.values()}) > 1:
        return Unscored("not understood", "by one profile it passes and by another it does not")
    chosen = verdicts[cast(RuleProfile, profile)]
    parts = tuple(part for part in chosen.parts if part.score == 1 or part.reason)
    return Verdict(chosen.passed, parts)
