"""Judges that recompute verdicts from recorded answers, without querying any model.

A judge with a chat model parses the raw answers again, and one with a grounder evaluates the recorded scene again.
Judges send requests one by one to a model of concurrency 1, so recorded answers need no names: a conversation without
an answer is the next request, and one with an answer is the next attempt at the same request.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

from formalimg._util.images import png_bytes
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.drawing.scene import DrawnScene
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage, TextLine, TextReader, TextReading
from formalimg.judges.factory import COCO, DETECTORS, DRAWN, ICONS, OCR, open_judge
from formalimg.judges.scene_judge import LayoutJudge, PublishedLayoutJudge, SceneJudge, judge_written_layout
from formalimg.models.base import Answered, Message, Reply, Unanswered
from formalimg.models.registry import chat_model_providers
from formalimg.models.structured_output import ParseFailure, parse_answer
from formalimg.scenes.objects import Box, SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Item, Judge, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image
    from pydantic import BaseModel

AnswerType = TypeVar("AnswerType", bound="BaseModel")
RecordedSource: TypeAlias = Literal["answers", "scene"]
"""What on record a verdict follows from: raw answers of a chat model, or the scene that was found."""

_ANY_SIZE = (8, 8)  # The size of an image where no verdict depends on it
_COCO_OPTIONS = ("network", "threshold", "presence", "overlap", "size")
_LOCAL_OPTIONS = {
    "profile": "profile",
    "colors": "color_reading",
    "confidence": "min_confidence",
    "counting_confidence": "min_counting_confidence",
}
"""Options of judges that go by boxes, by the settings that record them."""


class EvidenceError(Exception):
    """Raised when stored evidence is not in the form that the judge stores."""


class UnknownJudgeError(Exception):
    """Raised when a judge cannot be reopened from its recorded settings."""

    def __init__(self, reason: str, *, is_own: bool) -> None:
        super().__init__(reason)
        self.is_own = is_own  # whether its name is that of a judge of formalimg, which never has such settings


# --- models that say again what is on record


class RecordedRequest(NamedTuple):
    """A recorded request with the model's answers to all attempts."""

    attempts: tuple[str, ...]  # the answers, word for word, to the request and to what was said after an invalid answer
    p_yes: float | None = None  # the probability of yes; None if it is not on record
    expected: str = "yes"  # the answer that is good, where the request has such a thing


@dataclass
class _Recorded:
    name: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1


@dataclass
class RecordedChat(_Recorded):
    """A chat model that replays recorded answers."""

    requests: Sequence[RecordedRequest] = field(default=(), kw_only=True)
    _request: int = -1
    _attempt: int = 0

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        """Parse and return the next recorded answer, or `Unanswered` if there are no more."""
        if messages[-1].role != "user" or any(message.role == "assistant" for message in messages):
            self._attempt += 1
        else:
            self._request, self._attempt = self._request + 1, 0
        request = self.requests[self._request] if self._request < len(self.requests) else RecordedRequest(())
        if self._attempt >= len(request.attempts):
            return Unanswered("failed", "no answer is on record")
        raw = request.attempts[self._attempt]
        value = parse_answer(raw, answer_type)
        if isinstance(value, ParseFailure):
            return Unanswered("unreadable", value.reason, raw)
        first_tokens = {} if request.p_yes is None else {request.expected: request.p_yes}
        return Answered(value, raw, p_yes=request.p_yes, first_tokens=first_tokens)

    @property
    def left_over(self) -> int:
        """The number of recorded requests that have not been replayed."""
        return len(self.requests) - 1 - self._request


class _RecordedGrounder(_Recorded):
    """A grounder that returns a recorded grounding for any image."""

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        confidence, more = self.evidence.get("confidence", 1.0), self.evidence.get("grounder", {})
        if not isinstance(confidence, int | float) or not isinstance(more, Mapping):
            raise EvidenceError("its scene cannot be read")
        return Grounding(_read_scene(self.evidence), float(confidence), more)


class _RecordedReader(_Recorded):
    """A text reader that returns a recorded reading for any image."""

    async def read(self, image: LoadedImage) -> TextReading | Unscored:
        beside = self.evidence.get("by_reader")
        stored = beside if isinstance(beside, Mapping) else self.evidence
        if "text" not in stored:
            raise EvidenceError("its evidence has no text, which this judge always stores")
        try:
            lines = [
                TextLine(str(line["text"]), Box(*map(float, line["box"])), line["confidence"])
                for line in stored["text"]
            ]
        except (TypeError, ValueError, KeyError):
            raise EvidenceError("its text cannot be read") from None
        served = stored.get("served")
        return TextReading(tuple(lines), {"served": served} if served is not None else {})


