"""Serialization of CF-World specs: the fields `group`, `assessment`, and `questions` in our own format.

A question has `dimension`, `question`, `criteria` and `weight`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, CounterfactualSpec, WeightedQuestion
from formalimg.benchmarks.record import Record

NEEDED: tuple[str, ...] = ("group", "assessment", "questions")
OPTIONAL: tuple[str, ...] = ()
PROOF: tuple[str, ...] = ()
SPEC: type = CounterfactualSpec

_LEVELS = (1, 2, 3)
_TEXTS = ("dimension", "question", "criteria")


def fields_of(spec: CounterfactualSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the fields of a spec."""
    return {
        "group": spec.group,
        "assessment": spec.assessment,
        "questions": [asdict(question) for question in spec.questions],
    }


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> CounterfactualSpec | None:
    """Parse the spec of a record; None, and findings, if it is invalid."""
    group, assessment = record.name("group"), record.text("assessment", empty=True)
    questions = record.fields["questions"]
    if level not in _LEVELS:
        record.wrong(f"the level is {level}, but levels are 1 (factual), 2 (explicit) and 3 (implicit)")
    if not isinstance(questions, list) or not all(map(_is_question, questions)):
        record.wrong(f"questions must be a list of objects with {', '.join(_TEXTS)} (texts) and a weight above 0")
        return None
    if group is None or assessment is None:
        return None
    return known_spec(record.fields)


def known_spec(fields: dict[str, Any]) -> CounterfactualSpec:
    """Return the spec of fields that are known to be valid."""
    questions = tuple(WeightedQuestion(**question) for question in fields["questions"])
    return CounterfactualSpec(fields["group"], fields["assessment"], questions)


def asked_text(spec: CounterfactualSpec) -> str:
    """Return a spec as one text: its fields as JSON."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)


def _is_question(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == {*_TEXTS, "weight"}
        and all(is_text(entry[name]) and entry[name].strip() for name in _TEXTS)
        and entry["dimension"] in DIMENSIONS
        and isinstance(entry["weight"], int | float)
        and not isinstance(entry["weight"], bool)
        and 0 < entry["weight"] < 1_000
    )
