"""Records of published CF-World files: known irregularities are repaired and reported, others are tagged.

Of a record that is odd, as much is read as can be (see `odd_records` for the tags); only what is no JSON object at all
is skipped. A file that is no list of records is an error.

Fields of knowledge have the names of their files: `Biology`, `physics/Classical Mechanics`, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.io import refuse_special_file
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    DUPLICATE_ID,
    EXTRA_FIELDS,
    FIELD_MALFORMED,
    ODD_NAME,
    REPEATED_FIELD,
    clean_text,
)
from formalimg.benchmarks.record import ItemFindings, RepeatedFields, free_name, parse_leniently

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

_MAX_LISTED = 13  # Up to so many repairs of one kind are all listed; of more, only the first few
_FEW = 3


class DataRepair(NamedTuple):
    """An irregularity of published data and its repair."""

    where: str  # file and record
    what: RepairReason  # the kind of oddity
    how: str  # what was made of it


def format_repairs(repairs: Iterable[DataRepair]) -> list[str]:
    """Return repairs as lines of text: the number of each kind, with its locations.

    Items without questions are not among them: whoever lists items names those.
    """
    kinds: dict[RepairReason, list[DataRepair]] = {reason: [] for reason in get_args(RepairReason)}
    for repair in repairs:
        kinds[repair.what].append(repair)
    lines = []
    for what, listed in kinds.items():
        if not listed or what == "no questions":
            continue
        lines.append(f"{what}: {len(listed):,}")
        examples = listed if len(listed) <= _MAX_LISTED else listed[:_FEW]
        lines += [f"  {each.where}: {each.how}" for each in examples]
        if len(examples) < len(listed):
            lines.append(f"  and {len(listed) - len(examples):,} more")
    return lines


class FieldPath(NamedTuple):
    """A field of knowledge, with the path of its published files."""

    path: str  # the path of its files within `prompt`, without their suffix
    discipline: str  # its tag
    branch: str = ""  # of physics, such as optics; empty for others

    @property
    def slug(self) -> str:
        """The path as a prefix of ids, such as `physics-classical-mechanics`."""
        return re.sub(r"[^a-z0-9]+", "-", self.path.lower()).strip("-")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the field's items."""
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
    """Return the field with the given file path; unpublished fields are named after their path."""
    for field in PUBLISHED_FIELDS:
        if field.path == path:
            return field
    discipline, *deeper = (FieldPath(part, "").slug for part in path.split("/"))
    return FieldPath(path, discipline, "-".join(deeper))


def field_tagged(tags: tuple[str, ...]) -> FieldPath:
    """Return the field whose items have the given tags."""
    for field in PUBLISHED_FIELDS:
        if field.tags == tags:
            return field
    # Tags may be any text, and this becomes the name of a file.
    return field_at("/".join(FieldPath(tag, "").slug or "other" for tag in tags))


_MISTYPED = re.compile(r"(ap|prompt)_([123])")

_LARGEST = 1_000  # Upper limit of numbers in published files


class RecordSchema(NamedTuple):
    """The expected fields of the records in a file."""

    label: str  # what such a record is, with its article
    texts: tuple[str, ...]  # required text fields
    optional: tuple[str, ...] = ()  # optional text fields
    numbers: tuple[str, ...] = ()  # required fields with a number above 0
    ids: tuple[str, ...] = ("id",)  # required ids, as text or as a whole number
    ignored: tuple[str, ...] = ()  # fields that are not used
    id_pattern: str = "0|[1-9][0-9]{0,8}"  # regular expression of ids
    # text fields that keep the blanks at their edges, because published requests have them
    verbatim: tuple[str, ...] = ()


class PublishedRecord(NamedTuple):
    """A parsed record: texts and ids (empty if missing), numbers (None if not valid), and tags of oddities."""

    where: str
    texts: dict[str, str]
    numbers: dict[str, float | None]
    tags: frozenset[str] = frozenset()


