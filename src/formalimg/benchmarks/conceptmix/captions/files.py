"""Caption files, category masks and counts, and result files, all read and written as a stream."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
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
        """The mean number of categories per caption."""
        return self.share(sum(size * count for size, count in enumerate(self.histogram)))

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the number of categories per caption, or None for fewer than two captions."""
        if self.captions < 2 or self.mean is None:
            return None
        squares = sum(count * (size - self.mean) ** 2 for size, count in enumerate(self.histogram))
        return math.sqrt(squares / (self.captions - 1))

    @property
    def maximum(self) -> int | None:
        """The largest number of categories in one caption."""
        return max((size for size, count in enumerate(self.histogram) if count), default=None)

    def having(self, category: Category) -> CategoryCounts:
        """Return the counts restricted to captions that mention a category."""
        return CategoryCounts(tuple(count if mask & BITS[category] else 0 for mask, count in enumerate(self.by_set)))


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
    try:
        with path.open(encoding="utf-8-sig", newline="\n" if path.suffix not in (".csv", ".tsv") else "") as file:
            reader = _READERS.get(path.suffix)
            lines = (Caption(number, line.strip()) for number, line in enumerate(file, 1))
            for caption in reader(file, path, column) if reader else lines:
                yield caption
                if limit is not None and caption.text:
                    limit -= 1
                    if not limit:
                        return
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}; give a file with captions") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"{path} is not a text in UTF-8: convert it, then try again") from error
    except csv.Error as error:
        raise FormalimgError(f"{path} cannot be read as a table: {error}") from error


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
            raise FormalimgError(f"line {number} of {path} has no text in the field {field}: fix it or name another")
        if not is_utf8(text or ""):
            raise FormalimgError(f"line {number} of {path} contains a lone surrogate: fix it")
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
    mask: int | None  # the mask of the categories; None if there was no answer
    mentions: tuple[CategoryMention, ...] = ()  # the words that mention them, where a lexicon was used
    unanswered: str = ""  # the kind of reason for having no answer: refused, unreadable or failed
    reason: str = ""  # the reason, in one line


@contextmanager
def open_results(folder: Path) -> Iterator[Callable[[CaptionResult], None]]:
    """Yield a function that writes one JSONL and one CSV row per caption, to files that appear only when complete."""
    parts = {name: folder / f".{name}.part" for name in (LINES_FILE, TABLE_FILE)}
    with _explain_failure(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as stack:
            with _explain_failure(folder):
                lines, table = (
                    stack.enter_context(part.open("w", encoding="utf-8", newline="")) for part in parts.values()
                )
            table.write(csv_table([["line", "caption", *CATEGORIES, "categories", "unanswered"]]))

            def add(result: CaptionResult) -> None:
                with _explain_failure(folder):
                    lines.write(f"{json.dumps(_result_record(result), ensure_ascii=False)}\n")
                    table.write(csv_table([_result_cells(result)]))

            yield add
        with _explain_failure(folder):
            for name, part in parts.items():
                part.replace(folder / name)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


@contextmanager
def _explain_failure(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FormalimgError(
            f"cannot write to {folder}: {error.strerror}; free some disk space, then try again"
        ) from error


def _result_record(result: CaptionResult) -> dict[str, object]:
    line, text = result.caption
    if result.mask is None:
        return {
            "line": line,
            "caption": text,
            "categories": None,
            "unanswered": result.unanswered,
            "reason": result.reason,
        }
    record: dict[str, object] = {"line": line, "caption": text, "categories": mask_to_categories(result.mask)}
    words: dict[Category, list[str]] = {}
    for category, mention in result.mentions:
        words.setdefault(category, []).append(mention)
    return record | ({"words": words} if words else {})


def _result_cells(result: CaptionResult) -> list[object]:
    if result.mask is None:
        return [*result.caption, *[""] * len(CATEGORIES), "", result.unanswered]
    categories = mask_to_categories(result.mask)
    return [*result.caption, *(int(category in categories) for category in CATEGORIES), len(categories), ""]