class _RecordedDrawing(_Recorded):
    """A judge of drawings that uses the recorded scene."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        from formalimg.judges.drawn_judge import judge_drawn_scene  # here, because it comes with what reads drawings

        depth, style = self.evidence.get("depth", ...), self.evidence.get("style")
        if depth is ...:
            raise EvidenceError("its evidence has no scene, which this judge always stores")
        if not isinstance(depth, list) or not all(type(number) is int for number in depth):
            raise EvidenceError("its scene cannot be read: the depth is not a list of numbers")
        if style is not None and not isinstance(style, str):
            raise EvidenceError("its scene cannot be read: the style is not a text")
        scene = _read_scene(self.evidence)
        try:
            drawn = DrawnScene(scene, style, tuple(depth))
        except SceneError as error:
            raise EvidenceError(f"its scene cannot be read: {' '.join(str(error).split())}") from error
        return await asyncio.to_thread(judge_drawn_scene, item, drawn)


class _RecordedLayout(_Recorded):
    """A judge of published layouts that uses the recorded objects."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        scene = self.evidence.get("scene")
        objects = scene.get("objects") if isinstance(scene, Mapping) else self.evidence.get("objects", ...)
        if objects is ... or not isinstance(item.spec, FormulaSpec):
            raise EvidenceError("its evidence has no objects, which this judge always stores")
        return await judge_written_layout(item, objects)


def _read_scene(evidence: Mapping[str, Any]) -> Scene:
    if "scene" not in evidence:
        raise EvidenceError("its evidence has no scene, which this judge always stores")
    try:
        return Scene.from_json(evidence["scene"])
    except SceneError as error:
        raise EvidenceError(f"its scene cannot be read: {' '.join(str(error).split())}") from error


class RecordedModels(NamedTuple):
    """The settings and replayed models for reopening a recorded judge."""

    settings: Mapping[str, Any]  # its settings on record; from anybody, so anything may be missing or wrong
    chat: RecordedChat  # its chat model
    grounder: Grounder  # finds its objects
    asks_chat: bool  # whether it asks a chat model
    reader: TextReader  # reads its text


@dataclass(frozen=True)
class _UnseenPixels:
    """A placeholder for image pixels that are never read, with a size but no data."""

    size: tuple[int, int]

    def resize(self, size: tuple[int, int], resample: int | None = None) -> Image:
        return _create_pixel()

    def convert(self, mode: str) -> Image:
        return _create_pixel()


@cache
def _create_pixel() -> Image:
    from PIL import Image as PilImage

    return PilImage.new("RGB", (1, 1))


# --- judges


class RecordedJudge:
    """A judge that recomputes verdicts from its own recorded evidence."""

    def __init__(self, suite: str, task: str, name: str, settings: Mapping[str, Setting]) -> None:
        self._task, self._name, self._settings = task, name, settings
        # It is always asked in some version of the way.
        prompts = ("prompt", "prompt_again", "prompt_factual")
        self._asks_chat = any(key.rpartition(".")[2] in prompts for key in settings)
        self._benchmark = get_suite(suite)
        is_chat = name.partition("/")[0] in chat_model_providers()
        is_own = is_chat or name.startswith(("builtin/", DETECTORS, OCR))
        if is_chat and not self._asks_chat:
            raise UnknownJudgeError("it is a chat model, and its settings have no prompt", is_own=True)
        try:
            judge = self._open(RecordedChat(name), {}, asks_for_boxes=True)
        except (FormalimgError, KeyError, TypeError, ValueError, AttributeError) as error:
            reason = str(error) if isinstance(error, FormalimgError) else f"it lacks {error}"
            raise UnknownJudgeError(
                f"its settings are not those of a judge of {suite}: {reason}", is_own=is_own
            ) from None
        self._goes_by_boxes = getattr(judge, "goes_by_boxes", lambda item: False)
        for key, value in judge.settings.items():
            is_prompt = key.rpartition(".")[2].startswith("prompt")  # users may have their own
            if is_prompt or key == "color_reading":
                continue
            if key not in settings or settings[key] != value:
                was = f"{key} is {settings[key]!r:.40}" if key in settings else f"there is no {key}"
                reason = f"its settings are not those of a judge of {suite} in this version: {was}, not {value!r:.40}"
                raise UnknownJudgeError(reason, is_own=is_own)

    def source(self, item: Item[object]) -> RecordedSource:
        """Return whether verdicts on an item are recomputed from recorded answers or from the recorded scene."""
        if not self._asks_chat:
            return "scene"
        has_chat_boxes = "boxes" in self._settings and self._settings.get("color_reading", "grounder") == "grounder"
        return "scene" if self._goes_by_boxes(item) and not has_chat_boxes else "answers"

    async def judge(self, item: Item[object], stored: Verdict | Unscored, size: tuple[int, int]) -> Verdict | Unscored:
        goes_by_answers = self.source(item) == "answers"
        chat = RecordedChat(self._name, requests=_read_requests(item, stored) if goes_by_answers else ())
        judge = self._open(chat, stored.evidence, asks_for_boxes=goes_by_answers)
        depends_on_size = bool(self._benchmark.judge_profiles) or self._settings.get("boxes") == "pixels"
        pixels = cast("Image", _UnseenPixels(size if depends_on_size else _ANY_SIZE))
        verdict = await judge.judge(item, LoadedImage(png_bytes(_create_pixel()), pixels))
        if goes_by_answers and isinstance(verdict, Verdict) and chat.left_over:
            raise EvidenceError(
                f"{chat.left_over} of its {len(chat.requests)} raw answers are to no question of the item"
            )
        return verdict

    def _open(self, chat: RecordedChat, evidence: Mapping[str, object], *, asks_for_boxes: bool) -> Judge:
        settings: Mapping[str, Any] = self._settings
        grounder: Grounder = _RecordedGrounder(self._name, evidence)
        if self._task == "layout" or self._name == LayoutJudge.name:
            if "protocol" not in settings:
                return SceneJudge(grounder)
            return _RecordedLayout(self._name, evidence, PublishedLayoutJudge().settings)
        if self._name == DRAWN:
            from formalimg.judges.drawn_judge import DrawnJudge

            judge = self._benchmark.adapt_drawn_judge(_RecordedDrawing(self._name, evidence, DrawnJudge.settings))
            if judge is None:
                raise FormalimgError("it has no drawings")
            return judge
        if asks_for_boxes and {"boxes", "grounding_rules"} <= settings.keys() and "protocol" not in settings:
            from formalimg.judges.grounders.vlm import VlmGrounder

            colors = settings["colors"].split(", ")
            grounder = VlmGrounder(chat, requests=settings["requests"], boxes=settings["boxes"], colors=colors)
        reader_names = (settings.get(key) for key in ("reader", "questions.reader"))
        reader = _RecordedReader(str(next(filter(None, reader_names), self._name)), evidence)
        return self._benchmark.reopen_judge(RecordedModels(settings, chat, grounder, self._asks_chat, reader))