def read_records(
    root: Path, name: str, schema: RecordSchema, findings: ItemFindings, repairs: list[DataRepair]
) -> list[PublishedRecord]:
    """Read the records of a file, giving each a unique id.

    A file that is no list of records is added to the findings, what is no record is skipped there, and repairs are
    added to `repairs`.
    """
    entries = _load_list(root / name, name, findings)
    kinds = {type(record.get("id")) for record in entries if isinstance(record, dict)}
    records: dict[str, PublishedRecord] = {}
    for number, record in enumerate(entries, 1):
        if not isinstance(record, dict):
            findings.skip(f"{name}, record {number}", f"{schema.label} must be a JSON object, {{…}}")
            continue
        location = f"{name}, id {str(record['id'])[:40]}" if "id" in record else f"{name}, record {number}"
        if len(kinds) > 1 and isinstance(record.get("id"), int):
            repairs.append(DataRepair(location, "ids of two types", f"read as text, {str(record['id'])!r}"))
        fields = _fix_keys(record, schema, location, repairs)
        parsed = _parse_record(location, fields, schema, repairs)
        if isinstance(record, RepeatedFields):
            parsed = parsed._replace(tags=parsed.tags | {REPEATED_FIELD})
        if not parsed.texts["id"] or parsed.texts["id"] in records:
            parsed = _with_free_id(parsed, number, records)
        records[parsed.texts["id"]] = parsed
    return list(records.values())


def _with_free_id(record: PublishedRecord, number: int, used_ids: Collection[str]) -> PublishedRecord:
    is_missing = not record.texts["id"]
    name = free_name(f"record-{number}" if is_missing else f"{record.texts['id']}-again", used_ids)
    return record._replace(
        texts=record.texts | {"id": name}, tags=record.tags | {ODD_NAME if is_missing else DUPLICATE_ID}
    )


def _load_list(path: Path, name: str, findings: ItemFindings) -> Sequence[Any]:
    refuse_special_file(path)
    try:
        parsed = parse_leniently(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        findings.add(name, f"cannot be read: {error.strerror}")
    except ValueError as error:
        findings.add(name, f"must be JSON in UTF-8: {error}")
    else:
        if isinstance(parsed, list):
            return parsed
        findings.add(name, "must be a list of records")
    return ()


def _fix_keys(record: dict[str, Any], schema: RecordSchema, location: str, repairs: list[DataRepair]) -> dict[str, Any]:
    """Return the record with mistyped keys such as `ap_3` for `ap_l3` corrected, unless both are present."""
    fields = {}
    for key, value in record.items():
        corrected = _MISTYPED.sub(r"\1_l\2", key) if _MISTYPED.fullmatch(key) else key
        if corrected != key and corrected in (*schema.texts, *schema.optional) and corrected not in record:
            repairs.append(DataRepair(location, "mistyped key", f"{key} read as {corrected}"))
            key = corrected
        fields[key] = value
    return fields


def _parse_record(
    location: str, fields: dict[str, Any], schema: RecordSchema, repairs: list[DataRepair]
) -> PublishedRecord:
    """Return the readable fields of a record, with the tags of its oddities."""
    odd: set[str] = set()
    names = (*schema.ids, *schema.texts, *schema.numbers, *schema.optional, *schema.ignored)
    if any(name not in names for name in fields):
        odd.add(EXTRA_FIELDS)
    raw_texts = {name: _read_text(fields.get(name, ""), odd) for name in (*schema.texts, *schema.optional)}
    texts = {name: text if name in schema.verbatim else text.strip() for name, text in raw_texts.items()}
    texts |= {name: _read_id(fields.get(name), schema.id_pattern, odd) for name in schema.ids}
    numbers = {name: _read_number(fields.get(name)) for name in schema.numbers}
    blank = [name for name, text in raw_texts.items() if text != texts[name]]
    if blank:
        repairs.append(DataRepair(location, "blanks at the edges", f"taken off {', '.join(blank)}"))
    return PublishedRecord(location, texts, numbers, frozenset(odd))


def _read_text(value: object, odd: set[str]) -> str:
    """Return a field as text, tagging a number (read as its digits) or another type (read as missing)."""
    if isinstance(value, str):
        text, is_broken = clean_text(value)
        if is_broken:
            odd.add(BROKEN_TEXT)
        return text
    odd.add(FIELD_MALFORMED)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _read_id(value: object, pattern: str, odd: set[str]) -> str:
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if re.fullmatch(pattern, text):
        return text
    odd.add(ODD_NAME)
    return free_name(text, ()) if re.search("[A-Za-z0-9]", text) else ""


def _read_number(value: object) -> float | None:
    """Return a field as a positive number, even if written as text; None if it is not one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < _LARGEST:
        return None
    return value
