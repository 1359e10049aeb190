"""What was found in each caption, and the files that tell."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TextIO

from formalimg.analysis.captions.category import CATEGORIES, Category, set_of
from formalimg.analysis.captions.finding import Mention
from formalimg.analysis.captions.reading import Caption
from formalimg.errors import FormalimgError

LINES_FILE = "per_caption.jsonl"
TABLE_FILE = "per_caption.csv"


class CaptionResult(NamedTuple):
    """What was found in a caption.

    Attributes:
        caption: the caption.
        found: the categories as a whole number with one bit for each; None if there was no answer.
        mentions: the words that speak of them, where they were looked up.
        unanswered: what sort of reason there is for having no answer: refused, unreadable or failed.
        reason: what happened, in one line.
    """

    caption: Caption
    found: int | None
    mentions: tuple[Mention, ...] = ()
    unanswered: str = ""
    reason: str = ""


class ResultFiles:
    """Two files with a line for each caption, which appear under their names when they are complete."""

    def __init__(self, folder: Path) -> None:
        """Nothing is written yet.

        Args:
            folder: where the files belong; made if it is not there.
        """
        self._folder = folder
        self._open = ExitStack()

    def __enter__(self) -> ResultFiles:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lines, table = (self._begun(name) for name in (LINES_FILE, TABLE_FILE))
        except OSError as error:
            self._open.close()
            raise FormalimgError(f"cannot write to {self._folder}: {error.strerror}") from error
        self._table = csv.writer(table, lineterminator="\n")
        self._table.writerow(["line", "caption", *CATEGORIES, "categories", "unanswered"])
        return self

    def add(self, result: CaptionResult) -> None:
        """Write what was found in the next caption."""
        line, text = result.caption
        found = None if result.found is None else set_of(result.found)
        told: dict[str, object] = {"line": line, "caption": text, "categories": found}
        if result.mentions:
            told["words"] = _words(result)
        if found is None:
            told |= {"unanswered": result.unanswered, "reason": result.reason}
        marks = [""] * len(CATEGORIES) if found is None else [int(category in found) for category in CATEGORIES]
        try:
            self._lines.write(f"{json.dumps(told, ensure_ascii=False)}\n")
            self._table.writerow([line, text, *marks, "" if found is None else len(found), result.unanswered])
        except OSError as error:
            raise FormalimgError(
                f"cannot write to {self._folder}: {error.strerror}; make room, then try again"
            ) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._open.close()
            for name in (LINES_FILE, TABLE_FILE):
                if kind is None:
                    self._part(name).replace(self._folder / name)
                else:
                    self._part(name).unlink(missing_ok=True)
        except OSError as problem:
            raise FormalimgError(
                f"cannot write to {self._folder}: {problem.strerror}; make room, then try again"
            ) from problem

    def _begun(self, name: str) -> TextIO:
        return self._open.enter_context(self._part(name).open("w", encoding="utf-8", newline=""))

    def _part(self, name: str) -> Path:
        return self._folder / f".{name}.part"


def _words(result: CaptionResult) -> Mapping[Category, list[str]]:
    found: dict[Category, list[str]] = {}
    for mention in result.mentions:
        found.setdefault(mention.category, []).append(mention.words)
    return found
