"""Serialization of ConceptMix specs: the fields of an item in our own format.

`concepts` is a list of objects with `category`, `value`, `statement`, `question` and `objects` (ids); `binding`, where
there is one, is the published JSON of which concept belongs to which object.
"""

from __future__ import annotations

import json
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.suites.conceptmix.spec import CATEGORIES, Binding, BindingError, ConceptSpec, RequestedConcept
from formalimg.suites.record import Record

NEEDED = ("concepts",)
OPTIONAL = ("binding",)

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
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> ConceptSpec | None:
    """Parse the spec of a record; None, and findings, if it is invalid."""
    entries = record.fields["concepts"]
    if not isinstance(entries, list) or not all(map(_is_concept, entries)):
        record.wrong(f"concepts must be a list of objects with {', '.join(_TEXTS)} (texts) and objects (ids)")
        return None
    spec = known_spec({"concepts": entries})
    if len(spec.concepts) != level + 1:
        record.wrong(f"the level is {level}, but there are {len(spec.concepts)} concepts: k + 1 are needed")
        return None
    if "binding" not in record.fields:
        return spec
    from formalimg.suites.conceptmix.binding import bound_concepts  # here, because most programs read no bindings

    try:
        binding = Binding.from_json(record.fields["binding"])
        bound = bound_concepts([asked.concept for asked in spec.concepts], binding)
    except BindingError as error:
        record.wrong(f"binding: {error}")
        return None
    if [each.objects for each in bound] != [asked.objects for asked in spec.concepts]:
        record.wrong("the objects of the concepts are not those of the binding: fix one of them")
        return None
    return ConceptSpec(spec.concepts, binding)


def known_spec(fields: dict[str, Any]) -> ConceptSpec:
    """Return the spec of fields that are known to be valid."""
    concepts = tuple(
        RequestedConcept(**{name: entry[name] for name in _TEXTS}, objects=tuple(entry["objects"]))
        for entry in fields["concepts"]
    )
    return ConceptSpec(concepts, Binding.from_json(fields["binding"]) if "binding" in fields else None)


def asked_text(spec: ConceptSpec) -> str:
    """Return a spec as one text: its fields as JSON."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)


def _is_concept(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == {*_TEXTS, "objects"}
        and all(is_text(entry[name]) for name in _TEXTS)
        and all(entry[name].strip() for name in _NOT_EMPTY)
        and entry["category"] in CATEGORIES
        and isinstance(entry["objects"], list)
        and all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in entry["objects"])
    )
