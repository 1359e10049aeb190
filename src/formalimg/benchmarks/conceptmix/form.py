"""Serialization of ConceptMix specs: the fields of an item in our own format.

`concepts` is a list of objects with `category`, `value`, `statement`, `question` and `objects` (ids); `binding` is the
published JSON of which concept belongs to which object. `unasked`, only in items with that tag, lists concepts without
a question, with `category` and `value`; `order`, only where published questions have another order than their concepts,
lists all concepts as they were drawn.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.conceptmix.spec import (
    CATEGORIES,
    NO_CATEGORY,
    Binding,
    BindingError,
    BoundConcept,
    Concept,
    ConceptSpec,
    RequestedConcept,
    bound_concepts,
)
from formalimg.benchmarks.odd_records import COUNTS_DIFFER, NO_CONCEPT, NO_QUESTION, UNKNOWN_CONCEPT
from formalimg.benchmarks.record import Record

NEEDED: tuple[str, ...] = ("concepts",)
OPTIONAL: tuple[str, ...] = ("binding", "unasked", "order")
PROOF: tuple[str, ...] = ()
SPEC: type = ConceptSpec

_TEXTS = ("category", "value", "statement", "question")
_NOT_EMPTY = ("category", "value", "question")  # published data have no statements


def fields_of(spec: ConceptSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the fields of a spec."""
    fields: dict[str, Any] = {
        "concepts": [{**asdict(requested), "objects": list(requested.objects)} for requested in spec.concepts]
    }
    if spec.binding is not None:
        fields["binding"] = spec.binding.to_json()
    for name, concepts in (("unasked", spec.unasked), ("order", spec.order)):
        if concepts:
            fields[name] = [concept._asdict() for concept in concepts]
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> ConceptSpec | None:
    """Parse the spec of a record; on failure, report findings and return None."""
    try:
        return _parse_spec(record.fields, level, frozenset(tags))
    except ValueError as error:
        record.wrong(str(error))
        return None


def _parse_spec(fields: dict[str, Any], level: int, tags: frozenset[str]) -> ConceptSpec:
    entries, unasked, order = fields["concepts"], fields.get("unasked", []), fields.get("order", [])
    with_others = bool({NO_CONCEPT, UNKNOWN_CONCEPT} & tags)
    if not isinstance(entries, list) or not all(_is_requested(entry, with_others) for entry in entries):
        raise ValueError(f"concepts must be a list of objects with {', '.join(_TEXTS)} (texts) and objects (ids)")
    if "unasked" in fields and not (NO_QUESTION in tags and unasked and _are_concepts(unasked, with_others)):
        raise ValueError(
            f"unasked must be a list of objects with category and value, in an item with the tag {NO_QUESTION}"
        )
    if "order" in fields and not _are_concepts(order, with_others):
        raise ValueError("order must be a list of objects with category and value")
    spec = known_spec({"concepts": entries, "unasked": unasked, "order": order})
    unordered = replace(spec, order=()).drawn
    if "order" in fields and (sorted(spec.order) != sorted(unordered) or spec.order == unordered):
        raise ValueError(
            "order must have all concepts, each as often as concepts and unasked, in another order than there"
        )
    if len(spec.concepts) != level + 1 and not {COUNTS_DIFFER, NO_QUESTION, NO_CONCEPT} & tags:
        raise ValueError(f"the level is {level}, but there are {len(spec.concepts)} concepts: k + 1 are needed")
    if "binding" not in fields:
        return spec
    try:
        binding = Binding.from_json(fields["binding"])
        bound = bound_concepts(spec.drawn, binding)
    except BindingError as error:
        raise ValueError(f"binding: {error}") from error
    # The questions about equal concepts, such as two red things, stand in any order.
    requested = (
        BoundConcept(concept.concept, concept.objects) for concept in spec.concepts if concept.category != NO_CATEGORY
    )
    if not Counter(requested) <= Counter(bound):
        raise ValueError("the objects of the concepts are not those of the binding: fix one of them")
    return replace(spec, binding=binding)


def known_spec(fields: dict[str, Any]) -> ConceptSpec:
    """Build the spec from fields already known to be valid."""
    requested = (RequestedConcept(**{**entry, "objects": tuple(entry["objects"])}) for entry in fields["concepts"])
    binding = Binding.from_json(fields["binding"]) if "binding" in fields else None
    unasked, order = (tuple(Concept(**entry) for entry in fields.get(name, ())) for name in ("unasked", "order"))
    return ConceptSpec(tuple(requested), binding, unasked, order)


def asked_text(spec: ConceptSpec) -> str:
    """Return the fields of a spec as JSON text."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)


def _is_requested(entry: object, with_others: bool) -> bool:
    if not isinstance(entry, dict) or set(entry) != {*_TEXTS, "objects"}:
        return False
    is_other = with_others and entry["category"] == NO_CATEGORY
    return (
        all(is_text(entry[name]) for name in _TEXTS)
        and all(entry[name].strip() for name in _NOT_EMPTY if not (is_other and name == "value"))
        and (is_other or entry["category"] in CATEGORIES)
        and isinstance(entry["objects"], list)
        and all(isinstance(number, int) and not isinstance(number, bool) and number > 0 for number in entry["objects"])
    )


def _are_concepts(entries: object, with_others: bool) -> bool:
    categories = (*CATEGORIES, NO_CATEGORY) if with_others else CATEGORIES
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and set(entry) == {"category", "value"}
        and all(is_text(text) and text.strip() for text in entry.values())
        and entry["category"] in categories
        for entry in entries
    )
