"""The forms in which a chat model answers questions, and what counts as a yes or a no; servers are held to them.

Schemas name the two words, so servers that can be held to one give nothing else. Others may write anything, so the
types take any word, and whoever asked is told what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from formalimg._util.text import truncate

YesOrNo: TypeAlias = Annotated[str, Field(json_schema_extra={"enum": ["yes", "no"]})]

_AROUND = r"""[\s"'`“”‘’]*"""
_ONE_WORD = re.compile(rf"{_AROUND}(yes|no){_AROUND}\.?{_AROUND}", re.IGNORECASE | re.ASCII)
"""Blanks, quotes and a full stop change nothing; anything else does."""


class QuestionAnswer(BaseModel):
    """What is seen, then yes or no."""

    model_config = ConfigDict(strict=True)

    observation: str
    answer: YesOrNo


class NumberedAnswer(BaseModel):
    """The number of a question, what is seen, then yes or no."""

    model_config = ConfigDict(strict=True)

    number: int
    observation: str
    answer: YesOrNo


class NumberedAnswers(BaseModel):
    """All questions in their order."""

    model_config = ConfigDict(strict=True)

    answers: list[NumberedAnswer]


class Finding(NamedTuple):
    """What was answered to a question: whether it was yes, and what was seen."""

    yes: bool
    observation: str


def yes_or_no(answer: str) -> bool | None:
    """Whether an answer is yes or no; None if it is neither, such as `Yes, but …`, `Not sure`, `N/A` or `oui`."""
    found = _ONE_WORD.fullmatch(answer)
    return None if found is None else found[1].lower() == "yes"


def problem_with(answer: QuestionAnswer | NumberedAnswers, count: int) -> str | None:
    """Why an answer to so many questions cannot be used, in words for whoever gave it; None if it can."""
    if isinstance(answer, QuestionAnswer):
        return None if yes_or_no(answer.answer) is not None else f"{_quoted(answer.answer)} is neither yes nor no"
    numbers = [one.number for one in answer.answers]
    if numbers != list(range(1, count + 1)):
        told = ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")
        return f"it must answer the questions 1 to {count}, each once and in this order, but it has {told or 'none'}"
    neither = next((one for one in answer.answers if yes_or_no(one.answer) is None), None)
    if neither is None:
        return None
    return f"the answer to question {neither.number} is {_quoted(neither.answer)}, which is neither yes nor no"


def findings_of(answer: QuestionAnswer | NumberedAnswers) -> tuple[Finding, ...]:
    """What was answered to each question, in their order, by an answer without a problem."""
    given = answer.answers if isinstance(answer, NumberedAnswers) else [answer]
    return tuple(Finding(yes_or_no(one.answer) is True, one.observation) for one in given)


def _quoted(answer: str) -> str:
    return f'"{truncate(" ".join(answer.split()), 80, 20)}"'
