"""A JSON file that says which image is where: `{"7": "images/seven.png"}`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formalimg._util.io import read_text
from formalimg.errors import FormalimgError
from formalimg.models.folder.claims import Claim
from formalimg.models.folder.entries import Entry, claims_of, entry_of
from formalimg.models.folder.lines import Row, json_value
from formalimg.models.folder.matching import named
from formalimg.models.folder.wishes import Wishes

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
