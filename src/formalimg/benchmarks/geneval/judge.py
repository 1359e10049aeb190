"""The object judge: a grounder detects objects, and a box rule or a formula decides; all profiles share the boxes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from formalimg.benchmarks.geneval.rule import DetectionVerdict, official_verdict
from formalimg.benchmarks.object_spec import ObjectSpec
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
from formalimg.judges.clause_sentences import SceneSentence
from formalimg.judges.factory import ICONS
from formalimg.judges.failures import reason_by_count
from formalimg.language.lexicon import plural_of
from formalimg.logic.errors import FormulaError
from formalimg.models.options import Options
from formalimg.models.pricing import Price, price_of
from formalimg.scenes.objects import CANVAS, SceneError, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Item, Judge, Part, Setting, Unscored, Verdict

if TYPE_CHECKING:
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

    Evidence: `scene` with the colours that were used, `scores` (confidences of its objects, if known), `profiles` (for
    each whether the image passes and why not; for `strict` its graded score), `explanation` (the reasons of the chosen
    profile), and `confidence` and `grounder` as those of `SceneJudge`.
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
            return Unscored("not understood", f"item {item.id} of {item.suite} names no objects")
        grounding = await self.grounder.ground(image, spec.object_classes)
        if isinstance(grounding, Unscored):
            return grounding
        decide = partial(judge_by_profiles, spec, threshold=self.threshold, counting_threshold=self.counting_threshold)
        named = partial(name_colors, spec, image=image.pil, colors=self.colors, clip=self.clip)
        return await asyncio.to_thread(judge_grounding, grounding, image.pil.size, self.profile, named, decide)


def judge_grounding(
    grounding: Grounding,
    size: tuple[int, int],
    profile: str,
    named: Callable[[Sequence[SceneObject]], Sequence[SceneObject]],
    decide: Callable[[Sequence[SceneObject], Sequence[float], tuple[int, int]], Mapping[Any, ProfileVerdict]],
) -> Verdict | Unscored:
    """Return the verdict of a profile on the objects that a grounder found, with those of all others as evidence.

    `named` returns the objects with their colours; `decide` returns each profile's verdict.
    """
    if len(grounding.scene) > MAX_OBJECTS:
        detail = f"{len(grounding.scene):,} objects were found, the limit is {MAX_OBJECTS:,}: look at the answers"
        return Unscored("not understood", detail, {}, grounding.cost)
    objects = named(grounding.scene.objects)
    scores = read_confidences(grounding)
    evidence: dict[str, object] = {"scene": Scene.of(objects).to_json(), "confidence": grounding.confidence}
    if scores:
        evidence["scores"] = scores
    if grounding.evidence:
        evidence["grounder"] = dict(grounding.evidence)
    try:
        verdicts = decide(objects, scores or [1.0] * len(objects), size)
    except FormulaError as error:
        return Unscored("not understood", error.problems[0].message, evidence, grounding.cost)
    evidence["profiles"] = {name: {"passed": verdict.passed, **verdict.evidence} for name, verdict in verdicts.items()}
    chosen = verdicts[profile]
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


def judge_drawn(item: Item[object], drawn: DrawnScene, profile: str) -> Verdict | Unscored:
    """Return the verdict on a drawn scene without the parts that the rule did not reach, or why there is none."""
    spec = item.spec
    if not isinstance(spec, ObjectSpec):
        return Unscored("not understood", f"item {item.id} of {item.suite} names no objects")
    try:
        verdicts = judge_by_profiles(spec, drawn.scene.objects)
    except FormulaError as error:
        return Unscored("not understood", error.problems[0].message)
    if len({verdict.passed for verdict in verdicts.values()}) > 1:
        return Unscored("not understood", "by one profile it passes and by another it does not")
    chosen = verdicts[cast(RuleProfile, profile)]
    parts = tuple(part for part in chosen.parts if part.score == 1 or part.reason)
    return Verdict(chosen.passed, parts)


_WANTED = re.compile(r"(exactly |fewer than )?(\d+) (.+) wanted, (\d+) found(?:: (.+))?")
_PLACED = re.compile(r".+ wanted, found (.+)")


def explain_failure(part: Part, verdict: Verdict) -> list[SceneSentence]:
    """Explain why a part failed, or return an empty list if the part has no reason."""
    if not part.reason:
        return []
    try:
        objects = Scene.from_json(verdict.evidence["scene"]).objects if "scene" in verdict.evidence else ()
    except SceneError:
        objects = ()
    spoken = frozenset(number for number, obj in enumerate(objects) if obj.label in part.about)
    sentence = _explain_count(part, objects) or _explain_position(part, [obj.label for obj in objects])
    return [SceneSentence(sentence or reason_by_count(part.reason), spoken)]


def _explain_count(part: Part, objects: Sequence[SceneObject]) -> str:
    """Return the found and required counts, or an empty string if the reason is not a count."""
    match = _WANTED.fullmatch(part.reason)
    if match is None or not part.about:
        return ""
    qualifier, required, noun, number, listed = match.groups()
    if part.kind == "attribute":  # the rule looks at the most certain boxes only
        color, label = part.about
        colors = [obj.color for obj in objects if obj.label == label]
        if color in colors:
            return ""
        if len(colors) == 1 and listed == f"1 {colors[0]}":
            return f"the {label} is {colors[0]}, not {color}"
    objects_text = noun if number in ("0", "1") else plural_of(noun)
    if qualifier == "fewer than ":
        return f"{number} {objects_text} found, fewer than {required} allowed"
    if number == "0" and required == "1":
        return f"no {noun} found"
    return f"{'no' if number == '0' else number} {objects_text} found, {qualifier or ''}{required} needed"


def _explain_position(part: Part, labels: Sequence[str]) -> str:
    """Return the actual and required positions, or an empty string unless the pair of objects is unique."""
    match = _PLACED.fullmatch(part.reason)
    if match is None or len(part.about) != 3:
        return ""
    relation, label, target = part.about
    if not labels.count(label) == labels.count(target) == 1:
        return ""
    if match[1] == "in no clear direction":
        return f"the {label} is not {relation} the {target}"
    return f"the {label} is {match[1]} the {target}, not {relation} it"
