"""One published ConceptMix record as an item: whatever is odd about it becomes a tag, and never an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.conceptmix.binding import bound_concepts
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.question_pairing import QuestionLines, pair_questions, split_lines
from formalimg.benchmarks.conceptmix.questions import concept_statements
from formalimg.benchmarks.conceptmix.spec import (
    CATEGORIES,
    NO_CATEGORY,
    Binding,
    BoundConcept,
    Concept,
    ConceptSpec,
    RequestedConcept,
)
from formalimg.benchmarks.odd_records import (
    BINDING_CHANGED,
    BROKEN_TEXT,
    COUNTS_DIFFER,
    NO_BINDING,
    NO_CONCEPT,
    NO_PROMPT,
    NO_QUESTION,
    NO_QUESTIONS,
    NOT_A_QUESTION,
    QUESTIONS_MOVED,
    REPEATED_FIELD,
    UNKNOWN_CONCEPT,
)
from formalimg.benchmarks.record import RepeatedFields
from formalimg.errors import FormalimgError
from formalimg.types import Item

_REPLACED = "\ufffd"
"""What stands in place of bytes that are no text."""
UNKNOWN = "unknown"
"""Stands for a concept that has a category but no name."""


class PublishedPrompt(NamedTuple):
    """A record of a file of sentences, and what is known about it from elsewhere."""

    id: str  # the id of its item
    level: int  # the k of its file
    fields: Mapping[str, Any]  # the record; empty if it is no JSON object
    binding: object  # its record in the file of bindings; None without one
    has_bindings: bool  # whether there is a file of bindings
    tags: tuple[str, ...] = ()  # what is odd about its place in the file


def read_record(record: PublishedPrompt) -> Item[ConceptSpec]:
    """Return the item of a record, tagged with all that is odd about it."""
    tags = _Tags(record.tags)
    fields = record.fields
    tags.add(REPEATED_FIELD, isinstance(fields, RepeatedFields) or isinstance(record.binding, RepeatedFields))
    prompt = _text(fields.get("sentence"), tags).strip()
    tags.add(NO_PROMPT, not prompt)
    concepts = list(_concepts(fields, tags))
    lines = split_lines(_lines(fields.get("question"), tags))
    categories, skills = (_length(fields.get(key)) for key in ("categories", "skills"))
    tags.add(COUNTS_DIFFER, {categories, skills, len(lines.questions)} != {record.level + 1})
    tags.add(NOT_A_QUESTION, bool(lines.others))
    spec = _spec(concepts, lines, record.binding, tags)
    tags.add(NO_QUESTIONS, not spec.concepts)
    tags.add(NO_BINDING, record.has_bindings and record.binding is None)
    tags.add(BINDING_CHANGED, record.binding is not None and spec.binding is None)
    return Item("conceptmix", record.id, record.level, prompt, spec, tuple(tags.found))


class _Tags:
    """The tags of an item, each once, in the order in which they are found."""

    def __init__(self, given: Sequence[str]) -> None:
        self.found = dict.fromkeys(given)

    def add(self, tag: str, when: bool = True) -> None:
        if when:
            self.found[tag] = None


def _spec(concepts: Sequence[Concept], lines: QuestionLines, bound: object, tags: _Tags) -> ConceptSpec:
    """Return what the record asks for: its questions in their order, each paired with its concept by content."""
    binding, objects = _bound_or_none(concepts, bound)
    paired = pair_questions(objects, lines.questions, binding)
    stated = concept_statements(objects, binding, load_pools(profile="official-code")) if binding else None
    statements = stated or [""] * len(objects)
    by_question = {
        place: RequestedConcept(*concept, statement, lines.questions[place], ids)
        for (concept, ids), statement, place in zip(objects, statements, paired.questions, strict=True)
        if place is not None
    }
    requested = [
        by_question.get(place) or RequestedConcept(NO_CATEGORY, "", "", question)
        for place, question in enumerate(lines.questions)
    ]
    unasked = tuple(concept for concept, place in zip(concepts, paired.questions, strict=True) if place is None)
    tags.add(QUESTIONS_MOVED, bool(paired.moved))
    tags.add(NO_QUESTION, bool(unasked))
    tags.add(NO_CONCEPT, bool(paired.unpaired))
    spec = ConceptSpec(tuple(requested), binding, unasked)
    return spec if spec.drawn == tuple(concepts) else replace(spec, order=tuple(concepts))


def _bound_or_none(concepts: Sequence[Concept], data: object) -> tuple[Binding | None, Sequence[BoundConcept]]:
    """Return the binding, if it is valid and has these concepts, and the objects of each concept."""
    if data is not None:
        try:
            binding = Binding.from_json(data)
            bound = bound_concepts(concepts, binding)
            concept_statements(bound, binding, load_pools(profile="official-code"))
        except FormalimgError:
            pass  # also where a statement cannot be made: a concept of somebody else may have no words for it
        else:
            return binding, bound
    return None, [BoundConcept(concept, ()) for concept in concepts]


def _concepts(fields: Mapping[str, Any], tags: _Tags) -> Iterator[Concept]:
    """Yield the concepts of a record; what has no known category or no name is tagged."""
    categories, skills = (_list(fields.get(key), tags) for key in ("categories", "skills"))
    for category, skill in zip_longest(categories, skills):
        value = str(skill) if isinstance(skill, int) and not isinstance(skill, bool) else _text(skill, tags).strip()
        known = next((one for one in CATEGORIES if one == category), None)
        tags.add(UNKNOWN_CONCEPT, known is None or not value)
        yield Concept(known or NO_CATEGORY, value or UNKNOWN)


def _lines(found: object, tags: _Tags) -> Iterator[str]:
    """Yield the lines of the questions, which should be a list of texts."""
    for entry in found.split("\n") if isinstance(found, str) else _list(found, tags):
        yield _text(entry, tags)


def _list(found: object, tags: _Tags) -> list[Any]:
    if isinstance(found, list):
        return found
    tags.add(BROKEN_TEXT, found is not None)
    return []


def _length(found: object) -> int:
    return len(found) if isinstance(found, list) else 0


def _text(found: object, tags: _Tags) -> str:
    """Return a text that can be stored; what is no text is empty."""
    tags.add(BROKEN_TEXT, found is not None and (not is_text(found) or _REPLACED in found))
    if is_text(found):
        return found
    return found.encode("utf-8", "replace").decode("utf-8") if isinstance(found, str) else ""
