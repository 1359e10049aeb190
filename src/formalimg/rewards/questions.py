"""Questions of one's own, as items that judges understand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from formalimg.errors import FormalimgError
from formalimg.rewards.weights import QUESTION, checked_weights
from formalimg.suites import (
    CATEGORIES,
    DIMENSIONS,
    AskedConcept,
    Category,
    ConceptSpec,
    CounterfactualSpec,
    Dimension,
    Item,
    WeightedQuestion,
)

MOST_QUESTIONS = 64
"""More are a mistake: each may cost a request."""

_KEYS = ("question", "kind", "weight", "criteria")


class Questions(NamedTuple):
    """Questions as an item, and what each counts; None if the item itself says so."""

    item: Item[Any]
    weights: tuple[float, ...] | None


class _Question(NamedTuple):
    question: str
    kind: str | None
    weight: float
    criteria: str | None


def questions_in(given: Mapping[str, Any]) -> Questions:
    """The item that words and questions make: yes or no as in ConceptMix, or, with criteria, scores as in CF-World.

    Raises:
        FormalimgError: if they make none.
    """
    words, entries = given.get("words", ""), given["questions"]
    if not isinstance(words, str):
        raise FormalimgError("words must be a text")
    if not isinstance(entries, list | tuple) or not 0 < len(entries) <= MOST_QUESTIONS:
        raise FormalimgError(f"questions must be a list of 1 to {MOST_QUESTIONS}")
    asked = [_question(entry, number) for number, entry in enumerate(entries, 1)]
    with_criteria = [question for question in asked if question.criteria is not None]
    if with_criteria and len(with_criteria) < len(asked):
        raise FormalimgError("give criteria to all questions, for scores, or to none of them, for yes and no")
    return _scores(words, asked) if with_criteria else _yes_or_no(words, asked)


def _question(entry: object, number: int) -> _Question:
    found: Mapping[object, object] = {"question": entry} if isinstance(entry, str) else _object(entry, number)
    strange = next((key for key in found if key not in _KEYS), None)
    if strange is not None:
        raise FormalimgError(f"question {number}: {str(strange)[:40]!r} is not known: known are {', '.join(_KEYS)}")
    text, kind, weight, criteria = (found.get(key) for key in _KEYS)
    if not isinstance(text, str) or not text.strip():
        raise FormalimgError(f"question {number} has no words")
    if criteria is not None and not (isinstance(criteria, str) and criteria.strip()):
        raise FormalimgError(f"question {number}: criteria must be a text that says which score is for what")
    known = CATEGORIES if criteria is None else DIMENSIONS
    if kind is not None and kind not in known:
        raise FormalimgError(f"question {number}: kind must be one of {', '.join(known)}")
    counted = checked_weights({QUESTION: 1.0 if weight is None else weight})[QUESTION]  # type: ignore[dict-item]
    return _Question(text, cast("str | None", kind), counted, criteria)


def _object(entry: object, number: int) -> Mapping[object, object]:
    if not isinstance(entry, Mapping):
        raise FormalimgError(f"question {number} must be a text, or an object with {', '.join(_KEYS)}")
    return entry


def _yes_or_no(words: str, asked: list[_Question]) -> Questions:
    # Judges hand the category on as the kind of a part, and do nothing else with it.
    concepts = tuple(
        AskedConcept(cast(Category, question.kind or QUESTION), "", "", question.question) for question in asked
    )
    return Questions(
        Item("conceptmix", "questions", max(1, len(asked) - 1), words, ConceptSpec(concepts)),
        tuple(question.weight for question in asked),
    )


def _scores(words: str, asked: list[_Question]) -> Questions:
    # Questions of one dimension share its weight; those that name none are each a dimension of their own.
    questions = tuple(
        WeightedQuestion(
            cast(Dimension, question.kind or f"{QUESTION} {number}"),
            question.question,
            question.criteria or "",
            question.weight,
        )
        for number, question in enumerate(asked, 1)
    )
    return Questions(Item("cf-world", "questions", 1, words, CounterfactualSpec("", "", questions)), None)
