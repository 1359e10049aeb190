"""Published files of CF-World: lists of records, read strictly but for the oddities that are known and told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.strict_json import loads_strict
from formalimg.suites.cfworld.tidying import Tidying
from formalimg.suites.findings import Findings
from formalimg.suites.record import Record

_MISTYPED = re.compile(r"(ap|prompt)_([123])")

_LARGEST = 1_000
"""No number in published files is as large."""


class RecordForm(NamedTuple):
    """What the records of a kind of file hold.

    Attributes:
        called: what such a record is, with its article.
        texts: fields that must be there and hold words.
        optional: fields of words that may be missing.
        numbers: fields that must be there and hold a number above 0.
        ids: fields that name something, as text or as a whole number.
        ignored: fields that nobody needs.
        id_pattern: what ids look like.
    """

    called: str
    texts: tuple[str, ...]
    optional: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    ids: tuple[str, ...] = ("id",)
    ignored: tuple[str, ...] = ()
    id_pattern: str = "0|[1-9][0-9]{0,8}"


class Entry(NamedTuple):
    """A record that is as it should be: ids and texts as text without blanks at the edges, and missing ones empty."""

    where: str
    texts: dict[str, str]
    numbers: dict[str, float]


def read_entries(root: Path, name: str, form: RecordForm, findings: Findings, tidied: list[Tidying]) -> list[Entry]:
    """The records of a file; what is wrong is added to the findings, and what was tidied up to the tidyings."""
    records = _list_in(root / name, name, findings)
    kinds = {type(record.get("id")) for record in records if isinstance(record, dict)}
    entries: dict[str, Entry] = {}
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            findings.add(f"{name}, record {number}", "must be an object")
            continue
        where = f"{name}, id {record['id']}" if "id" in record else f"{name}, record {number}"
        if len(kinds) > 1 and isinstance(record.get("id"), int):
            tidied.append(Tidying(where, "ids of two types", f"read as text, {str(record['id'])!r}"))
        fields = _rekeyed(record, form, where, tidied)
        entry = _entry(Record(where, fields, findings, form.called), form, tidied)
        if entry is None:
            continue
        if entry.texts["id"] in entries:
            findings.add(where, "another record has this id")
        entries[entry.texts["id"]] = entry
    return list(entries.values())


def _list_in(path: Path, name: str, findings: Findings) -> Sequence[Any]:
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


def _rekeyed(record: dict[str, Any], form: RecordForm, where: str, tidied: list[Tidying]) -> dict[str, Any]:
    """The record with the keys that were meant: `ap_3` is `ap_l3`, unless that is there too."""
    fields = {}
    for key, value in record.items():
        meant = _MISTYPED.sub(r"\1_l\2", key) if _MISTYPED.fullmatch(key) else key
        if meant != key and meant in (*form.texts, *form.optional) and meant not in record:
            tidied.append(Tidying(where, "mistyped key", f"{key} read as {meant}"))
            key = meant
        fields[key] = value
    return fields


def _entry(record: Record, form: RecordForm, tidied: list[Tidying]) -> Entry | None:
    before = len(record.findings)
    needed = (*form.ids, *form.texts, *form.numbers)
    if not record.has_all(needed, (*needed, *form.optional, *form.ignored)):
        return None
    found = {name: record.text(name, empty=name in form.optional) for name in _text_names(record, form)}
    texts = {name: text.strip() for name, text in found.items() if text is not None}
    for name in form.ids:
        value = record.fields[name]
        texts[name] = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
        if not re.fullmatch(form.id_pattern, texts[name]):
            record.wrong(f"{name} must be a number as published ids are, but is {value!r}")
    numbers = {name: record.fields[name] for name in form.numbers}
    for name, value in numbers.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < _LARGEST:
            record.wrong(f"{name} must be a number above 0 and below {_LARGEST:,}, but is {value!r}")
    if len(record.findings) > before:
        return None
    blank = [name for name, text in found.items() if text != texts[name]]
    if blank:
        tidied.append(Tidying(record.where, "blanks at the edges", f"taken off {', '.join(blank)}"))
    return Entry(record.where, {**dict.fromkeys(form.optional, ""), **texts}, numbers)


def _text_names(record: Record, form: RecordForm) -> Iterator[str]:
    yield from form.texts
    yield from (name for name in form.optional if name in record.fields)
