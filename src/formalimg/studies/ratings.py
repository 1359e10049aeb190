"""What people say of pictures, from tables in CSV: labels (recognisable or not), and scores from 0 to 1."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError, presentable
from formalimg.logic import nearest
from formalimg.studies.votes import VotesError

_LABELS = {"1": 1.0, "yes": 1.0, "0": 0.0, "no": 0.0}
_SCORE = re.compile(r"0*[01]?(\.[0-9]*)?", re.ASCII)


class Rating(NamedTuple):
    """What one person says of one picture, or to one question about it.

    Attributes:
        model: the model that made the picture, or the name of its run folder.
        item: the item.
        sample: which of the item's pictures, from 0.
        question: the number of the question, from 1; None for the picture as a whole.
        rater: who says it; empty if the table does not tell.
        value: 0 to 1; of a label, 0 or 1.
        line: where it stands in its file.
    """

    model: str
    item: str
    sample: int
    question: int | None
    rater: str
    value: float
    line: int


class RatingsError(VotesError):
    """Labels or scores of people that cannot be used; `findings` says what is wrong and where, one line each."""


def read_labels(path: str | Path) -> list[Rating]:
    """The labels in a CSV file: can the main things in these factual pictures be recognised?

    Its first line names the columns: model, item, sample (may be missing: 0), rater (may be missing if each picture has
    one label), and label (1 or 0, yes or no). Other columns are left aside.

    Raises:
        RatingsError: if rows make no sense: all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    return _read_file(path, _Table("label", ("model", "item", "sample", "rater"), ("model", "item"), _label))


def read_human_scores(path: str | Path) -> list[Rating]:
    """The scores in a CSV file that people gave to pictures, or to what is asked about them.

    Its first line names the columns: model, item, sample (may be missing: 0), question (may be missing or empty, or
    `all`: the picture as a whole), rater, and score (0 to 1). Other columns are left aside.

    Raises:
        RatingsError: if rows make no sense: all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    columns = ("model", "item", "sample", "question", "rater")
    return _read_file(path, _Table("score", columns, ("model", "item", "rater"), _score))


class _Table(NamedTuple):
    """What a table holds: its values and how they are read, its other columns, and those that must be there."""

    value: str
    others: tuple[str, ...]
    must: tuple[str, ...]
    read: Callable[[str], float | None]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.others, self.value)

    @property
    def needed(self) -> tuple[str, ...]:
        return (*self.must, self.value)


class _BadRowError(Exception):
    """Why a row makes no sense."""


def _read_file(path: str | Path, table: _Table) -> list[Rating]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return _read(csv.reader(file, strict=True), table, str(path))
    except OSError as error:
        raise FormalimgError(f"cannot read the {table.value}s in {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise FormalimgError(f"cannot read the {table.value}s in {path}: save it as CSV in UTF-8") from None


def _read(rows: Iterator[list[str]], table: _Table, name: str) -> list[Rating]:
    findings: list[str] = []
    ratings: list[Rating] = []
    columns: list[str] | None = None
    for line, row in _numbered(rows, findings, name):
        if not any(cell.strip() for cell in row):
            continue
        try:
            if columns is None:
                columns = _columns(row, table)
            else:
                ratings.append(_rating(columns, row, line, table))
        except _BadRowError as bad:
            findings.append(presentable(f"{name}:{line}: {bad}", 200, 200))
            if columns is None:
                break
    if not ratings and not findings:
        where = " below the names of the columns" if columns else f": name the columns {', '.join(table.columns)}"
        findings.append(f"{name}: there are no {table.value}s{where}")
    if findings:
        raise RatingsError(findings)
    return ratings


def _numbered(rows: Iterator[list[str]], findings: list[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the line on which it begins; a row with line breaks in quotes has several."""
    line = 1
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            findings.append(f"{name}:{line}: this is no CSV: {error}")
            return
        yield line, row
        line = rows.line_num + 1  # type: ignore[attr-defined]  # readers of CSV know it, iterators do not


def _columns(row: Sequence[str], table: _Table) -> list[str]:
    columns = [cell.strip().lower() for cell in row]
    missing = [column for column in table.needed if column not in columns]
    if missing:
        raise _BadRowError(
            f"there is no column {missing[0]}: name the columns {', '.join(table.columns)}, with commas between them"
        )
    for column in columns:
        if columns.count(column) > 1 and column in table.columns:
            raise _BadRowError(f"there are several columns {column}: keep one")
        meant = nearest(column, [other for other in table.others if other not in columns])
        if meant and column not in table.columns:
            raise _BadRowError(f"unknown column {column!r}: did you mean {meant}?")
    return columns


def _rating(columns: Sequence[str], row: Sequence[str], line: int, table: _Table) -> Rating:
    if len(row) != len(columns):
        raise _BadRowError(f"there are {len(row)} cells for {len(columns)} columns")
    cells = {column: cell.strip() for column, cell in zip(columns, row, strict=True)}
    for column in table.needed:
        if not cells[column]:
            raise _BadRowError(f"{column} is empty")
    value = table.read(cells[table.value].lower())
    if value is None:
        wanted = "1 or 0, yes or no" if table.value == "label" else "a number from 0 to 1, such as 0.5"
        raise _BadRowError(f"the {table.value} is {cells[table.value]!r}: write {wanted}")
    question = cells.get("question", "") if "question" in table.columns else ""
    return Rating(
        cells["model"],
        cells["item"],
        _number(cells, "sample", 0) if cells.get("sample") else 0,
        None if question.lower() in ("", "all") else _number(cells, "question", 1),
        cells.get("rater", ""),
        value,
        line,
    )


def _label(text: str) -> float | None:
    return _LABELS.get(text)


def _score(text: str) -> float | None:
    if not any(map(str.isdigit, text)) or not _SCORE.fullmatch(text) or len(text) > 30:
        return None
    value = float(text)
    return value if value <= 1 else None


def _number(cells: Mapping[str, str], column: str, least: int) -> int:
    text = cells[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        kind = "1, 2, 3 …, or all for the picture as a whole" if column == "question" else "0, 1, 2 …"
        raise _BadRowError(f"the {column} is {text!r}: write {kind}")
    return int(text)
