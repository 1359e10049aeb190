"""What is wrong with a table of votes, labels or scores, and on which lines."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.logic import closest_match

_SHOWN = 50


class SheetError(FormalimgError, ValueError):
    """A table that cannot be used; `findings` says what is wrong and where, one line each."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        more = len(self.findings) - _SHOWN
        super().__init__("\n".join([*self.findings[:_SHOWN], *([f"(and {more} more)"] if more > 0 else [])]))

    def __reduce__(self) -> tuple[type[SheetError], tuple[tuple[str, ...]]]:
        return type(self), (self.findings,)


class Finding(NamedTuple):
    """A mistake, and the line that it is on; 0 if it is none of a line."""

    line: int
    message: str


def tell(findings: Iterable[Finding], file: str = "") -> list[str]:
    """A line of text for each mistake, in the order of the table; the same mistake on several lines is told once.

    Args:
        findings: the mistakes.
        file: the table; empty for rows that come from no file that is known.
    """
    lines: dict[str, list[int]] = {}
    for line, message in sorted(findings, key=lambda finding: finding.line):
        lines.setdefault(message, []).append(line)
    where = {message: _where(those, file) for message, those in lines.items()}
    return [truncate(f"{at}: {message}" if at else message, 300, 200) for message, at in where.items()]


def _where(lines: Sequence[int], file: str) -> str:
    if not lines[0]:
        return file
    more = f" (and {len(lines) - 1} more line{'s' * (len(lines) > 2)})" if len(lines) > 1 else ""
    return f"{f'{file}:' if file else 'line '}{lines[0]}{more}"


Row = TypeVar("Row")

_YES_OR_NO = {"1": True, "yes": True, "0": False, "no": False}


class Columns(NamedTuple):
    """What a table is about.

    Attributes:
        value: the column with what people say, such as vote.
        others: the columns that say about what, and who says it.
        must: those of the others that must be there.
    """

    value: str
    others: tuple[str, ...]
    must: tuple[str, ...]

    @property
    def known(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*self.others, self.value)

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns that must be there."""
        return (*self.must, self.value)


def said_by_raters(value: str) -> Columns:
    """A table in which raters, each by a name, say something of images as a whole or to questions about them."""
    return Columns(value, ("model", "item", "sample", "question", "rater"), ("model", "item", "rater"))


class About(NamedTuple):
    """What a row is about, and who says it; see `Vote` and `Rating`."""

    model: str
    item: str
    sample: int
    question: int | None
    rater: str


@dataclass(frozen=True)
class Sheet(Generic[Row]):
    """A table: the rows that make sense, and what is wrong with the others.

    Attributes:
        file: its name; empty if the rows come from no file that is known.
        rows: the rows that make sense.
        findings: what is wrong with the others.
    """

    file: str
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...] = ()


class BadRowError(Exception):
    """Why a row makes no sense."""


def read_sheet(path: str | Path, columns: Columns, read: Callable[[Mapping[str, str], int], Row]) -> Sheet[Row]:
    """The rows of a table.

    Args:
        path: the file.
        columns: what the table is about.
        read: makes a row of its cells, by column, and of the line it begins on; `BadRowError` if it makes no sense.

    Raises:
        FormalimgError: if the file cannot be read.
    """
    findings: list[Finding] = []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = tuple(_rows(csv.reader(file, strict=True), columns, read, findings))
    except OSError as error:
        raise FormalimgError(f"cannot read the {columns.value}s in {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise FormalimgError(f"cannot read the {columns.value}s in {path}: save it as CSV in UTF-8") from None
    return Sheet(str(path), rows, tuple(findings))


def all_rows(sheet: Sheet[Row], error: type[SheetError]) -> list[Row]:
    """The rows of a table in which nothing is wrong.

    Raises:
        SheetError: the given kind of it, if rows make no sense: all of them are named, by line.
    """
    if sheet.findings:
        raise error(tell(sheet.findings, sheet.file))
    return list(sheet.rows)


def about(cells: Mapping[str, str]) -> About:
    """What a row is about. Where a table has no such column, it is the first image, as a whole, by nobody known."""
    question = cells.get("question", "")
    return About(
        cells["model"],
        cells["item"],
        _number(cells, "sample", 0) if cells.get("sample") else 0,
        None if question.lower() in ("", "all") else _number(cells, "question", 1),
        cells.get("rater", ""),
    )


def yes_or_no(cells: Mapping[str, str], column: str) -> bool:
    """What a cell says.

    Raises:
        BadRowError: if it is neither.
    """
    said = _YES_OR_NO.get(cells[column].lower())
    if said is None:
        raise BadRowError(f"the {column} is {cells[column]!r}: write 1 or 0, yes or no")
    return said


def _rows(
    lines: Iterator[list[str]],
    columns: Columns,
    read: Callable[[Mapping[str, str], int], Row],
    findings: list[Finding],
) -> Iterator[Row]:
    heads: list[str] | None = None
    is_empty = True
    for line, cells in _numbered(lines, findings):
        if not any(cell.strip() for cell in cells):
            continue
        try:
            if heads is None:
                heads = _heads(cells, columns)
            else:
                is_empty = False
                yield read(_by_column(heads, cells, columns), line)
        except BadRowError as bad:
            findings.append(Finding(line, str(bad)))
            if heads is None:
                return
    if is_empty and not findings:
        where = " below the names of the columns" if heads else f": name the columns {', '.join(columns.known)}"
        findings.append(Finding(0, f"there are no {columns.value}s{where}"))


def _numbered(lines: Iterator[list[str]], findings: list[Finding]) -> Iterator[tuple[int, list[str]]]:
    """Each row with the line on which it begins; a row with line breaks in quotes has several."""
    line = 1
    while True:
        try:
            row = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            findings.append(Finding(line, f"this is no CSV: {error}"))
            return
        yield line, row
        line = lines.line_num + 1  # type: ignore[attr-defined]  # readers of CSV know it, iterators do not


def _heads(cells: Sequence[str], columns: Columns) -> list[str]:
    heads = [cell.strip().lower() for cell in cells]
    missing = [column for column in columns.needed if column not in heads]
    if missing:
        for mark, name in ((";", "semicolons"), ("\t", "tabs")):
            if mark in cells[0]:
                raise BadRowError(f"there are {name} between the columns: save the table with commas between them")
        raise BadRowError(
            f"there is no column {missing[0]}: name the columns {', '.join(columns.known)}, with commas between them"
        )
    for head in heads:
        if heads.count(head) > 1 and head in columns.known:
            raise BadRowError(f"there are several columns {head}: keep one")
        meant = closest_match(head, [other for other in columns.others if other not in heads])
        if meant and head not in columns.known:
            raise BadRowError(f"unknown column {head!r}: did you mean {meant}?")
    return heads


def _by_column(heads: Sequence[str], cells: Sequence[str], columns: Columns) -> dict[str, str]:
    """The cells of the columns that are read."""
    if len(cells) != len(heads):
        raise BadRowError(f"there are {len(cells)} cells for {len(heads)} columns")
    found = {head: cell.strip() for head, cell in zip(heads, cells, strict=True) if head in columns.known}
    for column in columns.needed:
        if not found[column]:
            raise BadRowError(f"{column} is empty")
    return found


def _number(cells: Mapping[str, str], column: str, least: int) -> int:
    text = cells[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        kind = "1, 2, 3 …, or all for the image as a whole" if column == "question" else "0, 1, 2 …"
        raise BadRowError(f"the {column} is {text!r}: write {kind}")
    return int(text)
