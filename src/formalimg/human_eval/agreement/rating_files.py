"""CSV files of human ratings: parse them row by row, and report all invalid rows at once."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from formalimg._util.text import read_csv_cell, truncate
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import closest_match

RowT = TypeVar("RowT")

_MAX_SHOWN = 50
_YES_NO = {"1": True, "yes": True, "0": False, "no": False}


class RatingFileError(FormalimgError, ValueError):
    """A file of ratings with invalid rows; `findings` has one line for each kind of mistake."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        more = len(self.findings) - _MAX_SHOWN
        super().__init__("\n".join([*self.findings[:_MAX_SHOWN], *([f"(and {more} more)"] if more > 0 else [])]))

    def __reduce__(self) -> tuple[type[RatingFileError], tuple[tuple[str, ...]]]:
        return type(self), (self.findings,)


class RowIssue(NamedTuple):
    """A mistake in a rating file and its line number; 0 if it belongs to no line."""

    line: int
    message: str


def format_issues(issues: Iterable[RowIssue], file: str = "") -> list[str]:
    """Return one line of text per mistake, in file order; a mistake on several lines is listed once."""
    lines: dict[str, list[int]] = {}
    for line, message in sorted(issues, key=lambda issue: issue.line):
        lines.setdefault(message, []).append(line)
    positions = {message: _position(numbers, file) for message, numbers in lines.items()}
    return [truncate(f"{at}: {message}" if at else message, 300, 200) for message, at in positions.items()]


def _position(lines: Sequence[int], file: str) -> str:
    if not lines[0]:
        return file
    more = f" (and {len(lines) - 1} more line{'s' * (len(lines) > 2)})" if len(lines) > 1 else ""
    return f"{f'{file}:' if file else 'line '}{lines[0]}{more}"


CANNOT_TELL = "cannot tell"
"""The answer of a rater who cannot decide: no rating, but counted. Never 0."""


class RatingColumns(NamedTuple):
    """The columns of a rating file."""

    value: str  # the column of the rating itself, such as vote
    others: tuple[str, ...]  # the columns that identify the image, the question and the rater
    must: tuple[str, ...]  # the required columns among the others
    # whether rows of raters who cannot tell are parsed; else they are no ratings, and skipped
    keeps_undecided: bool = False

    @property
    def known(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*self.others, self.value)

    @property
    def required(self) -> tuple[str, ...]:
        """All columns that must be present."""
        return (*self.must, self.value)


def rater_columns(value: str, *, keeps_undecided: bool = False) -> RatingColumns:
    """Return the columns of a file in which named raters rate whole images or questions about them."""
    return RatingColumns(
        value, ("model", "item", "sample", "question", "rater"), ("model", "item", "rater"), keeps_undecided
    )


class RatingSubject(NamedTuple):
    """What a row rates, and who rates it; see `Vote` and `Rating`."""

    model: str
    item: str
    sample: int
    question: int | None
    rater: str


@dataclass(frozen=True)
class RatingFile(Generic[RowT]):
    """A parsed rating file: its valid rows, and what is wrong with the others."""

    file: str  # its name; empty if the rows come from no known file
    rows: tuple[RowT, ...]  # the valid rows
    issues: tuple[RowIssue, ...] = ()  # the mistakes in the others


class BadRowError(Exception):
    """A row cannot be parsed; the message says why."""


