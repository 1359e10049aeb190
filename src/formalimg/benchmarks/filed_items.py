"""Lazy access to items files: each line is located by its offset and decoded on demand.

Opening reads the head of each line: id, level, tags, version; the lines of known files, such as those of default items,
are not even parsed. Specifications are checked by `require_valid` for the selected items, or else when an item is first
used. Once a large file has been checked completely, its digest is stored in the user's cache folder, and the same
version of formalimg does not check it again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import weakref
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO

from formalimg._util.io import atomic_write, refuse_special_file
from formalimg.benchmarks.items_file import (
    FiledItem,
    ItemRecords,
    UniqueIds,
    encode_item,
    in_order,
    numbered_lines,
    read_head,
    read_line,
)
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.types import Item

_UNCHECKED, _VALID, _CANONICAL = range(3)
_LARGE = 1_000_000
"""Files of so many bytes are remembered once they are checked: smaller ones are checked at once anyway."""


def _line_checksum(line: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(line, digest_size=8).digest(), "little")


class LineRecords(ItemRecords):
    """The lines of an items file, located by offset; reading a line that has changed is an error."""

    def __init__(self, file: BinaryIO, name: str, suite: str) -> None:
        super().__init__(suite)
        self._file = file
        weakref.finalize(self, file.close)
        self._reading = threading.Lock()
        self.checked_file: CheckedFile | None = None
        self._name = name
        self._starts, self._lengths, self._checksums = array("q"), array("q"), array("Q")
        self._states = bytearray()
        self._end = 0

    def add(self, length: int, checksum: int, state: int) -> int:
        """Add the next line by its length and checksum, and return its zero-based number."""
        self._starts.append(self._end)
        self._lengths.append(length)
        self._checksums.append(checksum)
        self._states.append(state)
        self._end += length
        return len(self._states) - 1

    def __len__(self) -> int:
        return len(self._states)

    def line(self, number: int) -> bytes:
        """Return a line without its line ending."""
        with self._reading:
            self._file.seek(self._starts[number])
            line = self._file.read(self._lengths[number])
        if _line_checksum(line) != self._checksums[number]:
            raise FormalimgError(f"{self._name} was changed while it was in use: start again with the file as it is")
        return line.removesuffix(b"\n")

    def is_canonical(self, number: int) -> bool:
        """Return whether a line has been checked and equals the output of `encode_item`."""
        return self._states[number] == _CANONICAL

    def read_spec(self, number: int) -> Any:
        """Return the specification stored in a line, after checking the line if it has not been checked yet."""
        findings = ItemFindings()
        self.check(number, findings)
        findings.raise_any()
        return super().read_spec(number)

    def check(self, number: int, findings: ItemFindings) -> None:
        """Check a line if it has not been checked yet, and add any errors to the findings."""
        if self._states[number] == _UNCHECKED:
            line = self.line(number)
            item = read_line(line, f"{self._name}, line {number + 1}", self._suite, findings)
            if item is not None:
                self._states[number] = _CANONICAL if encode_item(item).encode() == line else _VALID

    @property
    def state(self) -> int:
        """The lowest check state among all lines."""
        return min(self._states, default=_UNCHECKED)

    def place(self, number: int) -> tuple[int, int]:
        """Return the length and the checksum of a line."""
        return self._lengths[number], self._checksums[number]


class CheckedFile:
    """Cache record of a large items file that has been fully checked: the heads of its items, in file order."""

    def __init__(self, path: Path, suite: str) -> None:
        from importlib.metadata import version  # these here, because most files are small

        from formalimg._util.io import cache_folder

        with path.open("rb") as file:
            self.digest = hashlib.file_digest(file, "sha256").hexdigest()
        name = hashlib.sha256(json.dumps([version("formalimg"), suite, self.digest]).encode()).hexdigest()
        self._marker = cache_folder() / "checked-items" / f"{name}.json"

    def remember(self, items: Sequence[FiledItem], records: LineRecords) -> None:
        """Record that all items of the file have been checked."""
        if self._marker.exists():
            return
        heads = [
            (item.number, item.id, item.level, item.tags, item.version, *records.place(item.number)) for item in items
        ]
        with contextlib.suppress(OSError, FormalimgError):  # it is checked again the next time
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._marker, [json.dumps({"state": records.state, "heads": heads}).encode()])

    def recall(self, records: LineRecords, suite: str) -> list[Item[Any]] | None:
        """Return the items if an earlier process has checked the same file, else None."""
        try:
            stored = json.loads(self._marker.read_bytes())
            state, heads = stored["state"], stored["heads"]
            places = sorted((head[0], head[5], head[6]) for head in heads)
            is_whole = bool(heads) and [place[0] for place in places] == list(range(len(heads)))
        except (OSError, ValueError, LookupError, TypeError):
            return None
        if state not in (_VALID, _CANONICAL) or not is_whole:
            return None
        for _, length, checksum in places:
            records.add(length, checksum, state)
        return [
            FiledItem.of(records, number, suite, id_, level, tuple(map(intern, tags)), intern(version))
            for number, id_, level, tags, version, *_ in heads
        ]


def open_items_file(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items of an items file without checking their specifications; add other errors to the findings."""
    refuse_special_file(path)
    try:
        records = LineRecords(path.open("rb"), str(path), suite)
        if path.stat().st_size >= _LARGE:
            records.checked_file = CheckedFile(path, suite)
    except OSError as error:
        findings.add(str(path), f"cannot be read: {error.strerror}")
        return []
    if records.checked_file and (items := records.checked_file.recall(records, suite)) is not None:
        return items
    items = []
    ids, digest = UniqueIds(), hashlib.sha256()
    for number, line in numbered_lines(path, findings):
        digest.update(line)
        location = f"{path}, line {number}"
        head = read_head(line, location, suite, findings)
        index = records.add(len(line), _line_checksum(line), _UNCHECKED)
        if head is None:
            continue
        if problem := ids.find_problem(head, number):
            findings.add(location, problem)
        else:
            tags = tuple(map(intern, head.tags))
            items.append(FiledItem.of(records, index, suite, head.id, head.level, tags, intern(head.version)))
    if records.checked_file and records.checked_file.digest != digest.hexdigest():
        records.checked_file = None  # it was changed meanwhile
    return in_order(items)