def open_local_judge(suite: str, task: str, name: str, settings: Mapping[str, Setting]) -> Judge | None:
    """Reopen a judge from its settings if it runs locally on built-in resources, else return None."""
    if name not in (ICONS, DRAWN, COCO, LayoutJudge.name) or settings.get("color_reading") == "clip":
        return None
    options = {option: str(settings[key]) for option, key in _LOCAL_OPTIONS.items() if key in settings}
    if name == COCO:
        unprefixed = {key.removeprefix("formula."): value for key, value in settings.items()}
        options |= {key: str(unprefixed[key]) for key in _COCO_OPTIONS if key in unprefixed}
    protocol = "published" if "protocol" in settings else "default"
    reason = f"its settings are not those of {name} for {suite} in this version"
    try:
        judge = open_judge(suite, name, options, "layout" if name == LayoutJudge.name else "image", protocol)
        if dict(judge.settings) == dict(settings):
            return judge
    except FormalimgError as error:
        reason = f"{reason}: {error}"
    if name == COCO:
        return None
    raise UnknownJudgeError(reason, is_own=True)


# --- evidence


def _read_requests(item: Item[object], stored: Verdict | Unscored) -> tuple[RecordedRequest, ...]:
    evidence: object = stored.evidence
    if isinstance(evidence, Mapping) and "answers" not in evidence and "grounder" in evidence:
        evidence = evidence["grounder"]
    answers = evidence.get("answers") if isinstance(evidence, Mapping) else None
    if not isinstance(answers, list) or not answers:
        raise EvidenceError("its evidence has no raw answers, which this judge always stores")
    if all(isinstance(entry, str) for entry in answers):  # all attempts at the one request of such judges
        return (RecordedRequest(tuple(answers)),)
    chances = defaultdict[str, list[float | None]](list)
    for part in stored.parts if isinstance(stored, Verdict) else ():
        chances[part.name].append(part.p_yes)
    questions = item.spec.questions if isinstance(item.spec, QuestionSpec) else ()
    denied = {question.question for question in questions if question.expected == "no"}
    return tuple(_read_request(entry, chances, denied) for entry in answers)


def _read_request(entry: object, chances: Mapping[str, list[float | None]], denied: Collection[str]) -> RecordedRequest:
    raw = entry.get("raw") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(raw, list) or not all(isinstance(text, str) for text in raw):
        raise EvidenceError("its raw answers are not texts")
    questions, expected = entry.get("asked"), entry.get("expected")
    p_yes = None
    if isinstance(questions, list) and len(questions) == 1 and chances[str(questions[0])]:
        p_yes = chances[str(questions[0])].pop(0)
        if p_yes is not None and expected is None and questions[0] in denied:  # stored is the chance of the good answer
            p_yes = 1 - p_yes
    return RecordedRequest(tuple(raw), p_yes, expected if isinstance(expected, str) else "yes")
