"""The review desk: decisions on a queue, one writer at a time, stored before they are confirmed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from formalimg._util.io import atomic_write_text
from formalimg._util.locks import lock_file
from formalimg.benchmarks.authoring.reviewing import (
    Choice,
    ImportedReview,
    Reviewing,
    StaleGroupError,
    UnknownGroupError,
)
from formalimg.benchmarks.cfworld.authoring.groups import LEVELS, parse_line
from formalimg.benchmarks.cfworld.authoring.review_decisions import queue_bytes, read_review, write_review
from formalimg.benchmarks.cfworld.authoring.review_queue import ReviewLine, export_queue
from formalimg.benchmarks.cfworld.group_checks import check_group
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError

_PATIENCE = 5.0
"""How many seconds to wait for another writer, who needs a small part of one."""


@contextmanager
def exclusive_access(path: Path) -> Iterator[None]:
    """Let no other process, and no other thread, change the file meanwhile: one that asks in the same way.

    The lock is a hidden file beside it, because the file itself is replaced.
    """
    try:
        file = path.with_name(f".{path.name}.lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise FormalimgError(f"cannot write beside {path}: {error.strerror}; check the folder's permissions") from error
    with file:
        _wait(file, path)
        yield


def _wait(file: IO[str], path: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return lock_file(file)
        except OSError as error:
            if time.monotonic() > end:
                raise FormalimgError(
                    f"{path} is being written by another process: try again; nothing was changed"
                ) from error
            time.sleep(0.02)


class GroupReviewing(Reviewing):
    """How people review groups of CF-World."""

    def export_queue(self, source: str, path: Path) -> int:
        """Write groups to a queue."""
        return export_queue(source, path)

    def open_desk(self, path: Path) -> GroupDesk:
        """Open a queue."""
        return GroupDesk(path)

    def import_queue(self, path: Path, folder: Path, version: str) -> ImportedReview:
        """Read the decisions in a queue, and write the accepted groups with their items and a report."""
        review = read_review(path)
        items = write_review(review, folder, version)
        return ImportedReview(
            review.decisions, review.undecided, review.overruled, len(review.accepted) * len(LEVELS), items
        )


class GroupDesk:
    """A queue that people decide about. The file is read anew each time, so what others write shows at once."""

    def __init__(self, path: str | Path) -> None:
        """Sit down at a queue."""
        self.path = Path(path)
        self._file = self.path.resolve()  # a link stays a link, and what it leads to is written
        self._read: Mapping[bytes, ReviewLine] = {}
        self.lines()

    def lines(self) -> list[ReviewLine]:
        """Return all groups, in queue order."""
        return self._lines(queue_bytes(self._file))

    def decide(
        self,
        name: str,
        version: str,
        *,
        choice: Choice | None = None,
        note: str | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> ReviewLine:
        """Write a decision to the queue, and give the group as it now stands there.

        What stands there already may be said again, however long ago the line was seen.
        """
        with exclusive_access(self._file):
            found = queue_bytes(self._file)
            lines = self._lines(found)
            place = _place(lines, name)
            seen = lines[place]
            new = _decided(_changed(lines, place, changes or {}), choice, note)
            if replace(new, problems=seen.problems) == seen:  # said again, perhaps because the answer was lost
                return seen
            if seen.version != version:
                raise StaleGroupError(
                    f"group {name} was changed meanwhile, in another window or in the file: nothing was saved; "
                    "reload to see it"
                )
            new.kept()
            _require_no_repetition(new, lines, place)
            raw = found.splitlines()
            raw[place] = _encoded(new)
            if queue_bytes(self._file) != found:  # by an editor, say, which asks for no lock
                raise StaleGroupError(f"{self.path} was changed at this very moment: nothing was saved; try again")
            atomic_write_text(self._file, b"".join(line + b"\n" for line in raw).decode("utf-8"))
        return new

    def tried(self, name: str, changes: Mapping[str, Any]) -> ReviewLine:
        """The group as it would be with changes, and with what the checker would find; nothing is written."""
        lines = self.lines()
        return _changed(lines, _place(lines, name), changes)

    def _lines(self, found: bytes) -> list[ReviewLine]:
        """The lines in a file; those that are as they were at the last look are not examined again."""
        lines: list[ReviewLine] = []
        wrong: list[str] = []
        names: set[str] = set()
        read: dict[bytes, ReviewLine] = {}
        for number, raw in enumerate(found.splitlines(), 1):
            try:
                line = self._read.get(raw) or ReviewLine.from_fields(parse_line(raw))
                if raw not in self._read:
                    line.kept()
                if line.group.id in names:
                    raise FormalimgError(f"group {line.group.id} stands there twice")
            except FormalimgError as error:
                wrong.append(f"{self.path}, line {number}: {error}")
                continue
            names.add(line.group.id)
            read[raw] = line
            lines.append(line)
        if wrong:
            raise ItemsError(wrong[:20])
        if not lines:
            raise FormalimgError(f"{self.path} holds no groups: export a queue first")
        self._read = read
        return lines


def _place(lines: Sequence[ReviewLine], name: str) -> int:
    for place, line in enumerate(lines):
        if line.group.id == name:
            return place
    raise UnknownGroupError(f"there is no group {name!r} in this queue")


def _changed(lines: Sequence[ReviewLine], place: int, changes: Mapping[str, Any]) -> ReviewLine:
    """A line with other fields, and with what the checker finds in them."""
    line = lines[place]
    if not changes:
        return line
    unknown = next((name for name in changes if name == "id" or name not in line.shown), None)
    if unknown is not None:
        raise FormalimgError(f"{unknown!r} cannot be changed")
    shown = {**line.shown, **changes}
    questions = shown.pop("questions", None)
    new = replace(line, group=CounterfactualGroup.from_fields(shown), own_questions=questions)
    return replace(new, problems=new.objections([each.group for each in lines[:place]]))


def _decided(line: ReviewLine, choice: Choice | None, note: str | None) -> ReviewLine:
    decision = line.decision if choice is None else choice
    if decision in ("accept", "edit"):
        decision = "edit" if line.is_changed else "accept"
    elif not decision and line.is_changed:
        raise FormalimgError(f"group {line.group.id} was edited: accept it as it is now, reject it, or edit it back")
    return replace(line, decision=decision, note=line.note if note is None else note)


def _require_no_repetition(line: ReviewLine, lines: Sequence[ReviewLine], place: int) -> None:
    """No edited group may repeat one that is kept and comes before it: such a queue could not be read back."""
    if line.decision not in ("accept", "edit"):
        return
    kept = [each.group if each.decision in ("accept", "edit") else None for each in lines]
    if line.decision == "edit":
        _require_new(line.group, [group for group in kept[:place] if group is not None])
    for later in lines[place + 1 :]:
        if later.decision == "edit":
            _require_new(later.group, [line.group])


def _require_new(edited: CounterfactualGroup, before: Sequence[CounterfactualGroup]) -> None:
    for problem in check_group(edited, before):
        if problem.reason == "duplicate":
            raise FormalimgError(f"group {edited.id} was edited, and {problem.detail}: reject or change one of them")


def _encoded(line: ReviewLine) -> bytes:
    try:
        return line.text().encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormalimgError("there are halves of characters in the text: type them anew") from error
