"""Published files of CF-World: fields of knowledge, records with their irregularities, and writing groups.

Known irregularities are repaired and reported. An odd record is read as far as possible (see `odd_records` for the
tags); it is skipped only if it is not a JSON object. A file that is not a list of records is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.io import refuse_special_file, write_folder
from formalimg.benchmarks.cfworld.spec import CF_WORLD, LEVELS, CounterfactualSpec, Dimension
from formalimg.benchmarks.items_file import id_order, is_number
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    DUPLICATE_ID,
    EXTRA_FIELDS,
    FIELD_MALFORMED,
    ODD_NAME,
    REPEATED_FIELD,
    clean_text,
    plain_tags,
)
from formalimg.benchmarks.record import ItemFindings, RepeatedFields, free_name, parse_leniently
from formalimg.errors import FormalimgError
from formalimg.types import Item

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

PROMPTS, QUESTIONS = "prompt", "eval_questions"  # Folders of the repository
QUESTION_TYPES: Mapping[str, Dimension] = {
    "Visual Integrity": "integrity",
    "Assessment Point": "assessment",
    "Counterfactual Logic": "logic",
    "Logic Consistency": "logic",  # what the paper calls it
    "Prompt Adherence": "adherence",
}
"""The dimensions by their published names."""
PUBLISHED_TYPES = {QUESTION_TYPES[name]: name for name in QUESTION_TYPES if name != "Logic Consistency"}

_MAX_LISTED = 13  # Up to so many repairs of one kind are all listed; of more, only the first few
_FEW = 3
_MISTYPED = re.compile(r"(ap|prompt)_([123])")
_LARGEST = 1_000  # Upper limit of numbers in published files


class DataRepair(NamedTuple):
    """An irregularity of published data and its repair."""

    location: str  # file and record
    reason: RepairReason
    effect: str


def format_repairs(repairs: Iterable[DataRepair]) -> list[str]:
    """Return repairs as lines of text: the number of each kind and its locations, omitting items without questions."""
    by_reason: dict[RepairReason, list[DataRepair]] = {reason: [] for reason in get_args(RepairReason)}
    for repair in repairs:
        by_reason[repair.reason].append(repair)
    del by_reason["no questions"]  # whoever lists items names those
    lines = []
    for reason, listed in by_reason.items():
        if listed:
            lines.append(f"{reason}: {len(listed):,}")
            examples = listed if len(listed) <= _MAX_LISTED else listed[:_FEW]
            lines += [f"  {repair.location}: {repair.effect}" for repair in examples]
            if len(examples) < len(listed):
                lines.append(f"  and {len(listed) - len(examples):,} more")
    return lines


# --- fields of knowledge


def make_slug(text: str) -> str:
    """Return a text as part of an id: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


class FieldPath(NamedTuple):
    """A field of knowledge, with the path of its published files."""

    path: str  # within `prompt`, without the suffix
    discipline: str
    branch: str = ""  # of physics, such as optics; empty for others

    @property
    def slug(self) -> str:
        """The path as a prefix of ids, such as `physics-classical-mechanics`."""
        return make_slug(self.path)

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
    discipline, *deeper = map(make_slug, path.split("/"))
    unpublished = FieldPath(path, discipline, "-".join(deeper))
    return next((field for field in PUBLISHED_FIELDS if field.path == path), unpublished)


def field_tagged(tags: tuple[str, ...]) -> FieldPath:
    """Return the field whose items have the given tags."""
    # Tags may be any text, and this becomes the name of a file.
    unpublished = field_at("/".join(make_slug(tag) or "other" for tag in tags))
    return next((field for field in PUBLISHED_FIELDS if field.tags == tags), unpublished)


def question_file(path: FieldPath) -> str:
    """Return the file with the questions of a field."""
    return f"{QUESTIONS}/{path.path}_gemini.json"


# --- records


class RecordSchema(NamedTuple):
    """The expected fields of the records in a file."""

    label: str  # what such a record is, with its article
    texts: tuple[str, ...]  # required text fields
    optional: tuple[str, ...] = ()  # optional text fields
    numbers: tuple[str, ...] = ()  # required fields with a number above 0
    ids: tuple[str, ...] = ("id",)  # required ids, as text or as a whole number
    ignored: tuple[str, ...] = ()
    id_pattern: str = "0|[1-9][0-9]{0,8}"
    verbatim: tuple[str, ...] = ()  # text fields that keep the blanks at their edges, as in published requests


