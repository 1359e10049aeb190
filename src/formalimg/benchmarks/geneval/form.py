"""Serialization of GenEval's specs: the fields of an item in our own format.

`task`, `include` and `exclude` are `tag`, `include` and `exclude` of the published line.
"""

from __future__ import annotations

import json
from typing import Any

from formalimg.benchmarks.geneval.spec import parse_metadata
from formalimg.benchmarks.object_spec import ObjectSpec
from formalimg.benchmarks.odd_records import UNREADABLE_OBJECTS
from formalimg.benchmarks.record import Record
from formalimg.errors import FormalimgError

NEEDED: tuple[str, ...] = ("task", "include")
OPTIONAL: tuple[str, ...] = ("exclude",)
PROOF: tuple[str, ...] = ()
SPEC: type = ObjectSpec


def fields_of(spec: ObjectSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the fields of a spec."""
    metadata = spec.to_metadata()
    return {"task": metadata.pop("tag"), **metadata}


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> ObjectSpec | None:
    """Parse the spec of a record; None, and findings, if it is invalid."""
    task = record.text("task", empty=True)
    if task is None:
        return None
    if UNREADABLE_OBJECTS in tags and record.fields["include"] == [] and "exclude" not in record.fields:
        return ObjectSpec(task, ())
    try:
        return known_spec(record.fields)
    except FormalimgError as error:
        record.wrong(str(error))
        return None


def known_spec(fields: dict[str, Any]) -> ObjectSpec:
    """Return the spec of fields that are known to be valid."""
    if not fields["include"] and "exclude" not in fields:
        return ObjectSpec(fields["task"], ())
    return parse_metadata({**fields, "tag": fields["task"]})


def asked_text(spec: ObjectSpec) -> str:
    """Return a spec as one text: its fields as JSON."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)
