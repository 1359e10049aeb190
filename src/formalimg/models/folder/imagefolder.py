"""Images with a `metadata.jsonl` or `metadata.csv` beside them, as data sets of images are often shared.

This is also what a run writes to its own folder of images.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from formalimg.errors import FormalimgError
from formalimg.models.folder.claims import Claim
from formalimg.models.folder.entries import Entry, claims_of, entry_of
from formalimg.models.folder.lines import csv_rows, json_rows
from formalimg.models.folder.matching import named
from formalimg.models.folder.scanning import Folder, is_any_image
from formalimg.models.folder.wishes import Wishes, composed

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
