"""Raw answers, read as the published scripts read them.

What they take for an answer is taken for one here, and what makes them ask again is a `ValueError` here. Everything
takes linear time, whatever the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeAlias

from formalimg.models import TextAnswer, json_or_literal

ScoreFamily: TypeAlias = Literal["gemini", "qwen"]
"""Which of the two published scorers of CF-World reads an answer: they differ in what they forgive."""

_FENCE = "```"
_FENCED_OBJECT = re.compile(r"```(?:json)?\s*(?=\{)")
_END_OF_OBJECT = re.compile(r"\}(?=\s*```)")
_FIRST_WORD = re.compile(r"\W*yes\b", re.IGNORECASE)


class ObjectsAnswer(TextAnswer):
    """FormalImg Knolling: what was seen of one class, entry by entry, as it was written.

    Attributes:
        objects: the entries; anything that JSON can hold.
    """

    objects: list[Any]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the text inside the first fence, or all of it, as JSON."""
        for fence in ("```json", "```"):
            if fence in text:
                text = text.split(fence)[1].split("```")[0]
                break
        answer = _json(text.strip())
        if not isinstance(answer, dict):
            raise ValueError("it is not a JSON object")
        objects = answer.get("objects", [])
        if not isinstance(objects, list | str | dict):
            raise ValueError(f'"objects" is {type(objects).__name__}, not a list')
        return cls(objects=list(objects))  # of a text its letters, which are no objects: the image fails


class ConstraintAnswer(TextAnswer):
    """FormalImg Natural: the verdict, and the clauses that hold.

    Attributes:
        fields: the object as it was written.
    """

    json_object = True

    fields: dict[Any, Any]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read the first fenced object, or what stands from the first to the last brace: JSON, or a Python literal."""
        value = json_or_literal(_object_in(text))
        if not isinstance(value, dict) or not value:
            raise ValueError("it is not an object with a verdict")
        return cls(fields=value)

    def passed(self, *, as_code: bool) -> bool:
        """Return the verdict.

        Args:
            as_code: whether any value that Python takes for true passes, the word "false" included.
        """
        given = self.fields.get("satisfies_constraint", False)
        if not as_code and isinstance(given, str) and given.strip().lower() == "false":
            return False
        return bool(given)

    @property
    def clauses(self) -> list[str]:
        """The clauses that hold, as they were written; none if that is not a list."""
        listed = self.fields.get("satisfied_clauses")
        return [clause for clause in listed if isinstance(clause, str)] if isinstance(listed, list | tuple) else []


class WordAnswer(TextAnswer):
    """ConceptMix: one word, or whatever was said in its place.

    Attributes:
        text: all of it.
    """

    text: str

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Take the text as it is."""
        return cls(text=text)

    def is_yes(self, *, as_code: bool) -> bool:
        """Return whether it says yes; anything else is a no.

        Args:
            as_code: whether "Yes", in this case, may stand anywhere in it; otherwise it is the first word, in any case.
        """
        return "Yes" in self.text if as_code else _FIRST_WORD.match(self.text) is not None


class ScoreSheet(TextAnswer):
    """CF-World: an object with an entry for each question, by its number.

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
        text = "\n".join(map(_without_fence, text.split("\n")))
        value: object = None
        for written in _bracketed(text)[: 1 if cls.family == "gemini" else 2]:
            try:
                value = _json(written)
            except ValueError:
                continue
            break
        if not isinstance(value, dict) or not value:
            raise ValueError("there is no JSON object with scores in it")
        found = [cls._score(value, number) for number in range(1, cls.count + 1)]
        return cls(scores=[score for score, _ in found], reasons=[reason for _, reason in found])

    @classmethod
    def _score(cls, answer: Mapping[str, Any], number: int) -> tuple[float, str]:
        entry = answer.get(str(number)) or answer.get(f"Question ID {number}", {})
        score, reasoning = _gemini_score(entry) if cls.family == "gemini" else _qwen_score(entry)
        if not 0 <= score <= 1:
            raise ValueError(f"the score of question {number} is {score:g}, which is no number from 0 to 1")
        return abs(score), reasoning  # -0.0 is 0


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
            entry = _json(entry)
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


def _without_fence(line: str) -> str:
    if line.startswith(_FENCE):
        line = line.removeprefix(_FENCE).removeprefix("json")
    return line.removesuffix(_FENCE)


def _object_in(text: str) -> str:
    start = _FENCED_OBJECT.search(text)
    end = _END_OF_OBJECT.search(text, start.end()) if start else None
    if start and end:
        return text[start.end() : end.end()]
    first, last = text.find("{"), text.rfind("}")
    if first == -1 or last <= first:
        raise ValueError("there is no JSON object in it")
    return text[first : last + 1]


def _bracketed(text: str) -> Sequence[str]:
    """Return what may be the answer, in the order in which it is tried."""
    spans = [(text.find(opening), text.rfind(closing)) for opening, closing in ("{}", "[]")]
    found = sorted(span for span in spans if -1 < span[0] < span[1])
    # A bracket in the words before an object hides it from the first try; the second looks for an object only.
    tries = dict.fromkeys([*found[:1], *(span for span in spans[:1] if span in found)])
    return [text[start : end + 1] for start, end in tries]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
