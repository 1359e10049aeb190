"""A chat model as judge under the published protocol of CF-World, with scores on weighted questions.

An answer is accepted if the published scorers accept it, and raises `ValueError` where they would ask again. Parsing
takes linear time for any text.
"""

from __future__ import annotations

import asyncio
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias

from formalimg.benchmarks.cfworld.items import pair_objects
from formalimg.benchmarks.cfworld.judge import (
    ImageKind,
    Persona,
    askable_questions,
    count_requests,
    image_kind,
    is_passing,
    part_evidence,
    score_evidence,
    score_parts,
    select_persona,
)
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, WeightedQuestion
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import (
    Followed,
    NoValidAnswer,
    PublishedJudge,
    attach_image,
    parse_json,
    system_and_user,
)
from formalimg.models.base import Attachment, Message
from formalimg.models.structured_output import TextAnswer
from formalimg.types import ChatModel, Item, Setting, Unscored, Verdict

ScoreFamily: TypeAlias = Literal["gemini", "qwen"]  # The published scorers differ in what they forgive
FAMILIES: Mapping[Persona, ScoreFamily] = {"standard": "gemini", "strict": "qwen"}
_FENCE = "```"
_MAX_SIDE = 1024
_QUALITY = 85


class ScoreSheet(TextAnswer):
    """An object with an entry for each question, by its number.

    Attributes:
        family: which of the published scorers reads it.
        count: the number of questions.
        scores: the score of each question, in order; one that the answer leaves out has a 0.
        reasons: why, as far as the answer says it.
    """

    family: ClassVar[ScoreFamily]
    count: ClassVar[int]

    scores: list[float]
    reasons: list[str]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the JSON object between the first and the last brace of an answer."""
        value = _parse_object(text, cls.family)
        scored = [cls._score(value, number) for number in range(1, cls.count + 1)]
        return cls(scores=[score for score, _ in scored], reasons=[reason for _, reason in scored])

    @classmethod
    def _score(cls, answer: Mapping[str, Any], number: int) -> tuple[float, str]:
        entry = answer.get(str(number)) or answer.get(f"Question ID {number}", {})
        score, reasoning = _gemini_score(entry) if cls.family == "gemini" else _qwen_score(entry)
        if not 0 <= score <= 1:
            raise ValueError(f"the score of question {number} is {score:g}, which is no number from 0 to 1")
        return abs(score), reasoning  # -0.0 is 0


class PairScore(ScoreSheet):
    """An object with one score, for a pair of objects: the published scorer of pairs asks no numbered questions."""

    family = "qwen"
    count = 1

    @classmethod
    def _score(cls, answer: Mapping[str, Any], number: int) -> tuple[float, str]:
        score = _parse_number(answer.get("score", 0.0))
        if not 0 <= score <= 1:
            raise ValueError(f"the score is {score:g}, which is no number from 0 to 1")
        return abs(score), _read_reasoning(answer)


@cache
def score_sheet(family: ScoreFamily, count: int) -> type[ScoreSheet]:
    """Return the type of answers to `count` questions, parsed like the published scorer of a model family."""
    return type("ScoreSheet", (ScoreSheet,), {"family": family, "count": count, "__module__": __name__})


def _gemini_score(entry: Any) -> tuple[float, str]:
    if not isinstance(entry, dict):
        raise ValueError(f"an entry is {type(entry).__name__}, not an object")
    return _parse_number(entry.get("score", 0.0)), _read_reasoning(entry)


def _qwen_score(entry: Any) -> tuple[float, str]:
    if isinstance(entry, str):
        try:
            entry = parse_json(entry)
        except ValueError:
            return 0.0, str(entry)
    fields: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
    value = fields.get("score", 0.0)
    if isinstance(value, dict):
        return _parse_number(value.get("score", 0.0)), _read_reasoning({**fields, **value})
    try:
        return _parse_number(value), _read_reasoning(fields)
    except ValueError:
        return 0.0, _read_reasoning(fields)


def _parse_number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # what has no number is refused below
    except TypeError:
        raise ValueError(f"a score is {type(value).__name__}, not a number") from None
    except OverflowError:
        return math.inf


def _read_reasoning(fields: Mapping[str, Any]) -> str:
    text = fields.get("reasoning", "")
    return text if isinstance(text, str) else ""


def _parse_object(text: str, family: ScoreFamily) -> Mapping[str, Any]:
    lines = (
        line.removeprefix(_FENCE).removeprefix("json") if line.startswith(_FENCE) else line for line in text.split("\n")
    )
    text = "\n".join(line.removesuffix(_FENCE) for line in lines)
    brackets = [(text.find(opening), text.rfind(closing)) for opening, closing in ("{}", "[]")]
    spans = sorted(span for span in brackets if -1 < span[0] < span[1])
    # A bracket in the words before an object hides it from the first try; the second looks for an object only.
    tries = list(dict.fromkeys([*spans[:1], *(span for span in brackets[:1] if span in spans)]))
    value: object = None
    for start, end in tries[: 1 if family == "gemini" else 2]:
        try:
            value = parse_json(text[start : end + 1])
        except ValueError:
            continue
        break
    if not isinstance(value, dict) or not value:
        raise ValueError("there is no JSON object with scores in it")
    return value


class PublishedScoreJudge(PublishedJudge):
    """The published judge of CF-World: asks all questions in one request, and expects a score for each.

    Pairs of objects are judged by name, with a single score. For Gemini the text comes first, and the image is sent as
    JPEG with at most 1024 pixels per side; for Qwen the unchanged image comes first. As in the published code, a
    question that the answer omits scores 0. The evidence is that of `ScoreJudge`.
    """

    prompt_folder = Path(__file__).parent / "prompts" / "published"
    # Questions are headed as in the scorer of each family, and pairs are asked about by name.
    rules: ClassVar[Mapping[str, Setting]] = {"protocol_rules": 2}

    def __init__(
        self, chat: ChatModel, protocol: Followed = "official-code", prompts: Path | None = None, persona: str = "auto"
    ) -> None:
        self._persona = select_persona(chat.name, persona)
        self._family = FAMILIES[self._persona]
        names = {
            "prompt_factual": f"published-score-factual-{self._family}",
            "prompt_counterfactual": f"published-score-counterfactual-{self._family}",
            "prompt_rules": "published-score-rules",
            "prompt_attributes": "published-score-attributes",
        }
        super().__init__(chat, protocol, names, prompts, {"persona": self._persona})

    def questions(self, item: Item[object]) -> int:
        return count_requests(item)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        questions = askable_questions(item)
        if isinstance(questions, Unscored):
            return questions
        kind = image_kind(item.suite, item.level)
        prompt = self._prompts[f"prompt_{kind}"]
        values = self._values(kind, item, questions)
        if values is None:
            return Unscored("not understood", f"item {item.id} of {item.suite} does not name two objects")
        messages = await self._messages(*system_and_user(prompt, values), image)
        sheet: type[ScoreSheet] = PairScore if kind == "attributes" else score_sheet(self._family, len(questions))
        reply = await self._ask(messages, sheet)
        raw = reply.raw if isinstance(reply, NoValidAnswer) else [reply.raw]
        evidence = score_evidence(self._persona, kind, str(prompt), questions, raw)
        if isinstance(reply, NoValidAnswer):
            return Unscored(reply.reason, reply.detail, evidence, reply.cost)
        # Stored with the weights of the paper, as by every judge: `report --profile official-code` gives each question
        # its full weight again.
        parts = score_parts(questions, list(zip(reply.value.scores, reply.value.reasons, strict=True)))
        evidence |= {"served": dict(reply.served), "scores": part_evidence(parts)}
        counted = parts
        if self.as_code:
            counted = tuple(
                replace(part, weight=question.weight) for question, part in zip(questions, parts, strict=True)
            )
        return Verdict(is_passing(counted), parts, evidence, reply.cost)

    def _values(
        self, kind: ImageKind, item: Item[object], questions: Sequence[WeightedQuestion]
    ) -> dict[str, str] | None:
        if kind != "attributes":
            return {"questions": _list_questions(questions, "qwen" if kind == "rules" else self._family)}
        assert isinstance(item.spec, CounterfactualSpec)
        objects = pair_objects(item.spec, item.prompt)
        return None if objects is None else {"prompt": item.prompt, "a": objects[0], "b": objects[1]}

    async def _messages(self, system: str, user: str, image: LoadedImage) -> list[Message]:
        if self._family == "gemini":
            jpeg = await asyncio.to_thread(_as_jpeg, image)
            label = self._label(self._prompts["prompt_factual"], "image/png")
            parts: tuple[str | Attachment, ...] = (user, replace(jpeg, media_type=label or jpeg.media_type))
        else:
            parts = (await attach_image(image), user)
        return [Message("system", (system,)), Message("user", parts)] if system else [Message("user", parts)]


def _list_questions(questions: Sequence[WeightedQuestion], family: ScoreFamily) -> str:
    heading = 'Question ID "{}":' if family == "gemini" else 'Question ID: "{}"'
    return "".join(
        f"\n{heading.format(number)}\nQuestion: {question.question}\nCriteria: {question.criteria}\n---"
        for number, question in enumerate(questions, 1)
    )


def _as_jpeg(image: LoadedImage) -> Attachment:
    from PIL.Image import Resampling

    pixels = image.pil.convert("RGB")
    scale = min(1.0, _MAX_SIDE / max(pixels.size))
    if scale < 1:
        width, height = (max(1, int(side * scale)) for side in pixels.size)
        pixels = pixels.resize((width, height), Resampling.LANCZOS)
    file = io.BytesIO()
    pixels.save(file, "JPEG", quality=_QUALITY)
    return Attachment(file.getvalue(), "image/jpeg")
