"""The composition judge: a chat model checks noun phrases, and a grounder's boxes decide positions and counts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from formalimg.benchmarks.geneval.judge import judge_grounding
from formalimg.benchmarks.object_spec import ObjectSpec
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.benchmarks.t2i_compbench.composition import composition_objects, find_asked_phrases, find_classes
from formalimg.benchmarks.t2i_compbench.rule import CompositionVerdict, attribute_verdict, box_verdict
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.box_rules import (
    ColorReading,
    ProfileVerdict,
    logic_verdict,
    name_colors,
    open_rule_grounder,
    pixel_detections,
    read_color_options,
)
from formalimg.judges.chat_judge import WordAnswer, check_option
from formalimg.judges.factory import DETECTORS, GROUNDER_OPTIONS, ICONS
from formalimg.judges.question_judge import WordJudge, open_word_chat
from formalimg.models.base import Answered
from formalimg.models.options import Options
from formalimg.models.pricing import Price, price_of
from formalimg.scenes.objects import SceneObject
from formalimg.types import Grounder, Item, Judge, Part, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.judges.grounders.colors import ClipColors
    from formalimg.judges.recorded_judge import RecordedModels

CompositionProfile: TypeAlias = Literal["official", "official-code", "logic"]
COMPOSITION_PROFILES: tuple[CompositionProfile, ...] = get_args(CompositionProfile)
"""What decides: the published rules; the published code with its slips; or formulas."""

_OPTIONS = ("profile", "colors", "clip", "confidence", "grounder")

SOFT, HARD = "log-probabilities", "yes or no"  # What the score of noun phrases is made of
_VERSION = 1  # The version of the rules from answers and groundings to verdicts: raise it whenever a verdict may differ


class PublishedPhraseJudge(WordJudge):
    """Judge that asks a chat model about each noun phrase; `p_yes` is the probability of yes among yes and no."""

    prompt_folder = Path(__file__).parent / "prompts"
    prompt = "published-phrase-judge"

    def _chance(self, question: GraphQuestion, reply: Answered[WordAnswer]) -> float | None:
        return reply.p_yes


@dataclass(frozen=True)
class CompositionJudge:
    """Judge that checks noun phrases, positions of two objects, or counts of objects, depending on the item.

    Evidence: `profiles` (for each that could be computed whether the image passes, its score, and why not);
    `score_from` (log-probabilities, or yes and no alone) and the evidence of `PublishedPhraseJudge` for noun phrases;
    else that of `ObjectJudge`.
    """

    phrases: Judge | None  # answers whether an image shows a noun phrase; None where nothing can
    grounder: Grounder  # finds the objects in the images
    profile: CompositionProfile = "official"  # what decides
    colors: ColorReading = "grounder"  # who says which colour an object has
    threshold: float = 0.5  # the confidence that a box must exceed
    clip: ClipColors | None = None  # the CLIP model, if it says which colour an object has

    @property
    def name(self) -> str:
        """The name of the chat model, or of the grounder if there is no chat model."""
        return self.grounder.name if self.phrases is None else self.phrases.name

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The settings of the grounder, of the chat model (prefixed with `phrases.`), and of the rules."""
        phrase_settings = {} if self.phrases is None else self.phrases.settings
        return {
            **self.grounder.settings,
            **({"grounder": self.grounder.name} if self.grounder.name != self.name else {}),
            **{f"phrases.{key}": value for key, value in phrase_settings.items()},
            **(self.clip.settings if self.clip else {}),
            "profile": self.profile,
            "color_reading": self.colors,
            "min_confidence": self.threshold,
            "composition_rules": _VERSION,
        }

    @property
    def price(self) -> Price:
        """The price of requests to the chat model, or to the grounder if there is no chat model."""
        return price_of(self.grounder if self.phrases is None else self.phrases)

    @property
    def concurrency(self) -> int:
        """The number of images that both models process concurrently."""
        return min(part.concurrency for part in (self.grounder, self.phrases) if part is not None)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests to a chat model are sent per image of this item."""
        if self._goes_by_phrases(item):
            count = getattr(self.phrases, "questions", None)
            return int(count(item)) if count else 0
        count = getattr(self.grounder, "questions", None)
        return int(count(self._classes(item))) if count else 0

    def unknown_classes(self, item: Item[object]) -> tuple[str, ...]:
        """Return the item's requirements that the judge cannot check, which leave its images unscored."""
        if self._goes_by_phrases(item):
            return ("noun phrases",) if self.phrases is None else ()
        classes = self._classes(item)
        if not classes:
            return ("what has no formula",) if self.profile == "logic" else ("what cannot be read",)
        unknown = getattr(self.grounder, "unknown_classes", None)
        return tuple(unknown(classes)) if unknown else ()

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge the degree to which the image satisfies the item."""
        spec = item.spec
        if not isinstance(spec, QuestionSpec) or not spec.questions:
            return Unscored("not understood", f"item {item.id} of {item.suite} has no questions")
        if self._goes_by_phrases(item):
            return await self._judge_phrases(item, spec, image)
        classes = self._classes(item)
        if not classes:
            return Unscored("not understood", f"boxes and colours cannot decide this prompt: {item.prompt[:80]}")
        grounding = await self.grounder.ground(image, classes)
        if isinstance(grounding, Unscored):
            return grounding
        requested = composition_objects(spec, item.prompt)
        colors = partial(name_colors, image=image.pil, colors=self.colors, clip=self.clip)
        named = list[SceneObject] if requested is None else partial(colors, requested)
        decide = partial(self._decide, spec, requested)
        return await asyncio.to_thread(judge_grounding, grounding, image.pil.size, self.profile, named, decide)

    def goes_by_boxes(self, item: Item[object]) -> bool:
        """Return whether boxes decide the item, rather than answers to questions."""
        return not self._goes_by_phrases(item)

    def _goes_by_phrases(self, item: Item[object]) -> bool:
        is_asked = isinstance(item.spec, QuestionSpec) and bool(find_asked_phrases(item.spec))
        return self.profile != "logic" and is_asked

    def _classes(self, item: Item[object]) -> tuple[str, ...]:
        """Return the classes to detect, or an empty tuple if boxes cannot decide the item under this profile."""
        if not isinstance(item.spec, QuestionSpec):
            return ()
        if self.profile != "logic":
            return find_classes(item.spec)
        requested = composition_objects(item.spec, item.prompt)
        return () if requested is None else requested.object_classes

    async def _judge_phrases(self, item: Item[object], spec: QuestionSpec, image: LoadedImage) -> Verdict | Unscored:
        if self.phrases is None:
            detail = (
                f"{self.name} sees boxes and colours only, and cannot answer {spec.questions[0].question}: name a chat "
                "model as the judge, or give -J profile=logic"
            )
            return Unscored("not understood", detail)
        answered = await self.phrases.judge(item, image)
        if isinstance(answered, Unscored):
            return answered
        soft = [part.p_yes for part in answered.parts if part.p_yes is not None]
        is_soft = len(soft) == len(answered.parts)
        chances = soft if is_soft else [part.score for part in answered.parts]
        verdicts = {
            "official": attribute_verdict(spec, chances),
            "official-code": attribute_verdict(spec, chances, as_code=True),
        }
        chosen = verdicts[self.profile]
        evidence = {
            **answered.evidence,
            "profiles": {name: _verdict_evidence(verdict) for name, verdict in verdicts.items()},
            "score_from": SOFT if is_soft else HARD,
        }
        parts = tuple(
            Part(part.name, part.kind, float(chance > 0.5), part.weight, check.about, part.reason, part.p_yes)
            for part, chance, check in zip(answered.parts, chances, chosen.checks, strict=True)
        )
        return Verdict(chosen.passed, parts, evidence, answered.cost)

    def _decide(
        self,
        spec: QuestionSpec,
        requested: ObjectSpec | None,
        objects: Sequence[SceneObject],
        scores: Sequence[float],
        size: tuple[int, int],
    ) -> dict[str, ProfileVerdict]:
        verdicts: dict[str, ProfileVerdict] = {}
        if not find_asked_phrases(spec):
            detections = pixel_detections(objects, scores, size)
            for profile, as_code in (("official", False), ("official-code", True)):
                judged = box_verdict(spec, detections, size, threshold=self.threshold, as_code=as_code)
                verdicts[profile] = _by_rule(judged)
        if requested is not None:
            counted = [number for number, score in enumerate(scores) if score > self.threshold]
            by_logic = logic_verdict(requested, objects, counted)
            verdicts["logic"] = by_logic._replace(evidence={"score": float(by_logic.passed), **by_logic.evidence})
        return verdicts


def _verdict_evidence(verdict: CompositionVerdict) -> dict[str, object]:
    return {"passed": verdict.passed, "score": round(verdict.score, 6), "reasons": list(verdict.reasons)}


def _by_rule(verdict: CompositionVerdict) -> ProfileVerdict:
    """Convert a rule's verdict, counting every detected object as present regardless of its confidence."""
    parts = []
    for check in verdict.checks:
        score = float(check.score > 0) if check.kind == "object" else check.score
        parts.append(Part(check.name, check.kind, score, check.weight, check.about, check.reason))
    return ProfileVerdict(verdict.passed, tuple(parts), _verdict_evidence(verdict))


