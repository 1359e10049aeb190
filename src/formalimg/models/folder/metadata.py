"""Metadata files, row by row, each with the place to name when something is wrong with it."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import read_text
from formalimg._util.strict_json import loads_strict
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    Claim,
    Folder,
    FolderImage,
    Wishes,
    composed,
    is_any_image,
    is_number,
    named,
)


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


_MOST_DIGITS = 9


class Entry(NamedTuple):
    """What is said about one file.

    Attributes:
        where: where it is said.
        file: the file.
        item: the item it shows; holds whatever the prompt says.
        id: the item it shows, or some other number of the user's own if no item has this id.
        prompt: the words it was made from.
        sample: which of the item's images it is; None if the entries are in the order of the samples.
    """

    where: str
    file: str
    item: str | None
    id: str | None
    prompt: str | None
    sample: int | None


def entry_of(row: Row, file_fields: tuple[str, ...]) -> Entry:
    """A row, read. Fields that nobody knows are passed over.

    Raises:
        FormalimgError: if the file or the item is not said, or a field has the wrong type.
    """
    where, fields = row
    file = next((fields[name] for name in file_fields if fields.get(name) is not None), None)
    if not isinstance(file, str) or not file or "\0" in file:
        raise FormalimgError(f"{where}: {' or '.join(file_fields)} must name a file")
    prompt = fields.get("prompt") if fields.get("prompt") is not None else fields.get("text")
    if prompt is not None and not isinstance(prompt, str):
        raise FormalimgError(f"{where}: prompt must be text")
    item, identity = (_id(fields.get(name), name, where) for name in ("item", "id"))
    if item is None and identity is None and prompt is None:
        raise FormalimgError(f"{where}: must say the item: add item, id or prompt")
    return Entry(where, file, item, identity, prompt, _sample(fields.get("sample"), where))


def claims_of(entries: Iterable[Entry], wishes: Wishes, folder: str) -> Iterator[Claim]:
    """What the entries say about their files, which are named as seen from the folder.

    Raises:
        FormalimgError: if an entry contradicts itself, or its prompt is that of several items.
    """
    numbered: Counter[str] = Counter()
    for entry in entries:
        item = _item(entry, wishes)
        image = None
        if item is not None:
            image = FolderImage(item, numbered[item] if entry.sample is None else entry.sample)
            numbered[item] += entry.sample is None
        # isfile, because a Path would raise for names that no file can have.
        there = os.path.isfile(os.path.join(folder, entry.file))  # noqa: PTH113, PTH118
        yield Claim(entry.file, image, there=there)


def _item(entry: Entry, wishes: Wishes) -> str | None:
    meant = wishes.items_with(entry.prompt)
    item = wishes.item_numbered(entry.id) if entry.item is None and entry.id is not None else None
    if entry.item is not None:
        item = wishes.item_numbered(entry.item)
    elif item is None:
        if len(meant) > 1:
            raise FormalimgError(
                f"{entry.where}: items {' and '.join(map(named, meant[:2]))} have this prompt: add item"
            )
        return meant[0] if meant else None
    if item is not None and meant and item not in meant:
        raise FormalimgError(
            f"{entry.where}: says item {named(item)}, but the prompt is that of item {named(meant[0])}: mend one, "
            "or take the other out"
        )
    return item


def _id(value: Any, name: str, where: str) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise FormalimgError(f"{where}: {name} must be text or a whole number")


def _sample(value: Any, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and is_number(value) and len(value) <= _MOST_DIGITS:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise FormalimgError(f"{where}: sample must be a whole number from 0 on")


METADATA = ("metadata.jsonl", "metadata.csv")

_DRIVE = re.compile(r"[A-Za-z]:")


def claims_by_metadata(folder: Folder, wishes: Wishes) -> Iterator[Claim]:
    """What the metadata say about the files of a folder.

    Raises:
        FormalimgError: if there are none, or two, or they cannot be read or lead out of the folder.
    """
    present = [name for name in METADATA if name in folder.files]
    if len(present) != 1:
        problem = "both metadata.jsonl and metadata.csv: keep one" if present else "no metadata.jsonl or metadata.csv"
        raise FormalimgError(f"{named(folder.path)} has {problem}")
    rows = (json_rows if present[0] == METADATA[0] else csv_rows)(folder.path, present[0])
    entries = [_inside(entry_of(row, ("file_name",))) for row in rows]
    spelled = {composed(file): file for file in folder.files}
    entries = [entry._replace(file=spelled.get(composed(entry.file), entry.file)) for entry in entries]
    yield from claims_of(entries, wishes, folder.path)
    described = {entry.file for entry in entries}
    yield from (Claim(file, None) for file in folder.files if is_any_image(file) and file not in described)


def _inside(entry: Entry) -> Entry:
    """The entry with a plain path. Metadata often come from elsewhere, so they may not lead out of the folder."""
    parts = entry.file.split("/")
    if not parts[0] or ".." in parts or "\\" in entry.file or _DRIVE.match(entry.file):
        raise FormalimgError(
            f"{entry.where}: file_name must be a path inside the folder, with / between folders; "
            f"{named(entry.file)!r} is not (a map file may name files anywhere)"
        )
    return entry._replace(file="/".join(part for part in parts if part not in ("", ".")))


_FILE_FIELDS = ("file", "path", "image", "file_name")


def claims_by_map(path: Path, wishes: Wishes) -> Iterator[Claim]:
    """What a map says; its paths are as seen from the folder it lies in.

    Raises:
        FormalimgError: if it cannot be read, or is neither an object nor a list of the right form.
    """
    yield from claims_of(
        list(_entries(json_value(read_text(path), str(path)), named(path.name))), wishes, str(path.parent)
    )


def _entries(content: Any, name: str) -> Iterator[Entry]:
    if isinstance(content, list):
        for number, fields in enumerate(content, 1):
            where = f"{name}, entry {number}"
            if not isinstance(fields, dict):
                raise FormalimgError(f'{where}: must be an object such as {{"item": "7", "file": "a.png"}}')
            yield entry_of(Row(where, fields), _FILE_FIELDS)
        return
    if not isinstance(content, dict):
        raise FormalimgError(f'{name} must be an object such as {{"7": "a.png"}}, or a list of objects')
    for item, files in content.items():
        listed = isinstance(files, list)
        for sample, file in enumerate(files if listed else [files]):
            where = f"{name}, item {named(item)}"
            yield entry_of(Row(where, {"item": item, "file": file, "sample": sample}), ("file",))
