"""Votes of people on pictures, from a table in CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError, presentable
from formalimg.logic import nearest

_COLUMNS = ("model", "item", "sample", "question", "rater", "vote")
_NEEDED = ("model", "item", "rater", "vote")
_MEANING = {"1": True, "yes": True, "0": False, "no": False}
_SHOWN = 50


class Vote(NamedTuple):
    """What one person says to one question about one picture.

    Attributes:
        model: the model that made the picture, or the name of its run folder.
        item: the item.
        sample: which of the item's pictures, from 0.
        question: the number of the question, from 1; None for whether the picture as a whole matches its words.
        rater: who votes.
        yes: the vote.
        line: where it stands in its file.
    """

    model: str
    item: str
    sample: int
    question: int | None
    rater: str
    yes: bool
    line: int


class VotesError(FormalimgError, ValueError):
    """Votes that cannot be used; `findings` says what is wrong and where, one line each."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        more = len(self.findings) - _SHOWN
        super().__init__("\n".join([*self.findings[:_SHOWN], *([f"(and {more} more)"] if more > 0 else [])]))

    def __reduce__(self) -> tuple[type[VotesError], tuple[tuple[str, ...]]]:
        return type(self), (self.findings,)


def read_votes(path: str | Path) -> list[Vote]:
    """The votes in a CSV file.

    Its first line names the columns: model, item, sample (may be missing: 0), question (may be missing or empty, or
    `all`: does the picture as a whole match its words?), rater, and vote (1 or 0, yes or no). Other columns are left
    aside.

    Raises:
        VotesError: if rows make no sense: all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return _read(csv.reader(file, strict=True), str(path))
    except OSError as error:
        raise FormalimgError(f"cannot read the votes in {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise FormalimgError(f"cannot read the votes in {path}: save it as CSV in UTF-8") from None


class _BadRowError(Exception):
    """Why a row is no vote."""


def _read(rows: Iterator[list[str]], name: str) -> list[Vote]:
    findings: list[str] = []
    votes: list[Vote] = []
    columns: list[str] | None = None
    for line, row in _numbered(rows, findings, name):
        if not any(cell.strip() for cell in row):
            continue
        try:
            if columns is None:
                columns = _columns(row)
            else:
                votes.append(_vote(columns, row, line))
        except _BadRowError as bad:
            findings.append(presentable(f"{name}:{line}: {bad}", 200, 200))
            if columns is None:
                break
    if columns is None and not findings:
        findings.append(f"{name}: there are no votes: begin with a line that names the columns {', '.join(_COLUMNS)}")
    if columns and not votes and not findings:
        findings.append(f"{name}: there are no votes below the names of the columns")
    if findings:
        raise VotesError(findings)
    return votes


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


def _columns(row: Sequence[str]) -> list[str]:
    columns = [cell.strip().lower() for cell in row]
    missing = [column for column in _NEEDED if column not in columns]
    if missing:
        raise _BadRowError(
            f"there is no column {missing[0]}: name the columns {', '.join(_COLUMNS)}, with commas between them"
        )
    for column in columns:
        if columns.count(column) > 1 and column in _COLUMNS:
            raise _BadRowError(f"there are several columns {column}: keep one")
        meant = nearest(column, ("sample", "question"))
        if meant and meant not in columns and column not in _COLUMNS:
            raise _BadRowError(f"unknown column {column!r}: did you mean {meant}?")
    return columns


def _vote(columns: Sequence[str], row: Sequence[str], line: int) -> Vote:
    if len(row) != len(columns):
        raise _BadRowError(f"there are {len(row)} cells for {len(columns)} columns")
    cells = {column: cell.strip() for column, cell in zip(columns, row, strict=True)}
    for column in _NEEDED:
        if not cells[column]:
            raise _BadRowError(f"{column} is empty")
    vote = cells["vote"].lower()
    if vote not in _MEANING:
        raise _BadRowError(f"the vote is {cells['vote']!r}: write 1 or 0, yes or no")
    question = cells.get("question", "")
    return Vote(
        cells["model"],
        cells["item"],
        _number(cells, "sample", 0) if cells.get("sample") else 0,
        None if question.lower() in ("", "all") else _number(cells, "question", 1),
        cells["rater"],
        _MEANING[vote],
        line,
    )


def _number(cells: Mapping[str, str], column: str, least: int) -> int:
    text = cells[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        kind = "1, 2, 3 …, or all for the picture as a whole" if column == "question" else "0, 1, 2 …"
        raise _BadRowError(f"the {column} is {text!r}: write {kind}")
    return int(text)
