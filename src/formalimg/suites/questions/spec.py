"""Specs of items that are judged by yes/no questions: a graph of questions, or the formula that a prompt was read as.

A question may have parents: other questions without whose expected answer it makes no sense. Whether the cup is red is
asked only of an image that shows a cup. A question whose parent failed is not asked, and counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from formalimg.suites.formula.spec import FormulaSpec

ExpectedAnswer: TypeAlias = Literal["yes", "no"]

MAX_QUESTIONS = 30
"""The most questions of one item: each is paid for, and a longer list is a slip rather than a prompt."""

MAX_QUESTION_LENGTH = 12_000
"""The most characters of a question: one may ask for a whole prompt."""

MAX_WEIGHT = 1_000.0

QUESTION_CATEGORIES = ("object", "attribute", "count", "relation", "action", "text", "style", "other", "whole")
"""The categories that questions of ours have, in the order in which they are listed; others are allowed."""


@dataclass(frozen=True)
class GraphQuestion:
    """A yes/no question about an image.

    Attributes:
        id: its name among the questions of the item.
        question: the question.
        parents: the ids of the questions that must have their expected answers before this one is asked.
        expected: the answer that is good.
        category: what it is about; the kind of its part in a verdict.
        weight: how much it counts in the score.
    """

    id: str
    question: str
    parents: tuple[str, ...] = ()
    expected: ExpectedAnswer = "yes"
    category: str = "other"
    weight: float = 1.0


@dataclass(frozen=True)
class QuestionSpec:
    """What an item asks for: the answers to questions, or a formula in their place.

    Attributes:
        questions: the questions; none if there is a formula.
        formula: the formula that the prompt was read as; None if there are questions.
        vocabulary: the name of the formula's vocabulary; empty without a formula.
    """

    questions: tuple[GraphQuestion, ...] = ()
    formula: FormulaSpec | None = None
    vocabulary: str = ""

    @property
    def text(self) -> str:
        """The formula as text; empty if there is none."""
        return "" if self.formula is None else self.formula.text


def whole_question(prompt: str) -> tuple[GraphQuestion, ...]:
    """Return the one question that asks for a prompt as a whole."""
    return (GraphQuestion("1", f"Does the image show: {' '.join(prompt.split())}", category="whole"),)


def find_graph_problem(questions: Sequence[GraphQuestion]) -> str | None:
    """Return what is wrong with a list of questions, in one sentence; None if nothing is.

    There must be 1 to `MAX_QUESTIONS` of them, each with words and an id of its own, and their parents must exist and
    lead in no circle.
    """
    if not questions:
        return "there are no questions"
    if len(questions) > MAX_QUESTIONS:
        return f"there are {len(questions)} questions, and {MAX_QUESTIONS} are the most"
    ids = [question.id for question in questions]
    twice = next((name for place, name in enumerate(ids) if name in ids[:place]), None)
    if twice is not None:
        return f"two questions have the id {twice[:40]!r}"
    for question in questions:
        if not question.id.strip() or not question.question.strip():
            return "a question has no words, or an empty id"
        if len(question.question) > MAX_QUESTION_LENGTH or len(question.id) > MAX_QUESTION_LENGTH:
            return f"the question {question.id[:40]!r} is longer than {MAX_QUESTION_LENGTH:,} characters"
        unknown = next((parent for parent in question.parents if parent not in ids), None)
        if unknown is not None:
            return f"the question {question.id[:40]!r} depends on {unknown[:40]!r}, which is not there"
    circle = _in_circle({question.id: question.parents for question in questions})
    return None if circle is None else f"the question {circle[:40]!r} depends on itself, through its parents"


def _in_circle(parents: Mapping[str, Iterable[str]]) -> str | None:
    """Return a question that its own parents lead back to; None if there is none."""
    left = {name: set(above) for name, above in parents.items()}
    while free := [name for name, above in left.items() if not above]:
        for name in free:
            del left[name]
        for above in left.values():
            above.difference_update(free)
    return next(iter(left), None)
