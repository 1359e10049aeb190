"""Readers for users' lists (strict) and published tables (lenient) in JSON Lines, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import refuse_special_file
from formalimg._util.strict_json import count_values, loads_strict
from formalimg._util.text import read_csv_cell
from formalimg.errors import FormalimgError

_MAX_BYTES = 100_000_000
_MAX_VALUES = 4_000_000  # The most keys and values of a JSON file, which take up to 100 bytes of memory each
_TOO_LONG = "cannot read {}: it has more than {:,} bytes, split it"


def read_records(path: Path, only: str) -> list[Mapping[str, Any]]:
    """Return the records of a JSON Lines, JSON or CSV file, or the lines of any other file as the field `only`."""
    try:
        text = read_file_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormalimgError(f"cannot read {path}: it is not UTF-8, save it with that encoding") from None
    try:
        match path.suffix.lower():
            case ".jsonl" | ".ndjson":
                records = [loads_strict(line) for line in text.splitlines() if line.strip()]
            case ".json":
                records = loads_strict(text)
            case ".csv":
                rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
                records = [{name: read_csv_cell(cell) for name, cell in row.items() if cell} for row in rows]
            case _:
                return [{only: line.strip()} for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError, csv.Error, AttributeError, TypeError) as error:
        raise FormalimgError(f"cannot read {path}: {' '.join(str(error).split())[:200]}: fix the file") from None
    if isinstance(records, list) and all(isinstance(record, str) for record in records):
        records = [{only: record} for record in records]
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise FormalimgError(f"cannot read {path}: it must hold a list of objects such as {json.dumps({only: '…'})}")
    return records


def read_file_bytes(path: Path) -> bytes:
    """Return the content of a list file."""
    try:
        refuse_special_file(path)
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror or error}: check the path") from error
    if len(data) > _MAX_BYTES:
        raise FormalimgError(_TOO_LONG.format(path, _MAX_BYTES))
    return data


class TableRecord(NamedTuple):
    """A record of a published table: its position, and its fields with names in snake case."""

    where: str
    fields: dict[str, Any]

    @classmethod
    def of(cls, where: str, record: Mapping[Any, Any]) -> TableRecord:
        """Build a record, normalizing its field names."""
        return cls(where, {_plain_name(str(name)): value for name, value in record.items()})

    def first(self, names: tuple[str, ...]) -> Any:
        """Return the first of these fields that is present and not empty, or None."""
        return next((value for name in names if (value := self.fields.get(name)) not in (None, "")), None)

    def text(self, names: tuple[str, ...]) -> str:
        """Return the first non-empty field as a single line; empty if it is neither a string nor a number."""
        value = self.first(names)
        return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


@lru_cache(1000)  # a table has few names, and many records with them
def _plain_name(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def read_table(path: Path, skip: Callable[[str, str], None]) -> list[TableRecord]:
    """Return the records of a third-party table as a list; see `iterate_table`."""
    return list(iterate_table(path, skip))


def iterate_table(path: Path, skip: Callable[[str, str], None]) -> Iterator[TableRecord]:
    """Yield the records of a third-party table in JSON Lines, JSON or CSV.

    Undecodable bytes are replaced. A JSON object of objects is read as a list of them, each with its key as `id`. Files
    are read lazily, except for JSON, whose values are counted first.
    """
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            records = _json_lines(_lines(path, "\n"), path, skip)
        case ".json":
            records = _json_records(read_file_bytes(path), path, skip)
        case ".csv" | ".tsv":
            records = _csv_rows(_lines(path, ""), path, skip, "," if path.suffix.lower() == ".csv" else "\t")
        case _:
            raise FormalimgError(f"cannot read {path}: give a file whose name ends in .csv, .tsv, .jsonl or .json")
    return (TableRecord.of(location, record) for location, record in records)


def _lines(path: Path, newline: str) -> Iterator[str]:
    """Yield the lines of a list file."""
    try:
        refuse_special_file(path)
        with path.open(encoding="utf-8-sig", errors="replace", newline=newline) as file:
            if os.fstat(file.fileno()).st_size > _MAX_BYTES:
                raise FormalimgError(_TOO_LONG.format(path, _MAX_BYTES))
            yield from file
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror or error}: check the path") from error


def _json_lines(
    lines: Iterator[str], path: Path, skip: Callable[[str, str], None]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        location = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield location, record
        else:
            skip(location, "it is not a JSON object")


def _json_records(data: bytes, path: Path, skip: Callable[[str, str], None]) -> Iterator[tuple[str, dict[str, Any]]]:
    if count_values(data, _MAX_VALUES) > _MAX_VALUES:
        raise FormalimgError(f"cannot read {path}: it has more than {_MAX_VALUES:,} values, save it as JSON Lines")
    try:
        content = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"cannot read {path}: {' '.join(str(error).split())[:200]}: fix the file") from None
    if isinstance(content, dict):
        content = [{"id": key, **record} if isinstance(record, dict) else record for key, record in content.items()]
    if not isinstance(content, list):
        raise FormalimgError(f"cannot read {path}: it must hold a list of objects, or an object of objects")
    for number, record in enumerate(content, 1):
        if isinstance(record, dict):
            yield f"{path}, record {number}", record
        else:
            skip(f"{path}, record {number}", "it is not a JSON object")


def _csv_rows(
    lines: Iterator[str], path: Path, skip: Callable[[str, str], None], mark: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = csv.DictReader((line.replace("\0", "\ufffd") for line in lines), delimiter=mark)
    while True:
        location = f"{path}, line {rows.line_num + 1}"
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            skip(location, f"it is not valid CSV: {error}")
            continue
        yield (
            location,
            {name: read_csv_cell(cell) for name, cell in row.items() if name and isinstance(cell, str) and cell},
        )
