"""Raw answers, read as the published scorers of CF-World read them.

What they take for an answer is taken for one here, and what makes them ask again is a `ValueError` here. Everything
takes linear time, whatever the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeAlias

from formalimg.judges.published_protocol import parse_json
from formalimg.models.text_answer import TextAnswer

ScoreFamily: TypeAlias = Literal["gemini", "qwen"]
"""Which of the two published scorers reads an answer: they differ in what they forgive."""

_FENCE = "```"


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
        """Read JSON from the first brace or bracket to the last of its kind; a list is no answer."""
        value = _parse_object(text, cls.family)
        found = [cls._score(value, number) for number in range(1, cls.count + 1)]
        return cls(scores=[score for score, _ in found], reasons=[reason for _, reason in found])

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
        score = _number(answer.get("score", 0.0))
        if not 0 <= score <= 1:
            raise ValueError(f"the score is {score:g}, which is no number from 0 to 1")
        return abs(score), _reasoning(answer)


@cache
def score_sheet(family: ScoreFamily, count: int) -> type[ScoreSheet]:
    """Return the type of answers to so many questions, as the scorer of a family of models reads them."""
    return type("ScoreSheet", (ScoreSheet,), {"family": family, "count": count, "__module__": __name__})


def _gemini_score(entry: Any) -> tuple[float, str]:
    if not isinstance(entry, dict):
        raise ValueError(f"an entry is {type(entry).__name__}, not an object")
    return _number(entry.get("score", 0.0)), _reasoning(entry)


def _qwen_score(entry: Any) -> tuple[float, str]:
    if isinstance(entry, str):
        try:
            entry = parse_json(entry)
        except ValueError:
            return 0.0, str(entry)
    fields: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
    given = fields.get("score", 0.0)
    if isinstance(given, dict):
        return _number(given.get("score", 0.0)), _reasoning({**fields, **given})
    try:
        return _number(given), _reasoning(fields)
    except ValueError:
        return 0.0, _reasoning(fields)


def _number(given: object) -> float:
    try:
        return float(given)  # type: ignore[arg-type]  # what has no number is refused below
    except TypeError:
        raise ValueError(f"a score is {type(given).__name__}, not a number") from None
    except OverflowError:
        return math.inf


def _reasoning(fields: Mapping[str, Any]) -> str:
    said = fields.get("reasoning", "")
    return said if isinstance(said, str) else ""


def _parse_object(text: str, family: ScoreFamily) -> Mapping[str, Any]:
    text = "\n".join(map(_without_fence, text.split("\n")))
    value: object = None
    for written in _bracketed(text)[: 1 if family == "gemini" else 2]:
        try:
            value = parse_json(written)
        except ValueError:
            continue
        break
    if not isinstance(value, dict) or not value:
        raise ValueError("there is no JSON object with scores in it")
    return value


def _without_fence(line: str) -> str:
    if line.startswith(_FENCE):
        line = line.removeprefix(_FENCE).removeprefix("json")
    return line.removesuffix(_FENCE)


def _bracketed(text: str) -> Sequence[str]:
    """Return what may be the answer, in the order in which it is tried."""
    spans = [(text.find(opening), text.rfind(closing)) for opening, closing in ("{}", "[]")]
    found = sorted(span for span in spans if -1 < span[0] < span[1])
    # A bracket in the words before an object hides it from the first try; the second looks for an object only.
    tries = dict.fromkeys([*found[:1], *(span for span in spans[:1] if span in found)])
    return [text[start : end + 1] for start, end in tries]
