"""Serialization of question specs: the item fields of our own format.

`questions` is a list of objects with `id`, `question`, `parents` (ids), `expected` (yes, no, or a number in words),
`category` and `weight`. An item whose prompt was read as a formula has `dsl` and `vocabulary` beside
it; then `questions` has those for words that the formula leaves out. `no_formula` says why a prompt is not read as a
formula. `zeroing` is there only if it is `direct`; see `Zeroing`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any, get_args

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.formal.spec import FormulaSpec, formula_problem
from formalimg.benchmarks.odd_records import NO_QUESTIONS
from formalimg.benchmarks.questions.spec import (
    MAX_GRAPH_QUESTIONS,
    MAX_WEIGHT,
    ExpectedAnswer,
    GraphQuestion,
    QuestionSpec,
    Zeroing,
    find_graph_problem,
)
from formalimg.benchmarks.record import Record
from formalimg.logic.checks import check
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.syntax import Formula
from formalimg.logic.vocabulary import VARIABLE, Predicate, Vocabulary, vocabulary, vocabulary_names

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
    spec = known_spec(record.fields)
    if not entries and (has_formula or spec.no_formula or NO_QUESTIONS in tags):
        return spec
    problem = find_graph_problem(spec.questions, most=MAX_GRAPH_QUESTIONS, zeroing=spec.zeroing)
    if problem is not None:
        record.wrong(f"questions: {problem}")
        return None
    return spec


def _formula_in(record: Record) -> bool:
    """Return whether the formula of a record is valid; otherwise, report the problems."""
    text, name = record.text("dsl"), record.text("vocabulary")
    if text is None or name is None:
        return False
    if name not in vocabulary_names():
        record.wrong(f"vocabulary must be one of {', '.join(vocabulary_names())}")
        return False
    formula, problems = try_parse(text)
    if formula is not None:
        problems = check(formula, _open_vocabulary(formula, name))
    for problem in problems:
        record.wrong(f"dsl, {problem}")
    if formula is None or problems:
        return False
    if (reason := formula_problem(text)) is not None:
        record.wrong(f"dsl, {reason}")
        return False
    return True


def _open_vocabulary(formula: Formula, name: str) -> Vocabulary:
    """Return the named vocabulary, extended by all classes in a formula."""
    base, classes = vocabulary(name), FormulaSpec.of(formula).formula_classes
    words = {**base.words, "class": tuple(dict.fromkeys((*base.words["class"], *classes)))}
    return replace(base, words=words, predicates={**base.predicates, "Under": _UNDER})


def known_spec(fields: dict[str, Any]) -> QuestionSpec:
    """Build the spec from fields already known to be valid."""
    return QuestionSpec(
        tuple(GraphQuestion(**{**entry, "parents": tuple(entry["parents"])}) for entry in fields["questions"]),
        FormulaSpec.of(parse(fields["dsl"])) if "dsl" in fields else None,
        fields.get("vocabulary", ""),
        fields.get("zeroing", "transitive"),
        fields.get("no_formula", ""),
    )


def asked_text(spec: QuestionSpec) -> str:
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