class PublishedRecord(NamedTuple):
    """A parsed record: texts and ids (empty if missing), numbers (None if not valid), and tags of oddities."""

    location: str
    texts: dict[str, str]
    numbers: dict[str, float | None]
    tags: frozenset[str] = frozenset()


class PublishedFiles:
    """The published files in a folder, with the errors, skipped records and repairs of what was read."""

    def __init__(self, root: Path, findings: ItemFindings) -> None:
        self.root, self.findings = root, findings
        self.repairs: list[DataRepair] = []

    def names(self, folder: str) -> list[str]:
        """Return the JSON files of a folder, as relative paths without their suffix."""
        parent = self.root / folder
        paths = (path.relative_to(parent) for path in parent.rglob("*.json") if path.name[0] != ".")
        return sorted(path.with_suffix("").as_posix() for path in paths)

    def repair(self, location: str, reason: RepairReason, effect: str) -> None:
        """Report a repair."""
        self.repairs.append(DataRepair(location, reason, effect))

    def records(self, name: str, schema: RecordSchema) -> list[PublishedRecord]:
        """Return the records of a file, giving each a unique id."""
        entries = self._entries(name)
        has_two_types = len({type(entry.get("id")) for entry in entries if isinstance(entry, dict)}) > 1
        records: dict[str, PublishedRecord] = {}
        for number, entry in enumerate(entries, 1):
            location = f"{name}, record {number}"
            if not isinstance(entry, dict):
                self.findings.skip(location, f"{schema.label} must be a JSON object, {{…}}")
                continue
            if "id" in entry:
                location = f"{name}, id {str(entry['id'])[:40]}"
            if has_two_types and isinstance(entry.get("id"), int):
                self.repair(location, "ids of two types", f"read as text, {str(entry['id'])!r}")
            record = self._parse(location, self._with_corrected_keys(entry, schema, location), schema)
            tags = {REPEATED_FIELD} if isinstance(entry, RepeatedFields) else set()
            id_ = record.texts["id"]
            if not id_ or id_ in records:
                tags.add(DUPLICATE_ID if id_ else ODD_NAME)
                id_ = free_name(f"{id_}-again" if id_ else f"record-{number}", records)
            records[id_] = record._replace(texts=record.texts | {"id": id_}, tags=record.tags | tags)
        return list(records.values())

    def _entries(self, name: str) -> Sequence[Any]:
        path = self.root / name
        refuse_special_file(path)
        try:
            parsed = parse_leniently(path.read_bytes().decode("utf-8-sig"))
        except OSError as error:
            self.findings.add(name, f"cannot be read: {error.strerror}")
        except ValueError as error:
            self.findings.add(name, f"must be JSON in UTF-8: {error}")
        else:
            if isinstance(parsed, list):
                return parsed
            self.findings.add(name, "must be a list of records")
        return ()

    def _with_corrected_keys(self, entry: Mapping[str, Any], schema: RecordSchema, location: str) -> dict[str, Any]:
        """Return a record with mistyped keys such as `ap_3` for `ap_l3` corrected, unless both are present."""
        fields = {}
        for key, value in entry.items():
            corrected = _MISTYPED.sub(r"\1_l\2", key) if _MISTYPED.fullmatch(key) else key
            if corrected != key and corrected in (*schema.texts, *schema.optional) and corrected not in entry:
                self.repair(location, "mistyped key", f"{key} read as {corrected}")
                key = corrected
            fields[key] = value
        return fields

    def _parse(self, location: str, fields: Mapping[str, Any], schema: RecordSchema) -> PublishedRecord:
        tags: set[str] = set()
        names = (*schema.ids, *schema.texts, *schema.numbers, *schema.optional, *schema.ignored)
        if any(name not in names for name in fields):
            tags.add(EXTRA_FIELDS)
        raw_texts = {name: _read_text(fields.get(name, ""), tags) for name in (*schema.texts, *schema.optional)}
        texts = {name: text if name in schema.verbatim else text.strip() for name, text in raw_texts.items()}
        if blank := [name for name, text in raw_texts.items() if text != texts[name]]:
            self.repair(location, "blanks at the edges", f"taken off {', '.join(blank)}")
        texts |= {name: _read_id(fields.get(name), schema.id_pattern, tags) for name in schema.ids}
        numbers = {name: _read_number(fields.get(name)) for name in schema.numbers}
        return PublishedRecord(location, texts, numbers, frozenset(tags))


