"""Chat models, grounders and drawings that say again what is on record, for verdicts that are made a second time.

Judges send one request after the other to a model of concurrency 1, so recorded answers need no names: a conversation
without an answer in it is the next request, and one with an answer the next attempt at the same request.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.base import Grounding, LoadedImage, TextLine, TextReader, TextReading
from formalimg.judges.scene_judge import judge_written_layout
from formalimg.models.chat import Answered, Message, Reply, Unanswered
from formalimg.models.structured_output import ParseFailure, parse_answer
from formalimg.scenes.objects import Box, SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Item, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image
    from pydantic import BaseModel

AnswerType = TypeVar("AnswerType", bound="BaseModel")


class EvidenceError(Exception):
    """Evidence that is not what such a judge stores; the message says what is wrong."""


class RecordedRequest(NamedTuple):
    """One request on record."""

    attempts: tuple[str, ...]  # the answers, word for word, to the request and to what was said after an invalid answer
    p_yes: float | None = None  # the probability of yes; None if it is not on record
    expected: str = "yes"  # the answer that is good, where the request has such a thing


@dataclass
class RecordedChat:
    """A chat model that gives recorded answers, read as every answer is."""

    name: str
    requests: Sequence[RecordedRequest] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1
    _request: int = -1
    _attempt: int = 0

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        """Return the next recorded answer; `Unanswered` where there is none."""
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
        p_yes = request.p_yes
        first_tokens = {} if p_yes is None else {request.expected: p_yes}
        return Answered(value, raw, p_yes=p_yes, first_tokens=first_tokens)

    @property
    def left_over(self) -> int:
        """How many requests on record were not sent."""
        return len(self.requests) - 1 - self._request


@dataclass(frozen=True)
class RecordedGrounder:
    """A grounder that finds what is on record, in whatever image."""

    name: str
    grounding: Grounding | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Return the recorded scene."""
        if self.grounding is None:
            raise EvidenceError("its evidence has no scene, which this judge always stores")
        return self.grounding


@dataclass(frozen=True)
class RecordedDrawing:
    """A judge of drawings that goes by the scene on record."""

    name: str
    drawn: DrawnScene | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge the recorded scene."""
        from formalimg.judges.drawn_judge import judge_drawn_scene  # here, because it comes with what reads drawings

        if self.drawn is None:
            raise EvidenceError("its evidence has no scene, which this judge always stores")
        return await asyncio.to_thread(judge_drawn_scene, item, self.drawn)


@dataclass(frozen=True)
class RecordedLayout:
    """A judge of published layouts that goes by the objects on record."""

    name: str
    evidence: Mapping[str, Any]
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"protocol": "published", "protocol_rules": 1})
    concurrency: int = 1

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge the recorded objects."""
        scene = self.evidence.get("scene")
        objects = scene.get("objects") if isinstance(scene, Mapping) else self.evidence.get("objects", ...)
        if objects is ... or not isinstance(item.spec, FormulaSpec):
            raise EvidenceError("its evidence has no objects, which this judge always stores")
        return await judge_written_layout(item, objects)


@dataclass(frozen=True)
class RecordedReader:
    """A text reader that reads what is on record, in whatever image."""

    name: str
    reading: TextReading | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 1

    async def read(self, image: LoadedImage) -> TextReading | Unscored:
        """Return the recorded text."""
        if self.reading is None:
            raise EvidenceError("its evidence has no text, which this judge always stores")
        return self.reading


class RecordedModels(NamedTuple):
    """What a judge that is opened again goes by, in the places of its models."""

    settings: Mapping[str, Any]  # its settings on record; from anybody, so anything may be missing or wrong
    chat: RecordedChat  # its chat model
    grounder: Grounder  # finds its objects
    asks_chat: bool  # whether it asks a chat model
    reader: TextReader  # reads its text


