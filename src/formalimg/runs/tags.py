"""User-defined tags and the note of a run, stored in `tags.json`.

A writer names the version that was read. If the file has changed since, nothing is written, so that of two people who
edit at the same time, neither overwrites the other unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from formalimg._util.io import read_plain_bytes
from formalimg._util.locks import lock_file
from formalimg._util.plain_folders import PlainFolder, open_plain_folder
from formalimg._util.strict_json import is_text, loads_strict
from formalimg.errors import FormalimgError
from formalimg.runs.manifest import MANIFEST_FILE

TAGS_FILE = "tags.json"
_LOCK_FILE = ".tags.lock"
_SCHEMA = 1
_MAX_BYTES = 100_000
MAX_TAGS, MAX_TAG, MAX_NOTE = 20, 40, 4_000  # Limits: the number of tags, and the characters of a tag and of a note
_saving = Lock()  # Threads of this process take turns; others are kept out by a file


class RunTags(NamedTuple):
    """The tags and note that users have added to a run."""

    tags: tuple[str, ...] = ()  # short labels, each once, in the order in which they were given
    note: str = ""  # a text of several lines
    version: str = ""  # a digest of the file that this was read from; empty if there is none


class TagsChangedError(FormalimgError):
    """Raised when the tags have changed since they were read, with the new tags in `current`."""

    def __init__(self, message: str, current: RunTags) -> None:
        """Initialize the error with the tags currently stored."""
        super().__init__(message)
        self.current = current


def read_tags(folder: Path) -> RunTags:
    """Read the tags and the note of a run, or return empty ones if there are none."""
    path = folder / TAGS_FILE
    return _parse_tags(path, lambda: read_plain_bytes(path, _MAX_BYTES))


def _parse_tags(path: Path, read: Callable[[], bytes]) -> RunTags:
    try:
        data = read()
    except FileNotFoundError:
        return RunTags()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    try:
        record = loads_strict(data)
        tags, note, schema = validate_tags(record["tags"]), validate_note(record["note"]), record["schema"]
    except (FormalimgError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise FormalimgError(f"{path} is damaged: remove it, and write the tags again") from error
    if schema != _SCHEMA:
        raise FormalimgError(f"{path} has schema {schema!r:.40}: use the version that wrote it")
    return RunTags(tags, note, hashlib.sha256(data).hexdigest()[:16])


def write_tags(folder: Path, tags: Iterable[str], note: str, *, version: str, root: Path | None = None) -> RunTags:
    """Write the tags and the note of a run, and return them with their new version.

    Nothing is written through symbolic links, nor to a folder that is not a run.

    Args:
        folder: the run folder.
        tags: its tags.
        note: its note.
        version: the version that the writer has seen.
        root: a folder around it, below which no part of the path may be a link. Default: the run folder itself.
    """
    new = {"schema": _SCHEMA, "tags": list(validate_tags(list(tags))), "note": validate_note(note)}
    with _lock_tags(folder, root or folder) as opened:
        current = _parse_tags(folder / TAGS_FILE, lambda: opened.read(TAGS_FILE, _MAX_BYTES))
        if current.version != version:
            raise TagsChangedError("this run's tags were changed in the meantime: nothing was saved", current)
        data = f"{json.dumps(new, ensure_ascii=False, indent=1)}\n".encode()
        opened.replace(TAGS_FILE, data)
        return _parse_tags(folder / TAGS_FILE, lambda: data)


def validate_tags(tags: object) -> tuple[str, ...]:
    """Validate tags, strip surrounding spaces and remove duplicates."""
    if not isinstance(tags, list) or not all(map(is_text, tags)):
        raise FormalimgError("tags are a list of texts")
    stripped = tuple(dict.fromkeys(tag.strip() for tag in tags))
    for tag in stripped:
        if not (0 < len(tag) <= MAX_TAG and tag.isprintable() and "," not in tag):
            raise FormalimgError(f"the tag {tag[:60]!r} is not one: write 1 to {MAX_TAG} characters without a comma")
    if len(stripped) > MAX_TAGS:
        raise FormalimgError(f"a run has {MAX_TAGS} tags at most, and there are {len(stripped)}: leave some out")
    return stripped


def validate_note(note: object) -> str:
    """Validate a note and strip surrounding spaces."""
    if not is_text(note):
        raise FormalimgError("a note is a text")
    text = note.strip().replace("\r\n", "\n")
    if len(text) > MAX_NOTE:
        raise FormalimgError(f"a note has {MAX_NOTE:,} characters at most, and this one has {len(text):,}: shorten it")
    return text


def can_write_tags(folder: Path, root: Path | None = None) -> bool:
    """Return whether `write_tags` can write to the folder."""
    try:
        with open_plain_folder(folder, root or folder) as opened:
            return opened.has_file(MANIFEST_FILE) and os.access(folder, os.W_OK)
    except OSError:
        return False


@contextmanager
def _lock_tags(folder: Path, root: Path) -> Iterator[PlainFolder]:
    try:
        with _saving, open_plain_folder(folder, root) as opened:
            if not opened.has_file(MANIFEST_FILE):
                raise FormalimgError(f"{folder} is not a run, so nothing was saved: name the folder of a run")
            if not os.access(folder, os.W_OK):
                raise FormalimgError(f"{folder} is not writable, so nothing was saved: change its permissions")
            with open(
                folder / _LOCK_FILE, "a", encoding="utf-8", opener=lambda _, flags: opened.open(_LOCK_FILE, flags)
            ) as file:
                try:
                    lock_file(file)
                except OSError as error:
                    raise FormalimgError(f"another process is saving tags of {folder}: try again") from error
                yield opened
    except OSError as error:
        raise FormalimgError(f"cannot write to {folder}: {error.strerror}; nothing was saved") from error
