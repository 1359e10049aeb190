"""Metadata files, row by row, each with the place to name when something is wrong with it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError, presentable


class Row(NamedTuple):
    """Fields by their names, and where they stand."""

    where: str
    fields: Mapping[str, Any]


def json_rows(folder: str, file: str) -> Iterator[Row]:
    """The objects in a file of JSON lines; empty lines are passed over.

    Raises:
        FormalimgError: if the file cannot be read, or a line is no JSON object.
    """
    for number, line in enumerate(text_of(Path(folder, file)).split("\n"), 1):
        if line.strip():
            where = f"{file}, line {number}"
            fields = json_value(line, where)
            if not isinstance(fields, dict):
                raise FormalimgError(f'{where}: must be a JSON object such as {{"file_name": "a.png", "item": "7"}}')
            yield Row(where, fields)


def csv_rows(folder: str, file: str) -> Iterator[Row]:
    """The rows of a table with names in its first line; empty cells are as if not there.

    Raises:
        FormalimgError: if the file cannot be read, a name is there twice, or a row has more cells than names.
    """
    reader = csv.DictReader(io.StringIO(text_of(Path(folder, file)), newline=""), strict=True)
    try:
        names = reader.fieldnames or ()
        if len(set(names)) < len(names):
            raise FormalimgError(f"{file}, line 1: two columns have the same name")
        for row in reader:
            where = f"{file}, line {reader.line_num}"
            if None in row:
                raise FormalimgError(f"{where}: has more cells than the first line has names")
            yield Row(where, {name: cell for name, cell in row.items() if cell})
    except csv.Error as error:
        raise FormalimgError(f"{file}, line {reader.reader.line_num}: cannot be read: {error}") from error


def text_of(path: Path) -> str:
    """A text file.

    Raises:
        FormalimgError: if it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"{path} is no UTF-8 text (byte {error.start:,}): save it as UTF-8") from error


def json_value(text: str, where: str) -> Any:
    """What a JSON text says.

    Raises:
        FormalimgError: if it is no JSON, or an object has the same name twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise FormalimgError(presentable(f"{where}: cannot be read as JSON: {error}", 200, 100)) from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        raise ValueError(f"{twice!r} is there twice")
    return fields
