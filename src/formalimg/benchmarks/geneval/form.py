"""Serialization of GenEval specs: the published metadata, and the item fields of our own format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.benchmarks.object_spec import (
    MAX_COUNT,
    MAX_REQUIREMENTS,
    RELATIONS,
    ExcludedObjects,
    IncludedObjects,
    ObjectSpec,
)
from formalimg.benchmarks.odd_records import UNREADABLE_OBJECTS
from formalimg.benchmarks.record import Record
from formalimg.errors import FormalimgError

TAGS = ("single_object", "two_object", "counting", "colors", "position", "color_attr")
"""The six tasks, in the order of the paper's tables; the level of an item is the place of its tag, from 1."""


def parse_metadata(metadata: Mapping[str, Any]) -> ObjectSpec:
    """Parse a spec from a line of published metadata, ignoring unknown fields."""
    tag = metadata.get("tag", "")
    if not isinstance(tag, str):
        raise FormalimgError("tag must be text: give one of " + ", ".join(TAGS))
    included, excluded = (_read_entries(metadata, name) for name in ("include", "exclude"))
    if not included and not excluded:
        raise FormalimgError("include names no objects: give at least one, as in {'class': 'cup', 'count': 1}")
    include = tuple(_read_included(*entry, index) for index, entry in enumerate(included))
    return ObjectSpec(tag, include, tuple(ExcludedObjects(label, count) for label, count, _ in excluded))


def _read_entries(metadata: Mapping[str, Any], name: str) -> list[tuple[str, int, Mapping[str, Any]]]:
    entries = metadata.get(name, ())
    if not isinstance(entries, list | tuple) or not all(isinstance(entry, Mapping) for entry in entries):
        raise FormalimgError(f"{name} must be a list of objects with class and count")
    if len(entries) > MAX_REQUIREMENTS:
        raise FormalimgError(f"{name} has {len(entries)} entries: {MAX_REQUIREMENTS} are the most")
    for index, entry in enumerate(entries):
        if not _is_word(entry.get("class")):
            raise FormalimgError(f"{name}[{index}]: class must be the name of a class, such as cup")
        count = entry.get("count")
        if type(count) is not int or not 1 <= count <= MAX_COUNT:
            raise FormalimgError(f"{name}[{index}]: count must be a whole number from 1 to {MAX_COUNT}")
    return [(entry["class"], entry["count"], entry) for entry in entries]


def _read_included(label: str, count: int, entry: Mapping[str, Any], index: int) -> IncludedObjects:
    color = entry.get("color", "")
    if color != "" and not _is_word(color):
        raise FormalimgError(f"include[{index}]: color must be a word, such as red")
    if "position" not in entry:
        return IncludedObjects(label, count, color)
    match entry["position"]:
        case [relation, int(target)] if relation in RELATIONS and type(target) is int and 0 <= target < index:
            return IncludedObjects(label, count, color, relation, target)
    raise FormalimgError(
        f"include[{index}]: position must be one of {', '.join(RELATIONS)} and the place of an entry before it"
    )


def _is_word(value: object) -> bool:
    """Return whether `value` is a string that formulas can quote."""
    return is_text(value) and bool(value.strip()) and value.isprintable() and "'" not in value


NEEDED: tuple[str, ...] = ("task", "include")
OPTIONAL: tuple[str, ...] = ("exclude",)
PROOF: tuple[str, ...] = ()
SPEC: type = ObjectSpec


def fields_of(spec: ObjectSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the fields of a spec."""
    metadata = spec.to_metadata()
    return {"task": metadata.pop("tag"), **metadata}


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> ObjectSpec | None:
    """Parse the spec of a record; on failure, report findings and return None."""
    task = record.text("task", empty=True)
    if task is None:
        return None
    if UNREADABLE_OBJECTS in tags and record.fields["include"] == [] and "exclude" not in record.fields:
        return ObjectSpec(task, ())
    try:
        return build_spec(record.fields)
    except FormalimgError as error:
        record.wrong(str(error))
        return None


def build_spec(fields: dict[str, Any]) -> ObjectSpec:
    """Build the spec from fields already known to be valid."""
    if not fields["include"] and "exclude" not in fields:
        return ObjectSpec(fields["task"], ())
    return parse_metadata({**fields, "tag": fields["task"]})


def canonical_text(spec: ObjectSpec) -> str:
    """Return the fields of a spec as JSON text."""
    return json.dumps(fields_of(spec, with_proof=False), ensure_ascii=False)
