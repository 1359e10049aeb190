"""Serialization of ConceptMix specs: the fields of an item in our own format.

`concepts` is a list of objects with `category`, `value`, `statement`, `question` and `objects` (ids); `binding`, where
there is one, is the published JSON of which concept belongs to which object. `unasked`, only in items that are tagged
for it, lists concepts without a question, with `category` and `value`. `order`, only where published questions stand in
another order than their concepts, lists all concepts as they were drawn, in the same form.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
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
        "concepts": [
            {**{name: getattr(asked, name) for name in _TEXTS}, "objects": list(asked.objects)}
            for asked in spec.concepts
        ]
    }
    if spec.binding is not None:
        fields["binding"] = spec.binding.to_json()
    if spec.unasked:
        fields["unasked"] = [concept._asdict() for concept in spec.unasked]
    if spec.order:
        fields["order"] = [concept._asdict() for concept in spec.order]
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> ConceptSpec | None:
    """Parse the spec of a record; None, and findings, if it is invalid."""
    entries, unasked, order = (
        record.fields["concepts"],
        record.fields.get("unasked", []),
        record.fields.get("order", []),
    )
    with_others = bool({NO_CONCEPT, UNKNOWN_CONCEPT} & set(tags))
    if not isinstance(entries, list) or not all(_is_concept(entry, with_others) for entry in entries):
        record.wrong(f"concepts must be a list of objects with {', '.join(_TEXTS)} (texts) and objects (ids)")
        return None
    if "unasked" in record.fields and not (NO_QUESTION in tags and unasked and _are_concepts(unasked, with_others)):
        record.wrong(
            f"unasked must be a list of objects with category and value, in an item with the tag {NO_QUESTION}"
        )
        return None
    if "order" in record.fields and not _are_concepts(order, with_others):
        record.wrong("order must be a list of objects with category and value")
        return None
    spec = known_spec({"concepts": entries, "unasked": unasked, "order": order})
    if "order" in record.fields and (
        sorted(spec.order) != sorted(replace(spec, order=()).drawn) or spec.order == replace(spec, order=()).drawn
    ):
        record.wrong("order must have all concepts, each as often as concepts and unasked, in another order than there")
        return None
    if len(spec.concepts) != level + 1 and not {COUNTS_DIFFER, NO_QUESTION, NO_CONCEPT} & set(tags):
        record.wrong(f"the level is {level}, but there are {len(spec.concepts)} concepts: k + 1 are needed")
        return None
    if "binding" not in record.fields:
        return spec
    from formalimg.benchmarks.conceptmix.spec import bound_concepts  # here, because most programs read no bindings

    try:
        binding = Binding.from_json(record.fields["binding"])
        bound = bound_concepts(spec.drawn, binding)
    except BindingError as error:
        record.wrong(f"binding: {error}")
        return None
    # The questions about equal concepts, such as two red things, stand in any order.
    asked = Counter(BoundConcept(each.concept, each.objects) for each in spec.concepts if each.category != NO_CATEGORY)
    if not asked <= Counter(bound):
        record.wrong("the objects of the concepts are not those of the binding: fix one of them")
        return None
    return replace(spec, binding=binding)


def known_spec(fields: dict[str, Any]) -> ConceptSpec:
    """Return the spec of fields that are known to be valid."""
    concepts = tuple(
        RequestedConcept(**{name: entry[name] for name in _TEXTS}, objects=tuple(entry["objects"]))
        for entry in fields["concepts"]
    )
    unasked, order = (
        tuple(Concept(entry["category"], entry["value"]) for entry in fields.get(name, ()))
        for name in ("unasked", "order")
    )
    return ConceptSpec(concepts, Binding.from_json(fields["binding"]) if "binding" in fields else None, unasked, order)


def asked_text(spec: ConceptSpec) -> str:
    """Return a spec as one text: its fields as JSON."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)


def _is_concept(entry: object, with_others: bool) -> bool:
    if not isinstance(entry, dict) or set(entry) != {*_TEXTS, "objects"}:
        return False
    is_other = with_others and entry["category"] == NO_CATEGORY
    return (
        all(is_text(entry[name]) for name in _TEXTS)
        and all(entry[name].strip() for name in _NOT_EMPTY if not (is_other and name == "value"))
        and (is_other or entry["category"] in CATEGORIES)
        and isinstance(entry["objects"], list)
        and all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in entry["objects"])
    )


def _are_concepts(entries: object, with_others: bool) -> bool:
    known = (*CATEGORIES, NO_CATEGORY) if with_others else CATEGORIES
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and set(entry) == {"category", "value"}
        and all(is_text(text) and text.strip() for text in entry.values())
        and entry["category"] in known
        for entry in entries
    )