_HEAD = re.compile(
    rb'\{"format": \d+, "suite": "[^"\\]*", "version": "([^"\\]*)", "id": "([^"\\]*)", "level": (\d+), "prompt": '
)
_TAGS = b', "tags": '


def open_known_lines(data: bytes, suite: str) -> list[Item[Any]]:
    """Return the items in the content of a file known to be written by `write_items`.

    Only the beginning and the end of each line are parsed, which hold the ids, levels, versions and tags.
    """
    lines = data.splitlines()
    records = ItemRecords(suite, lines)
    seen_tags: dict[bytes, tuple[str, ...]] = {b"": ()}
    items: list[Item[Any]] = []
    for number, line in enumerate(lines):
        head = _HEAD.match(line)
        assert head is not None, "what we ship was written by `write_items`"
        version, id_, level = head.groups()
        listed = _read_listed_tags(line)
        tags = seen_tags.get(listed)
        if tags is None:
            tags = seen_tags[listed] = tuple(map(intern, json.loads(listed)))
        items.append(FiledItem.of(records, number, suite, id_.decode(), int(level), tags, intern(version.decode())))
    return items


def _read_listed_tags(line: bytes) -> bytes:
    # The last field of the item, and not one inside of another: there would be a bracket or a brace behind it.
    listed = line[line.rfind(_TAGS) + len(_TAGS) : -1] if line.endswith(b'"]}') else b""
    return listed if listed.startswith(b"[") and listed.find(b"]") == len(listed) - 1 else b""


def require_valid(items: Iterable[Item[Any]]) -> None:
    """Check the specifications of items that were opened without being loaded."""
    findings = ItemFindings()
    checked: dict[LineRecords, list[FiledItem]] = {}
    for item in items:
        records = getattr(item, "records", None)
        if isinstance(item, FiledItem) and isinstance(records, LineRecords):
            records.check(item.number, findings)
            checked.setdefault(records, []).append(item)
    findings.raise_any()
    for records, file_items in checked.items():
        if records.checked_file and len(file_items) == len(records) and records.state != _UNCHECKED:
            records.checked_file.remember(file_items, records)
