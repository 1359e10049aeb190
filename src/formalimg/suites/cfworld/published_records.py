"""Records of published CF-World files: strict parsing, with known irregularities repaired by rule and reported.

Fields of knowledge have the names of their files: `Biology`, `physics/Classical Mechanics`, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.plain_files import refuse_special_file
from formalimg._util.strict_json import loads_strict
from formalimg.suites.record import ItemFindings, Record

RepairReason: TypeAlias = Literal[
    "blanks at the edges",
    "ids of two types",
    "no category",
    "mistyped key",
    "no assessment point",
    "assessment point of L3 alone",
    "assessment point of L3 differs",
    "duplicate",
    "no questions",
    "questions of L3 differ",
    "no question of a dimension",
    "unusual weight",
    "same prompt as L2",
]

_MAX_LISTED = 13
"""Up to so many repairs of one kind are all listed; of more, only the first few."""

_FEW = 3


class DataRepair(NamedTuple):
    """One irregularity of published data and its repair.

    Attributes:
        where: file and record.
        what: the kind of oddity.
        how: what was made of it.
    """

    where: str
    what: RepairReason
    how: str


def format_repairs(repairs: Iterable[DataRepair]) -> list[str]:
    """Return repairs as text lines: each kind with its number, and the places.

    Items without questions are not among them: whoever lists items names those.
    """
    kinds: dict[RepairReason, list[DataRepair]] = {what: [] for what in get_args(RepairReason)}
    for each in repairs:
        kinds[each.what].append(each)
    lines = []
    for what, found in kinds.items():
        if not found or what == "no questions":
            continue
        lines.append(f"{what}: {len(found):,}")
        shown = found if len(found) <= _MAX_LISTED else found[:_FEW]
        lines += [f"  {each.where}: {each.how}" for each in shown]
        if len(shown) < len(found):
            lines.append(f"  and {len(found) - len(shown):,} more")
    return lines


class FieldPath(NamedTuple):
    """A field of knowledge and the path of its published files.

    Attributes:
        path: the path of its files within `prompt`, without their suffix.
        discipline: its tag.
        branch: of physics, such as optics; empty for others.
    """

    path: str
    discipline: str
    branch: str = ""

    @property
    def slug(self) -> str:
        """The path as a prefix of ids, such as physics-classical-mechanics."""
        return re.sub(r"[^a-z0-9]+", "-", self.path.lower()).strip("-")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of its items."""
        return tuple(filter(None, (self.discipline, self.branch)))


PUBLISHED_FIELDS = (
    FieldPath("Biology", "biology"),
    FieldPath("Chemical", "chemistry"),
    FieldPath("Geography", "geography"),
    FieldPath("Sociology", "sociology"),
    FieldPath("physics/Astronomy", "physics", "astronomy"),
    FieldPath("physics/Classical Mechanics", "physics", "mechanics"),
    FieldPath("physics/Electromagnetism", "physics", "electromagnetism"),
    FieldPath("physics/Optics", "physics", "optics"),
    FieldPath("physics/Thermodynamics", "physics", "thermodynamics"),
)


def field_at(path: str) -> FieldPath:
    """Return the field whose files have this path; unpublished ones are named by their path."""
    for field in PUBLISHED_FIELDS:
        if field.path == path:
            return field
    discipline, *deeper = (FieldPath(part, "").slug for part in path.split("/"))
    return FieldPath(path, discipline, "-".join(deeper))


def field_tagged(tags: tuple[str, ...]) -> FieldPath:
    """Return the field whose items have these tags."""
    for field in PUBLISHED_FIELDS:
        if field.tags == tags:
            return field
    # Tags may be any text, and this becomes the name of a file.
    return field_at("/".join(FieldPath(tag, "").slug or "other" for tag in tags))


_MISTYPED = re.compile(r"(ap|prompt)_([123])")

_LARGEST = 1_000
"""Upper limit of numbers in published files."""


