"""Specs of question items, a question graph or the formula parsed from a prompt, and their fields in records.

A question whose parent failed counts as failed: whether the cup is red only matters if the image shows a cup.
Benchmarks differ in what that means (`Zeroing`), so an item states its own rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.formal.spec import FormulaSpec, formula_problem
from formalimg.benchmarks.odd_records import NO_QUESTIONS
from formalimg.benchmarks.record import Record
from formalimg.logic.checks import check
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.vocabulary import VARIABLE, Predicate, vocabulary, vocabulary_names

ExpectedAnswer: TypeAlias = Literal[
    "yes", "no", "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"
]
"""The answer that is good: yes or no, or a number where a question asks how many."""

COUNT_WORDS: tuple[str, ...] = get_args(ExpectedAnswer)[2:]  # The numbers that can be expected, in order from zero
Zeroing: TypeAlias = Literal["transitive", "direct"]
"""Which parents fail a question: those that failed or count as failed themselves, as in DPG, so that one missing object
fails all that follows from it; or those whose own answer is not the expected one, as in DSG and OneIG."""

MAX_QUESTIONS = 30
"""The most questions that a prompt is split into: each is paid for, and a longer list is a mistake."""

MAX_GRAPH_QUESTIONS = 200  # The most questions of one item: published graphs are longer than what we would write
MAX_QUESTION_LENGTH = 12_000  # The most characters of a question: one may ask for a whole prompt
MAX_WEIGHT = 1_000.0

QUESTION_CATEGORIES = ("object", "attribute", "count", "relation", "action", "text", "style", "other", "whole")
"""The categories that questions of ours have, in the order in which they are listed; others are allowed."""


@dataclass(frozen=True)
class GraphQuestion:
    """A question about an image, answered by yes, no or a number."""

    id: str  # unique within the item
    question: str
    parents: tuple[str, ...] = ()  # ids of the questions that must have their expected answers before this one is asked
    expected: ExpectedAnswer = "yes"  # the answer that is good
    category: str = "other"  # what it is about; the kind of its part in a verdict
    weight: float = 1.0  # how much it counts in the score


@dataclass(frozen=True)
class QuestionSpec:
    """The questions of an item, or a formula in their place."""

    questions: tuple[GraphQuestion, ...] = ()  # beside a formula, those for the words of the prompt that it leaves out
    formula: FormulaSpec | None = None  # the formula that the prompt was read as
    vocabulary: str = ""  # the name of the formula's vocabulary; empty without a formula
    zeroing: Zeroing = "transitive"  # which parents fail a question
    no_formula: str = ""  # why the prompt is not read as a formula, where one was requested

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
        """Map each question that fails because of a parent to it; `met` may lack questions that were not asked."""
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
    questions: Sequence[GraphQuestion], *, maximum: int = MAX_QUESTIONS, zeroing: Zeroing = "transitive"
) -> str | None:
    """Return a one-sentence description of the first problem with the questions, or None."""
    if not questions:
        return "there are no questions"
    if len(questions) > maximum:
        return f"there are {len(questions)} questions, and {maximum} are the most"
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


# --- fields in records: `questions` is a list of objects with the fields of `GraphQuestion`, or a formula has `dsl` and
# `vocabulary` beside it; `zeroing` only if it is `direct`; `no_formula`

NEEDED: tuple[str, ...] = ("questions",)
OPTIONAL: tuple[str, ...] = ("dsl", "vocabulary", "zeroing", "no_formula")
PROOF: tuple[str, ...] = ()
SPEC: type = QuestionSpec

_FORMULA = ("dsl", "vocabulary")
_UNDER = Predicate("Under", (VARIABLE, VARIABLE), "the first is underneath the second")
_TEXTS = ("id", "question", "expected", "category")
_FIELDS = {*_TEXTS, "parents", "weight"}


def fields_of(spec: QuestionSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the fields of a spec."""
    fields: dict[str, Any] = {
        "questions": [{**asdict(question), "parents": list(question.parents)} for question in spec.questions]
    }
    if spec.formula is not None:
        fields |= {"dsl": spec.formula.text, "vocabulary": spec.vocabulary}
    if spec.zeroing != "transitive":
        fields["zeroing"] = spec.zeroing
    if spec.no_formula:
        fields["no_formula"] = spec.no_formula
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> QuestionSpec | None:
    """Parse the spec of a record; on failure, report findings and return None."""
    entries = record.fields["questions"]
    if not isinstance(entries, list) or not all(map(_is_question, entries)):
        record.wrong(
            f"questions must be a list of objects with {', '.join(_TEXTS)} (texts), parents (ids) and a weight above "
            "0; expected is yes or no, or a number from zero to ten"
        )
        return None
    has_formula = [name for name in _FORMULA if name in record.fields]
    if has_formula and len(has_formula) < len(_FORMULA):
        record.wrong("dsl and vocabulary belong together: give both, or neither")
        return None
    if "no_formula" in record.fields and not record.text("no_formula"):
        return None
    if has_formula and not _formula_in(record):
        return None
    if record.fields.get("zeroing", "direct") not in get_args(Zeroing):
        record.wrong(f"zeroing must be one of {', '.join(get_args(Zeroing))}")
        return None
    spec = build_spec(record.fields)
    if not entries and (has_formula or spec.no_formula or NO_QUESTIONS in tags):
        return spec
    problem = find_graph_problem(spec.questions, maximum=MAX_GRAPH_QUESTIONS, zeroing=spec.zeroing)
    if problem is not None:
        record.wrong(f"questions: {problem}")
        return None
    return spec


def _formula_in(record: Record) -> bool:
    text, name = record.text("dsl"), record.text("vocabulary")
    if text is None or name is None:
        return False
    if name not in vocabulary_names():
        record.wrong(f"vocabulary must be one of {', '.join(vocabulary_names())}")
        return False
    formula, problems = try_parse(text)
    if formula is not None:
        base = vocabulary(name)
        classes = dict.fromkeys((*base.words["class"], *FormulaSpec.of(formula).formula_classes))
        words, predicates = {**base.words, "class": tuple(classes)}, {**base.predicates, "Under": _UNDER}
        problems = check(formula, replace(base, words=words, predicates=predicates))
    for problem in problems:
        record.wrong(f"dsl, {problem}")
    if formula is None or problems:
        return False
    if (reason := formula_problem(text)) is not None:
        record.wrong(f"dsl, {reason}")
        return False
    return True


def build_spec(fields: dict[str, Any]) -> QuestionSpec:
    """Build the spec from fields already known to be valid."""
    return QuestionSpec(
        tuple(GraphQuestion(**{**entry, "parents": tuple(entry["parents"])}) for entry in fields["questions"]),
        FormulaSpec.of(parse(fields["dsl"])) if "dsl" in fields else None,
        fields.get("vocabulary", ""),
        fields.get("zeroing", "transitive"),
        fields.get("no_formula", ""),
    )


def canonical_text(spec: QuestionSpec) -> str:
    """Return the fields of a spec as JSON text."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)


def _is_question(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == _FIELDS
        and all(is_text(entry[name]) and entry[name].strip() for name in _TEXTS)
        and entry["expected"] in get_args(ExpectedAnswer)
        and isinstance(entry["parents"], list)
        and all(is_text(parent) for parent in entry["parents"])
        and isinstance(entry["weight"], int | float)
        and not isinstance(entry["weight"], bool)
        and 0 < entry["weight"] <= MAX_WEIGHT
    )
