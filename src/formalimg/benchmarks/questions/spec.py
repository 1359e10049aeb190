"""Specs of question items: a question graph, or the formula parsed from a prompt.

A question may have parents: other questions without whose expected answer it makes no sense. Whether the cup is red is
asked only of an image that shows a cup. A question whose parent failed counts as failed. Benchmarks differ in what that
means (`Zeroing`), so an item says which rule is its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from formalimg.benchmarks.formal.spec import FormulaSpec

ExpectedAnswer: TypeAlias = Literal[
    "yes", "no", "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"
]
"""The answer that is good: yes or no, or a number where a question asks how many."""

COUNT_WORDS: tuple[str, ...] = get_args(ExpectedAnswer)[2:]  # The numbers that can be expected, in order from zero
Zeroing: TypeAlias = Literal["transitive", "direct"]
"""Which parents fail a question: those that failed or count as failed themselves, as in DPG, so that one missing object
fails all that follows from it; or those whose own answer is not the expected one, as in DSG and OneIG."""

MAX_QUESTIONS = 30
"""The most questions that a prompt is taken apart into: each is paid for, and a longer list is a slip."""

MAX_GRAPH_QUESTIONS = 200  # The most questions of one item: published graphs are longer than what we would write
MAX_QUESTION_LENGTH = 12_000  # The most characters of a question: one may ask for a whole prompt
MAX_WEIGHT = 1_000.0

QUESTION_CATEGORIES = ("object", "attribute", "count", "relation", "action", "text", "style", "other", "whole")
"""The categories that questions of ours have, in the order in which they are listed; others are allowed."""


@dataclass(frozen=True)
class GraphQuestion:
    """A question about an image, answered by yes, no or a number.

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
    """The questions of an item, or a formula in their place.

    Attributes:
        questions: the questions; beside a formula, those for the words of the prompt that it leaves out.
        formula: the formula that the prompt was read as; None if there is none.
        vocabulary: the name of the formula's vocabulary; empty without a formula.
        zeroing: which parents fail a question.
        no_formula: why the prompt is not read as a formula, where one was asked for.
    """

    questions: tuple[GraphQuestion, ...] = ()
    formula: FormulaSpec | None = None
    vocabulary: str = ""
    zeroing: Zeroing = "transitive"
    no_formula: str = ""

    @property
    def left_over(self) -> str:
        """The parts of the prompt not covered by the formula, or an empty string."""
        return "; ".join(question.id for question in self.questions) if self.formula is not None else ""

    @property
    def text(self) -> str:
        """The text of the formula, or an empty string without a formula."""
        return "" if self.formula is None else self.formula.text

    def with_zeroing(self, zeroing: Zeroing) -> QuestionSpec:
        """Return the spec with another zeroing rule; for transitive zeroing, cyclic dependencies are removed."""
        questions = without_circles(self.questions) if zeroing == "transitive" else self.questions
        return replace(self, questions=questions, zeroing=zeroing)

    def failed_parents(self, met: Mapping[str, bool]) -> dict[str, str]:
        """Map each question that fails because of a parent to that parent.

        Args:
            met: whether the answer to each question is the expected one. A question that was not asked may be missing:
                under transitive zeroing none is asked whose parent failed.
        """
        by_id = {question.id: question for question in self.questions}
        failed_by: dict[str, str | None] = {}

        def failing(question: GraphQuestion) -> str | None:
            if question.id not in failed_by:
                failed_by[question.id] = next(filter(has_failed, question.parents), None)
            return failed_by[question.id]

        def has_failed(parent: str) -> bool:
            failed = not met.get(parent, False)
            return failed or (self.zeroing == "transitive" and failing(by_id[parent]) is not None)

        return {question.id: parent for question in self.questions if (parent := failing(question)) is not None}


def whole_question(prompt: str) -> tuple[GraphQuestion, ...]:
    """Return a single question about the whole prompt."""
    return (GraphQuestion("1", f"Does the image show: {' '.join(prompt.split())}", category="whole"),)


def unread_question(words: str, prompt: str) -> GraphQuestion:
    """Return a question about words that the formula does not cover, with the words as its id."""
    return GraphQuestion(words, f"Does the image show “{words}”, as in “{' '.join(prompt.split())}”?")


def text_questions(texts: Iterable[str]) -> tuple[GraphQuestion, ...]:
    """Return one question for each string that must appear as text in the image."""
    return tuple(
        GraphQuestion(str(number), f'Does the image show the text "{text.replace(chr(34), chr(39))}"?', category="text")
        for number, text in enumerate(texts, 1)
    )


def find_graph_problem(
    questions: Sequence[GraphQuestion], *, most: int = MAX_QUESTIONS, zeroing: Zeroing = "transitive"
) -> str | None:
    """Return a one-sentence description of the first problem with the questions, or None.

    There must be 1 to `most` of them, each with words and an id of its own, and their parents must exist. Under
    transitive zeroing they may lead in no circle.
    """
    if not questions:
        return "there are no questions"
    if len(questions) > most:
        return f"there are {len(questions)} questions, and {most} are the most"
    ids = [question.id for question in questions]
    twice = next((name for index, name in enumerate(ids) if name in ids[:index]), None)
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
    circle = [] if zeroing == "direct" else _in_circles({question.id: question.parents for question in questions})
    return f"the question {circle[0][:40]!r} depends on itself, through its parents" if circle else None


def without_circles(questions: Sequence[GraphQuestion]) -> tuple[GraphQuestion, ...]:
    """Return the questions without parents that are part of, or depend on, a cycle."""
    circle = set(_in_circles({question.id: question.parents for question in questions}))
    return tuple(
        replace(question, parents=tuple(parent for parent in question.parents if parent not in circle))
        if question.id in circle
        else question
        for question in questions
    )


def _in_circles(parents: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the questions on or downstream of a dependency cycle."""
    remaining = {name: set(above) for name, above in parents.items()}
    while free := [name for name, above in remaining.items() if not above]:
        for name in free:
            del remaining[name]
        for above in remaining.values():
            above.difference_update(free)
    return list(remaining)