def read_rating_file(
    path: str | Path, columns: RatingColumns, parse: Callable[[Mapping[str, str], int], RowT]
) -> RatingFile[RowT]:
    """Parse a CSV file of ratings."""
    issues: list[RowIssue] = []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = tuple(_parse_rows(csv.reader(file, strict=True), columns, parse, issues))
    except OSError as error:
        raise FormalimgError(f"cannot read the {columns.value}s in {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise FormalimgError(f"cannot read the {columns.value}s in {path}: save it as CSV in UTF-8") from None
    return RatingFile(str(path), rows, tuple(issues))


def require_valid(file: RatingFile[RowT], error: type[RatingFileError]) -> list[RowT]:
    """Return the rows of a file without mistakes."""
    if file.issues:
        raise error(format_issues(file.issues, file.file))
    return list(file.rows)


def parse_subject(cells: Mapping[str, str]) -> RatingSubject:
    """Return what a row rates. Missing columns default to the first image, as a whole, by an unnamed rater."""
    question = cells.get("question", "")
    return RatingSubject(
        cells["model"],
        cells["item"],
        _parse_number(cells, "sample", 0) if cells.get("sample") else 0,
        None if question.lower() in ("", "all") else _parse_number(cells, "question", 1),
        cells.get("rater", ""),
    )


def parse_yes_no(cells: Mapping[str, str], column: str) -> bool:
    """Return the boolean in a cell.

    Raises:
        BadRowError: if it is neither yes nor no.
    """
    value = _YES_NO.get(cells[column].lower())
    if value is None:
        raise BadRowError(f"the {column} is {cells[column]!r}: write 1 or 0, yes or no")
    return value


def _parse_rows(
    lines: Iterator[list[str]],
    columns: RatingColumns,
    parse: Callable[[Mapping[str, str], int], RowT],
    issues: list[RowIssue],
) -> Iterator[RowT]:
    header: list[str] | None = None
    is_empty = True
    for line, cells in _numbered_lines(lines, issues):
        if not any(cell.strip() for cell in cells):
            continue
        try:
            if header is None:
                header = _parse_header(cells, columns)
            else:
                is_empty = False
                by_column = _cells_by_column(header, cells, columns)
                if columns.keeps_undecided or by_column[columns.value].lower() != CANNOT_TELL:
                    yield parse(by_column, line)
        except BadRowError as bad:
            issues.append(RowIssue(line, str(bad)))
            if header is None:
                return
    if is_empty and not issues:
        where = " below the names of the columns" if header else f": name the columns {', '.join(columns.known)}"
        issues.append(RowIssue(0, f"there are no {columns.value}s{where}"))


def _numbered_lines(lines: Iterator[list[str]], issues: list[RowIssue]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with its first line number; a row with line breaks in quotes has several lines."""
    line = 1
    while True:
        try:
            row = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            issues.append(RowIssue(line, f"this is not CSV: {error}"))
            return
        yield line, row
        line = lines.line_num + 1  # type: ignore[attr-defined]  # CSV readers have it, iterators do not


def _parse_header(cells: Sequence[str], columns: RatingColumns) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    missing = [column for column in columns.required if column not in header]
    if missing:
        for mark, name in ((";", "semicolons"), ("\t", "tabs")):
            if mark in cells[0]:
                raise BadRowError(f"there are {name} between the columns: save the table with commas between them")
        raise BadRowError(
            f"there is no column {missing[0]}: name the columns {', '.join(columns.known)}, with commas between them"
        )
    for name in header:
        if header.count(name) > 1 and name in columns.known:
            raise BadRowError(f"there are several columns {name}: keep one")
        meant = closest_match(name, [other for other in columns.others if other not in header])
        if meant and name not in columns.known:
            raise BadRowError(f"unknown column {name!r}: did you mean {meant}?")
    return header


def _cells_by_column(header: Sequence[str], cells: Sequence[str], columns: RatingColumns) -> dict[str, str]:
    if len(cells) != len(header):
        raise BadRowError(f"there are {len(cells)} cells for {len(header)} columns")
    found = {
        name: read_csv_cell(cell.strip()) for name, cell in zip(header, cells, strict=True) if name in columns.known
    }
    for column in columns.required:
        if not found[column]:
            raise BadRowError(f"{column} is empty")
    return found


def _parse_number(cells: Mapping[str, str], column: str, minimum: int) -> int:
    text = cells[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= minimum):
        kind = "1, 2, 3 …, or all for the image as a whole" if column == "question" else "0, 1, 2 …"
        raise BadRowError(f"the {column} is {text!r}: write {kind}")
    return int(text)