def profile_scores(evidence: Mapping[str, object], names: Sequence[str]) -> dict[str, float]:
    """Return the score of each profile in a verdict's evidence, ignoring malformed entries."""
    profiles = evidence.get("profiles")
    results = {name: profiles.get(name) for name in names} if isinstance(profiles, Mapping) else {}
    scores = {name: result.get("score") for name, result in results.items() if isinstance(result, Mapping)}
    return {name: float(score) for name, score in scores.items() if isinstance(score, int | float)}


def open_judge(suite: str, name: str | None, options: Mapping[str, str]) -> Judge:
    """Open a judge that asks about noun phrases and detects objects."""
    name = name or ICONS
    model_options = dict(options)
    reader = Options(suite, {key: model_options.pop(key) for key in _OPTIONS if key in model_options})
    finder = reader.text("grounder", name)
    settings: dict[str, Any] = {
        "profile": reader.choice("profile", COMPOSITION_PROFILES, "official"),
        **read_color_options(reader, finder),
        "threshold": reader.number("confidence", 0.5, minimum=0, maximum=1),
    }
    finds_itself = name.startswith(("builtin/", DETECTORS))
    if finds_itself and finder != name:
        raise FormalimgError(f"{name} finds objects itself: name a chat model as the judge, and it as -J grounder")
    phrases = None
    if not finds_itself:
        chat_options = {
            key: value for key, value in model_options.items() if key not in GROUNDER_OPTIONS or key == "prompts"
        }
        chat, asking = open_word_chat(suite, name, chat_options, ("prompts", "grounder"))
        phrases = PublishedPhraseJudge(chat, **asking)
    grounder = open_rule_grounder(suite, finder, model_options if finder == name else {}, settings["threshold"])
    return CompositionJudge(phrases, grounder, **settings)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Reopen a judge from recorded settings, answers and groundings."""
    settings = recorded.settings
    if "protocol" in settings:
        raise FormalimgError("it has no published protocol")
    check_option("profile", settings["profile"], COMPOSITION_PROFILES)
    is_asked = any(key.startswith("phrases.") for key in settings)
    phrases = PublishedPhraseJudge(recorded.chat) if is_asked else None
    return CompositionJudge(phrases, recorded.grounder, settings["profile"], "grounder", settings["min_confidence"])