class RecordSchema(NamedTuple):
    """The fields of the records of a file.

    Attributes:
        label: what such a record is, with its article.
        texts: required text fields.
        optional: optional text fields.
        numbers: required fields with a number above 0.
        ids: required ids, as text or as a whole number.
        ignored: fields that are not used.
        id_pattern: regular expression of ids.
    """

    label: str
    texts: tuple[str, ...]
    optional: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    ids: tuple[str, ...] = ("id",)
    ignored: tuple[str, ...] = ()
    id_pattern: str = "0|[1-9][0-9]{0,8}"


class PublishedRecord(NamedTuple):
    """A valid record: ids and texts as stripped text, empty where missing."""

    where: str
    texts: dict[str, str]
    numbers: dict[str, float]


def read_records(
    root: Path, name: str, schema: RecordSchema, findings: ItemFindings, repairs: list[DataRepair]
) -> list[PublishedRecord]:
    """Read the records of a file; problems are added to the findings, repairs to `repairs`."""
    found = _load_list(root / name, name, findings)
    kinds = {type(record.get("id")) for record in found if isinstance(record, dict)}
    records: dict[str, PublishedRecord] = {}
    for number, record in enumerate(found, 1):
        if not isinstance(record, dict):
            findings.add(f"{name}, record {number}", "must be an object")
            continue
        where = f"{name}, id {record['id']}" if "id" in record else f"{name}, record {number}"
        if len(kinds) > 1 and isinstance(record.get("id"), int):
            repairs.append(DataRepair(where, "ids of two types", f"read as text, {str(record['id'])!r}"))
        fields = _fix_keys(record, schema, where, repairs)
        parsed = _parse_record(Record(where, fields, findings, schema.label), schema, repairs)
        if parsed is None:
            continue
        if parsed.texts["id"] in records:
            findings.add(where, "another record has this id")
        records[parsed.texts["id"]] = parsed
    return list(records.values())


def _load_list(path: Path, name: str, findings: ItemFindings) -> Sequence[Any]:
    refuse_special_file(path)
    try:
        found = loads_strict(path.read_text(encoding="utf-8"))
    except OSError as error:
        findings.add(name, f"cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        findings.add(name, f"not valid JSON in UTF-8: {error}")
    else:
        if isinstance(found, list):
            return found
        findings.add(name, "must be a list of records")
    return ()


def _fix_keys(record: dict[str, Any], schema: RecordSchema, where: str, repairs: list[DataRepair]) -> dict[str, Any]:
    """Return the record with mistyped keys corrected: `ap_3` is `ap_l3`, unless that is there too."""
    fields = {}
    for key, value in record.items():
        meant = _MISTYPED.sub(r"\1_l\2", key) if _MISTYPED.fullmatch(key) else key
        if meant != key and meant in (*schema.texts, *schema.optional) and meant not in record:
            repairs.append(DataRepair(where, "mistyped key", f"{key} read as {meant}"))
            key = meant
        fields[key] = value
    return fields


def _parse_record(record: Record, schema: RecordSchema, repairs: list[DataRepair]) -> PublishedRecord | None:
    before = len(record.findings)
    needed = (*schema.ids, *schema.texts, *schema.numbers)
    if not record.has_all(needed, (*needed, *schema.optional, *schema.ignored)):
        return None
    found = {name: record.text(name, empty=name in schema.optional) for name in _text_names(record, schema)}
    texts = {name: text.strip() for name, text in found.items() if text is not None}
    for name in schema.ids:
        value = record.fields[name]
        texts[name] = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
        if not re.fullmatch(schema.id_pattern, texts[name]):
            record.wrong(f"{name} must be a number as published ids are, but is {value!r}")
    numbers = {name: record.fields[name] for name in schema.numbers}
    for name, value in numbers.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < _LARGEST:
            record.wrong(f"{name} must be a number above 0 and below {_LARGEST:,}, but is {value!r}")
    if len(record.findings) > before:
        return None
    blank = [name for name, text in found.items() if text != texts[name]]
    if blank:
        repairs.append(DataRepair(record.where, "blanks at the edges", f"taken off {', '.join(blank)}"))
    return PublishedRecord(record.where, {**dict.fromkeys(schema.optional, ""), **texts}, numbers)


def _text_names(record: Record, schema: RecordSchema) -> Iterator[str]:
    yield from schema.texts
    yield from (name for name in schema.optional if name in record.fields)
