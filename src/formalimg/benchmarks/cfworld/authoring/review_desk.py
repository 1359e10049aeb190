"""The review desk: decisions about a queue, with one writer at a time, stored before they are confirmed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from formalimg._util.io import atomic_write_text
from formalimg._util.locks import lock_file
from formalimg.benchmarks.authoring.task import Choice, Reviewing, StaleGroupError, UnknownGroupError
from formalimg.benchmarks.cfworld.authoring.review_queue import (
    ReviewLine,
    export_queue,
    import_queue,
    parse_queue,
    read_queue,
)
from formalimg.benchmarks.cfworld.group_checks import check_group
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup
from formalimg.errors import FormalimgError

_PATIENCE = 5.0  # Seconds to wait for another writer, who needs a small part of one


@contextmanager
def exclusive_access(path: Path) -> Iterator[None]:
    """Hold the advisory lock of a file, which is a hidden file beside it because the file itself is replaced."""
    try:
        file = path.with_name(f".{path.name}.lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise FormalimgError(
            f"cannot write next to {path}: {error.strerror}; check the folder's permissions"
        ) from error
    with file:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                lock_file(file)
                break
            except OSError as error:
                if time.monotonic() > end:
                    raise FormalimgError(
                        f"{path} is being written by another process: try again; nothing was changed"
                    ) from error
                time.sleep(0.02)
        yield


class GroupDesk:
    """A review queue open for decisions; the file is read for each call, so that other writers' changes are seen."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = self.path.resolve()  # a link stays a link, and what it leads to is written
        self._cache: Mapping[bytes, ReviewLine] = {}
        self.lines()

    def lines(self) -> list[ReviewLine]:
        """Return all groups, in queue order."""
        return self._parse(read_queue(self._file))

    def _parse(self, content: bytes) -> list[ReviewLine]:
        self._cache = parse_queue(content, self.path, self._cache)
        return list(self._cache.values())

    def decide(
        self,
        name: str,
        version: str,
        *,
        choice: Choice | None = None,
        note: str | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> ReviewLine:
        """Write a decision to the queue, and return the group with it; a decision may be repeated with any version."""
        with exclusive_access(self._file):
            content = read_queue(self._file)
            lines = self._parse(content)
            index = _find_index(lines, name)
            stored = lines[index]
            new = _with_decision(_with_changes(lines, index, changes or {}), choice, note)
            if replace(new, problems=stored.problems) == stored:  # said again, perhaps because the answer was lost
                return stored
            if stored.version != version:
                raise StaleGroupError(
                    f"group {name} was changed in another window or in the file: nothing was saved; reload to see it"
                )
            new.kept()
            _require_no_repetition(new, lines, index)
            texts = content.splitlines()
            try:
                texts[index] = json.dumps(new.stored, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError as error:
                raise FormalimgError("the text contains lone surrogates: type these characters again") from error
            if read_queue(self._file) != content:  # by an editor, say, which asks for no lock
                raise StaleGroupError(f"{self.path} was changed during this edit: nothing was saved; try again")
            atomic_write_text(self._file, b"".join(text + b"\n" for text in texts).decode("utf-8"))
        return new

    def tried(self, name: str, changes: Mapping[str, Any]) -> ReviewLine:
        """Return the group with changes applied and checked, without writing anything."""
        lines = self.lines()
        return _with_changes(lines, _find_index(lines, name), changes)


def _find_index(lines: Sequence[ReviewLine], name: str) -> int:
    index = next((index for index, line in enumerate(lines) if line.id == name), None)
    if index is None:
        raise UnknownGroupError(f"there is no group {name!r} in this queue")
    return index


def _with_changes(lines: Sequence[ReviewLine], index: int, changes: Mapping[str, Any]) -> ReviewLine:
    """Return a line with changed fields and the checker's findings about them."""
    line = lines[index]
    if not changes:
        return line
    unknown = next((name for name in changes if name == "id" or name not in line.editable), None)
    if unknown is not None:
        raise FormalimgError(f"{unknown!r} cannot be changed")
    fields = {**line.editable, **changes}
    questions = fields.pop("questions", None)
    new = replace(line, group=CounterfactualGroup.from_fields(fields), own_questions=questions)
    return replace(new, problems=new.objections([earlier.group for earlier in lines[:index]]))


def _with_decision(line: ReviewLine, choice: Choice | None, note: str | None) -> ReviewLine:
    decision = line.decision if choice is None else choice
    if decision in ("accept", "edit"):
        decision = "edit" if line.is_changed else "accept"
    elif not decision and line.is_changed:
        raise FormalimgError(f"group {line.id} was edited: accept it as it is now, reject it, or edit it back")
    return replace(line, decision=decision, note=line.note if note is None else note)


def _require_no_repetition(line: ReviewLine, lines: Sequence[ReviewLine], index: int) -> None:
    """Raise an error if an edited group duplicates an earlier group that is kept."""
    if line.decision not in ("accept", "edit"):
        return
    pairs = [(later.group, [line.group]) for later in lines[index + 1 :] if later.decision == "edit"]
    if line.decision == "edit":
        kept = [earlier.group for earlier in lines[:index] if earlier.decision in ("accept", "edit")]
        pairs.insert(0, (line.group, kept))
    for edited, before in pairs:
        for problem in check_group(edited, before):
            if problem.reason == "duplicate":
                raise FormalimgError(
                    f"group {edited.id} was edited, and {problem.detail}: reject or change one of them"
                )


REVIEWING = Reviewing(export_queue, GroupDesk, import_queue)