@dataclass(frozen=True)
class UnseenPixels:
    """The pixels of an image that nobody looks at: whatever its size, it takes no memory, and no time to encode."""

    size: tuple[int, int]

    def resize(self, size: tuple[int, int], resample: int | None = None) -> Image:
        """Return a pixel in the place of an image of another size."""
        return _pixel()

    def convert(self, mode: str) -> Image:
        """Return a pixel in the place of an image in another mode."""
        return _pixel()


def unseen_image(size: tuple[int, int]) -> LoadedImage:
    """Return an image in the place of one that need not be looked at, and whose size matters."""
    from formalimg._util.images import png_bytes

    return LoadedImage(png_bytes(_pixel()), cast("Image", UnseenPixels(size)))


@cache
def _pixel() -> Image:
    from PIL import Image as Images

    return Images.new("RGB", (1, 1))


def recorded_requests(item: Item[object], stored: Verdict | Unscored) -> tuple[RecordedRequest, ...]:
    """Return the requests of a verdict with their raw answers, in the order in which they were sent."""
    seen: object = stored.evidence
    if isinstance(seen, Mapping) and "answers" not in seen and "grounder" in seen:
        seen = seen["grounder"]
    listed = seen.get("answers") if isinstance(seen, Mapping) else None
    if not isinstance(listed, list) or not listed:
        raise EvidenceError("its evidence has no raw answers, which this judge always stores")
    if all(isinstance(entry, str) for entry in listed):  # all attempts at the one request of such judges
        return (RecordedRequest(tuple(listed)),)
    chances = defaultdict[str, list[float | None]](list)
    for part in stored.parts if isinstance(stored, Verdict) else ():
        chances[part.name].append(part.p_yes)
    questions = item.spec.questions if isinstance(item.spec, QuestionSpec) else ()
    denied = {question.question for question in questions if question.expected == "no"}
    return tuple(_request(entry, chances, denied) for entry in listed)


def _request(entry: object, chances: Mapping[str, list[float | None]], denied: Collection[str]) -> RecordedRequest:
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


def recorded_grounding(evidence: Mapping[str, object]) -> Grounding | None:
    """Return what a grounder found by the evidence of a verdict; None if there is no scene."""
    if "scene" not in evidence:
        return None
    confidence, more = evidence.get("confidence", 1.0), evidence.get("grounder", {})
    if not isinstance(confidence, int | float) or not isinstance(more, Mapping):
        raise EvidenceError("its scene cannot be read")
    return Grounding(_scene(evidence), float(confidence), more)


def recorded_reading(evidence: Mapping[str, object]) -> TextReading | None:
    """Return what a text reader read by the evidence of a verdict; None if there is no text."""
    beside = evidence.get("by_reader")
    seen: Mapping[str, Any] = beside if isinstance(beside, Mapping) else evidence
    if "text" not in seen:
        return None
    try:
        lines = [TextLine(str(one["text"]), Box(*map(float, one["box"])), one["confidence"]) for one in seen["text"]]
    except (TypeError, ValueError, KeyError):
        raise EvidenceError("its text cannot be read") from None
    served = seen.get("served")
    return TextReading(tuple(lines), {"served": served} if served is not None else {})


def recorded_drawing(evidence: Mapping[str, object]) -> DrawnScene | None:
    """Return the drawn scene in the evidence of a verdict; None if there is none."""
    if "scene" not in evidence or "depth" not in evidence:
        return None
    depth, style = evidence["depth"], evidence.get("style")
    if not isinstance(depth, list) or not all(type(number) is int for number in depth):
        raise EvidenceError("its scene cannot be read: the depth is not a list of numbers")
    if style is not None and not isinstance(style, str):
        raise EvidenceError("its scene cannot be read: the style is not a text")
    try:
        return DrawnScene(_scene(evidence), style, tuple(depth))
    except SceneError as error:
        raise EvidenceError(f"its scene cannot be read: {' '.join(str(error).split())}") from error


def _scene(evidence: Mapping[str, object]) -> Scene:
    try:
        return Scene.from_json(evidence["scene"])
    except SceneError as error:
        raise EvidenceError(f"its scene cannot be read: {' '.join(str(error).split())}") from error
