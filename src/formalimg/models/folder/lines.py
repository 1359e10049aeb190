"""Metadata files, row by row, each with the place to name when something is wrong with it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import read_text
from formalimg._util.strict_json import loads_strict
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError


class Row(NamedTuple):
    """Fields by their names, and where they stand."""

    where: str
    fields: Mapping[str, Any]


def json_rows(folder: str, file: str) -> Iterator[Row]:
    """The objects in a file of JSON lines; empty lines are passed over.

    Raises:
        FormalimgError: if the file cannot be read, or a line is no JSON object.
    """
    for number, line in enumerate(read_text(Path(folder, file)).split("\n"), 1):
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
    reader = csv.DictReader(io.StringIO(read_text(Path(folder, file)), newline=""), strict=True)
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


def json_value(text: str, where: str) -> Any:
    """What a JSON text says.

    Raises:
        FormalimgError: if it is no JSON, or an object has the same name twice.
    """
    try:
        return loads_strict(text)
    except (ValueError, RecursionError) as error:
        raise FormalimgError(truncate(f"{where}: cannot be read as JSON: {error}", 200, 100)) from error
