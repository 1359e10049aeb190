"""Read captions from text, JSONL, CSV and TSV files, and write the result of each caption; both as a stream."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TextIO

from formalimg._util.text import csv_table
from formalimg.benchmarks.conceptmix.captions.categories import CATEGORIES, Category, mask_to_categories
from formalimg.benchmarks.conceptmix.captions.mentions import CategoryMention
from formalimg.errors import FormalimgError

DEFAULT_COLUMNS = ("caption", "prompt", "text")
"""The columns of captions in tables, in this order, unless the user names one."""


class Caption(NamedTuple):
    """A caption of a file."""

    line: int  # its first line, from 1
    text: str  # the text, stripped; may be empty


def read_captions(path: Path, *, column: str | None = None, limit: int | None = None) -> Iterator[Caption]:
    """Yield the captions of a file, empty ones as well."""
    if column is not None and path.suffix not in _READERS:
        raise FormalimgError(
            f"{path} is read line by line and has no column {column}: give a .jsonl, .csv or .tsv file"
        )
    if limit is not None and limit <= 0:
        return
    found = 0
    try:
        with path.open(encoding="utf-8-sig", newline="\n" if path.suffix not in (".csv", ".tsv") else "") as file:
            for caption in _READERS.get(path.suffix, _lines)(file, path, column):
                yield caption
                found += bool(caption.text)
                if found == limit:
                    return
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}; give a file with captions") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"{path} is not a text in UTF-8: convert it, then try again") from error
    except csv.Error as error:
        raise FormalimgError(f"{path} cannot be read as a table: {error}") from error


def _lines(file: TextIO, path: Path, column: str | None) -> Iterator[Caption]:
    for number, line in enumerate(file, 1):
        yield Caption(number, line.strip())


def _records(file: TextIO, path: Path, column: str | None) -> Iterator[Caption]:
    field = column
    for number, line in enumerate(file, 1):
        if not line.strip():
            yield Caption(number, "")
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormalimgError(f"line {number} of {path} is not JSON: {error}") from error
        if not isinstance(record, dict):
            raise FormalimgError(f"line {number} of {path} is not a JSON object: give one with a field for the caption")
        field = field or _column(list(record), path, None)
        text = record.get(field, 0)
        if text is not None and not isinstance(text, str):
            raise FormalimgError(
                f"line {number} of {path} has no text in the field {field}: fix it or name another one"
            )
        if not _can_be_written(text or ""):
            raise FormalimgError(f"line {number} of {path} has half a character (a lone surrogate): fix it")
        yield Caption(number, (text or "").strip())


def _rows(file: TextIO, path: Path, column: str | None) -> Iterator[Caption]:
    rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
    header = next(rows, None)
    if header is None:
        return
    index = header.index(_column(header, path, column))
    line = rows.line_num + 1
    for row in rows:
        if row and len(row) <= index:
            raise FormalimgError(f"line {line} of {path} ends before the column {header[index]}: fix it")
        yield Caption(line, row[index].strip() if row else "")
        line = rows.line_num + 1


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _column(columns: list[str], path: Path, chosen: str | None) -> str:
    for name in DEFAULT_COLUMNS if chosen is None else (chosen,):
        if name in columns:
            return name
    expected = chosen or ", ".join(DEFAULT_COLUMNS)
    listed = ", ".join(columns[:10]) or "nothing"
    raise FormalimgError(f"{path} has no column {expected}, but {listed}: name the one with the captions by --column")


_READERS: dict[str, Callable[[TextIO, Path, str | None], Iterator[Caption]]] = {
    ".jsonl": _records,
    ".csv": _rows,
    ".tsv": _rows,
}


LINES_FILE = "per_caption.jsonl"
TABLE_FILE = "per_caption.csv"


class CaptionResult(NamedTuple):
    """The categories found in a caption."""

    caption: Caption  # the caption
    found: int | None  # the mask of the categories; None if there was no answer
    mentions: tuple[CategoryMention, ...] = ()  # the words that mention them, where a lexicon was used
    unanswered: str = ""  # the kind of reason for having no answer: refused, unreadable or failed
    reason: str = ""  # the reason, in one line


class CaptionResultWriter:
    """Write a JSONL and a CSV file with a line for each caption; they appear when they are complete."""

    def __init__(self, folder: Path) -> None:
        """Prepare the files without writing anything."""
        self._folder = folder
        self._open = ExitStack()

    def __enter__(self) -> CaptionResultWriter:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lines, self._table = (self._open_part(name) for name in (LINES_FILE, TABLE_FILE))
        except OSError as error:
            self._open.close()
            raise FormalimgError(f"cannot write to {self._folder}: {error.strerror}") from error
        self._table.write(csv_table([["line", "caption", *CATEGORIES, "categories", "unanswered"]]))
        return self

    def add(self, result: CaptionResult) -> None:
        """Write the result of the next caption."""
        line, text = result.caption
        found = None if result.found is None else mask_to_categories(result.found)
        record: dict[str, object] = {"line": line, "caption": text, "categories": found}
        if result.mentions:
            record["words"] = _words_by_category(result)
        if found is None:
            record |= {"unanswered": result.unanswered, "reason": result.reason}
        marks = [""] * len(CATEGORIES) if found is None else [int(category in found) for category in CATEGORIES]
        try:
            self._lines.write(f"{json.dumps(record, ensure_ascii=False)}\n")
            cells = [line, text, *marks, "" if found is None else len(found), result.unanswered]
            self._table.write(csv_table([cells]))
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

    def _open_part(self, name: str) -> TextIO:
        return self._open.enter_context(self._part(name).open("w", encoding="utf-8", newline=""))

    def _part(self, name: str) -> Path:
        return self._folder / f".{name}.part"


def _words_by_category(result: CaptionResult) -> Mapping[Category, list[str]]:
    found: dict[Category, list[str]] = {}
    for mention in result.mentions:
        found.setdefault(mention.category, []).append(mention.words)
    return found
