"""Caption files, category masks and counts, and result files.

Text, JSONL, CSV and TSV files are read, and results written, as a stream.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TextIO

from formalimg._util.strict_json import is_utf8
from formalimg._util.text import csv_table
from formalimg.benchmarks.conceptmix.captions.mentions import CategoryMention
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category
from formalimg.errors import FormalimgError

BITS: dict[Category, int] = {category: 1 << index for index, category in enumerate(CATEGORIES)}
"""The bit of each category in a mask, which stands for a set of categories."""

MASKS = 1 << len(CATEGORIES)  # The number of different sets of categories


def categories_to_mask(categories: Iterable[Category]) -> int:
    """Return the mask of a set of categories."""
    return sum(BITS[category] for category in set(categories))


def mask_to_categories(mask: int) -> tuple[Category, ...]:
    """Return the categories in a mask, in canonical order."""
    return tuple(category for category, bit in BITS.items() if mask & bit)


@dataclass(frozen=True)
class CategoryCounts:
    """The number of captions for each exact set of categories."""

    by_set: tuple[int, ...]  # for each mask, how many captions mention just these categories

    @property
    def captions(self) -> int:
        """The number of captions."""
        return sum(self.by_set)

    @property
    def histogram(self) -> tuple[int, ...]:
        """The number of captions by number of mentioned categories, from zero to eight."""
        counts = [0] * (len(CATEGORIES) + 1)
        for mask, count in enumerate(self.by_set):
            counts[mask.bit_count()] += count
        return tuple(counts)

    @property
    def captions_with(self) -> Mapping[Category, int]:
        """The number of captions that mention each category."""
        return {category: self.together(category, category) for category in CATEGORIES}

    def together(self, first: Category, second: Category) -> int:
        """Return how many captions mention both categories."""
        bits = BITS[first] | BITS[second]
        return sum(count for mask, count in enumerate(self.by_set) if mask & bits == bits)

    def share(self, count: int) -> float | None:
        """Return `count` as a share of all captions, or None if there are no captions."""
        return count / self.captions if self.captions else None

    @property
    def mean(self) -> float | None:
        """The mean number of categories per caption, or None without captions."""
        total = sum(size * count for size, count in enumerate(self.histogram))
        return total / self.captions if self.captions else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the number of categories per caption, or None for fewer than two captions."""
        if self.captions < 2 or self.mean is None:
            return None
        squares = sum(count * (size - self.mean) ** 2 for size, count in enumerate(self.histogram))
        return math.sqrt(squares / (self.captions - 1))

    @property
    def maximum(self) -> int | None:
        """The largest number of categories in one caption, or None without captions."""
        return max((size for size, count in enumerate(self.histogram) if count), default=None)

    def having(self, category: Category) -> CategoryCounts:
        """Return the counts restricted to captions that mention a category."""
        bit = BITS[category]
        return CategoryCounts(tuple(count if mask & bit else 0 for mask, count in enumerate(self.by_set)))


DEFAULT_COLUMNS = ("caption", "prompt", "text")
"""The columns of captions in tables, in this order, unless the user names one."""


class Caption(NamedTuple):
    """A caption and its line number in a file."""

    line: int  # its first line, from 1
    text: str  # the text, stripped; may be empty


def read_captions(path: Path, *, column: str | None = None, limit: int | None = None) -> Iterator[Caption]:
    """Yield the captions in a file, including empty ones."""
    if column is not None and path.suffix not in _READERS:
        raise FormalimgError(
            f"{path} is read line by line and has no column {column}: give a .jsonl, .csv or .tsv file"
        )
    if limit is not None and limit <= 0:
        return
    count = 0
    try:
        with path.open(encoding="utf-8-sig", newline="\n" if path.suffix not in (".csv", ".tsv") else "") as file:
            for caption in _READERS.get(path.suffix, _read_lines)(file, path, column):
                yield caption
                count += bool(caption.text)
                if count == limit:
                    return
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}; give a file with captions") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"{path} is not a text in UTF-8: convert it, then try again") from error
    except csv.Error as error:
        raise FormalimgError(f"{path} cannot be read as a table: {error}") from error


def _read_lines(file: TextIO, path: Path, column: str | None) -> Iterator[Caption]:
    for number, line in enumerate(file, 1):
        yield Caption(number, line.strip())


def _read_records(file: TextIO, path: Path, column: str | None) -> Iterator[Caption]:
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
        field = field or _find_column(list(record), path, None)
        text = record.get(field, 0)
        if text is not None and not isinstance(text, str):
            raise FormalimgError(
                f"line {number} of {path} has no text in the field {field}: fix it or name another one"
            )
        if not is_utf8(text or ""):
            raise FormalimgError(f"line {number} of {path} has half a character (a lone surrogate): fix it")
        yield Caption(number, (text or "").strip())


def _read_rows(file: TextIO, path: Path, column: str | None) -> Iterator[Caption]:
    rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
    header = next(rows, None)
    if header is None:
        return
    index = header.index(_find_column(header, path, column))
    line = rows.line_num + 1
    for row in rows:
        if row and len(row) <= index:
            raise FormalimgError(f"line {line} of {path} ends before the column {header[index]}: fix it")
        yield Caption(line, row[index].strip() if row else "")
        line = rows.line_num + 1


def _find_column(columns: list[str], path: Path, chosen: str | None) -> str:
    for name in DEFAULT_COLUMNS if chosen is None else (chosen,):
        if name in columns:
            return name
    expected = chosen or ", ".join(DEFAULT_COLUMNS)
    listed = ", ".join(columns[:10]) or "nothing"
    raise FormalimgError(f"{path} has no column {expected}, but {listed}: name the one with the captions by --column")


_READERS: dict[str, Callable[[TextIO, Path, str | None], Iterator[Caption]]] = {
    ".jsonl": _read_records,
    ".csv": _read_rows,
    ".tsv": _read_rows,
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
    """Write one JSONL and one CSV row per caption, to files that appear only when complete."""

    def __init__(self, folder: Path) -> None:
        """Initialize the writer without creating any files."""
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
        categories = None if result.found is None else mask_to_categories(result.found)
        record: dict[str, object] = {"line": line, "caption": text, "categories": categories}
        if result.mentions:
            words: dict[Category, list[str]] = {}
            for category, text_part in result.mentions:
                words.setdefault(category, []).append(text_part)
            record["words"] = words
        if categories is None:
            record |= {"unanswered": result.unanswered, "reason": result.reason}
        marks = (
            [""] * len(CATEGORIES) if categories is None else [int(category in categories) for category in CATEGORIES]
        )
        try:
            self._lines.write(f"{json.dumps(record, ensure_ascii=False)}\n")
            cells = [line, text, *marks, "" if categories is None else len(categories), result.unanswered]
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
