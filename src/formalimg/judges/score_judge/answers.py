"""The forms in which a chat model gives scores, and what counts as a score; servers are held to them.

Schemas ask for numbers, so servers that can be held to one give nothing else. Others may write anything, so the types
take anything, and whoever asked is told what is wrong with it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, RootModel, WithJsonSchema

from formalimg._util.text import truncate

AnyScore: TypeAlias = Annotated[object, WithJsonSchema({"type": "number"})]

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")
"""A number in quotes is one if it is written so, and with nothing around it."""


class GivenScore(BaseModel):
    """Why, then the score."""

    model_config = ConfigDict(strict=True)

    reasoning: str
    score: AnyScore


class NumberedScore(BaseModel):
    """The number of a question, why, then the score."""

    model_config = ConfigDict(strict=True)

    number: int
    reasoning: str
    score: AnyScore


class NumberedScores(BaseModel):
    """All questions in their order."""

    model_config = ConfigDict(strict=True)

    answers: list[NumberedScore]


class PublishedScores(RootModel[dict[str, GivenScore]]):
    """The published form: an object whose names are the numbers of the questions."""

    model_config = ConfigDict(strict=True)


Scores: TypeAlias = NumberedScores | PublishedScores


class Finding(NamedTuple):
    """What was answered to a question: the score, and why."""

    score: float
    reasoning: str


@cache
def published_scores(count: int) -> type[PublishedScores]:
    """The published form of an answer to so many questions: servers are held to exactly their numbers."""

    def schema_of_numbers(schema: dict[str, Any]) -> None:
        entry = GivenScore.model_json_schema()
        numbers = map(str, range(1, count + 1))
        schema.clear()
        schema.update(type="object", properties=dict.fromkeys(numbers, entry))

    class Numbered(PublishedScores):
        model_config = ConfigDict(json_schema_extra=schema_of_numbers)

    return Numbered


def score_of(given: object) -> float | None:
    """The score in what was given: a number from 0 to 1, also in quotes.

    None for all else, such as `1/2`, `50%`, `high`, 5, true or nothing.
    """
    if isinstance(given, str) and _DECIMAL.fullmatch(given):
        given = float(given)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return abs(float(given)) if 0 <= given <= 1 else None  # -0.0 is a number from 0 to 1 too, and is 0


def problem_with(answer: Scores, count: int) -> str | None:
    """Why an answer to so many questions cannot be used, in words for whoever gave it; None if it can."""
    wanted = [str(number) for number in range(1, count + 1)]
    entries = _entries(answer)
    numbers = [number for number, _ in entries]
    if numbers != wanted:
        told = truncate(", ".join(numbers[:20]), 120, 20) + (" …" if len(numbers) > 20 else "")
        return f"it must answer the questions 1 to {count}, each once and in this order, but it has {told or 'none'}"
    wrong = next(((number, one.score) for number, one in entries if score_of(one.score) is None), None)
    if wrong is None:
        return None
    return f"the score of question {wrong[0]} is {_quoted(wrong[1])}, which is no number from 0 to 1"


def findings_of(answer: Scores) -> tuple[Finding, ...]:
    """What was answered to each question, in their order, by an answer without a problem."""
    scored = [(score_of(one.score), one.reasoning) for _, one in _entries(answer)]
    return tuple(Finding(score, reasoning) for score, reasoning in scored if score is not None)


def _entries(answer: Scores) -> list[tuple[str, GivenScore | NumberedScore]]:
    if isinstance(answer, PublishedScores):
        # The names of an object have no order: 1 to 9 come before 10.
        return sorted(answer.root.items(), key=lambda entry: (len(entry[0]), entry[0]))
    return [(str(one.number), one) for one in answer.answers]


def _quoted(score: object) -> str:
    return truncate(" ".join(json.dumps(score, ensure_ascii=False).split()), 80, 20)