def _read_text(value: object, tags: set[str]) -> str:
    """Return a field as text, tagging a number (read as its digits) or another type (read as missing)."""
    if isinstance(value, str):
        text, is_broken = clean_text(value)
        if is_broken:
            tags.add(BROKEN_TEXT)
        return text
    tags.add(FIELD_MALFORMED)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _read_id(value: object, pattern: str, tags: set[str]) -> str:
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if re.fullmatch(pattern, text):
        return text
    tags.add(ODD_NAME)
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


# --- writing

_Levels: TypeAlias = dict[int, Item[CounterfactualSpec]]


def write_published_groups(items: Iterable[Item[CounterfactualSpec]], folder: str | Path) -> None:
    """Write groups in the authors' format: `prompt/<field>.json` and `eval_questions/<field>_gemini.json`.

    Either all files are written or none. Groups with published ids keep their numbers; other groups are numbered from 0
    within each field, in input order. The format cannot store versions.
    """
    fields: dict[FieldPath, dict[str, _Levels]] = {}
    for item in items:
        if item.suite != CF_WORLD or not plain_tags(item.tags):
            raise FormalimgError(f"item {item.id}: only items of {CF_WORLD} with a field as tag can be written")
        levels = fields.setdefault(field_tagged(plain_tags(item.tags)), {}).setdefault(item.spec.group, {})
        if item.level in levels:
            raise FormalimgError(f"group {item.spec.group} has two items of level {item.level}: leave one out")
        levels[item.level] = item
    texts: dict[str, str] = {}
    for field, groups in fields.items():
        for group, levels in groups.items():
            if sorted(levels) != list(LEVELS):
                raise FormalimgError(f"group {group} must have the levels 1, 2 and 3 to be written")
        numbers = {group: group.removeprefix(f"{field.slug}-") for group in groups}
        if all(group != number and is_number(number) for group, number in numbers.items()):
            names = sorted(groups, key=lambda group: id_order(numbers[group]))
            numbered = {numbers[group]: groups[group] for group in names}
        else:
            numbered = {str(number): levels for number, levels in enumerate(groups.values())}
        records = [_encode_group(number, levels) for number, levels in numbered.items()]
        texts[f"{PROMPTS}/{field.path}.json"] = _encode_json(records)
        texts[question_file(field)] = _encode_json(_encode_questions(numbered))
    if not texts:
        raise FormalimgError("there are no items to write")
    write_folder(Path(folder), texts)


def _encode_group(number: str, levels: _Levels) -> dict[str, str]:
    assessments = {level: levels[level].spec.assessment for level in LEVELS}
    if assessments[3] == assessments[2]:
        assessments[3] = ""  # said once, it holds for both
    elif assessments[2]:
        raise FormalimgError(f"group {levels[2].spec.group} has different questions at L2 and L3: give both the same")
    fields = {"id": number, "category": plain_tags(levels[1].tags)[-1]}
    for level in LEVELS:
        fields[f"prompt_l{level}"] = levels[level].prompt
        if assessments[level]:
            fields[f"ap_l{level}"] = assessments[level]
    return fields


def _encode_questions(groups: Mapping[str, _Levels]) -> list[dict[str, Any]]:
    questions = [
        (number, levels[level], question)
        for number, levels in groups.items()
        for level in LEVELS
        for question in levels[level].spec.questions
    ]
    return [
        {
            "id": str(position),
            "source_id": number,
            "prompt_level": f"l{item.level}",
            "category": plain_tags(item.tags)[-1],
            "question_type": PUBLISHED_TYPES[question.dimension],
            "question": question.question,
            "evaluation_criteria": question.criteria,
            "weight": question.weight,
            "generator_model": "formalimg",
        }
        for position, (number, item, question) in enumerate(questions, 1)
    ]


def _encode_json(records: Sequence[Mapping[str, Any]]) -> str:
    # ASCII only: the published scripts open files with whatever encoding their machine has.
    return json.dumps(records, indent=4)
