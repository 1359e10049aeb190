"""CSV files of human ratings: votes, labels, scores and Likert ratings, parsed row by row with all issues reported."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from formalimg._util.text import read_csv_cell, truncate
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import closest_match
from formalimg.stats.agreement import ComplianceRule

RowT = TypeVar("RowT")

CANNOT_TELL = "cannot tell"  # The answer of a rater who cannot decide: no rating, but counted. Never 0
LIKERT_RULES: Mapping[ComplianceRule, str] = {
    "majority": "majority of raters ≥ 4 of 5",
    "mean": "mean of raters ≥ 4 of 5",
}
"""How Likert ratings of an image become a label, in words."""

_MAX_SHOWN = 50
_YES_NO = {"1": True, "yes": True, "0": False, "no": False}
_NUMBER = re.compile(r"0*[01]?(\.[0-9]*)?", re.ASCII)


def natural_sort(names: Iterable[str]) -> list[str]:
    """Return the distinct names in natural order, with rater-2 before rater-10."""

    def key(name: str) -> tuple[list[tuple[int, str]], str]:
        parts = re.split(r"([0-9]+)", name)
        return [(int(part), "") if part.isdecimal() else (0, part) for part in parts], name

    return sorted(set(names), key=key)


class Vote(NamedTuple):
    """One rater's answer to a question about an image."""

    model: str  # the model that made the image, or the name of its run folder
    item: str  # the item
    sample: int  # which of the item's images, from 0
    question: int | None  # the number of the question, from 1; None for whether the image as a whole matches its prompt
    rater: str  # who votes
    yes: bool | None  # the vote; None if the rater cannot tell
    line: int  # its line in its file


class Rating(NamedTuple):
    """One rater's rating of an image, or of a question about an image."""

    model: str  # the model that made the image, or the name of its run folder
    item: str  # the item
    sample: int  # which of the item's images, from 0
    question: int | None  # the number of the question, from 1; None for the image as a whole
    rater: str  # the rater; empty if the file names none
    value: float  # 0 to 1; of a label, 0 or 1
    line: int  # its line in its file


class LikertRating(NamedTuple):
    """One rater's Likert rating of how well an image follows its prompt."""

    model: str  # the model that made the image, or the name of its run folder
    item: str  # the item
    sample: int  # which of the item's images, from 0
    rater: str  # who rates
    points: int | None  # 1 to 5; None if the rating is still pending
    line: int = 0  # its line in its file; 0 if it comes from none
    cannot_tell: bool = False  # the rater cannot tell: no rating will come


class RatingFileError(FormalimgError, ValueError):
    """A rating file with invalid rows; `findings` has one line per kind of mistake."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        more = len(self.findings) - _MAX_SHOWN
        super().__init__("\n".join([*self.findings[:_MAX_SHOWN], *([f"(and {more} more)"] if more > 0 else [])]))

    def __reduce__(self) -> tuple[type[RatingFileError], tuple[tuple[str, ...]]]:
        return type(self), (self.findings,)


class VotesError(RatingFileError):
    """A vote file with invalid rows."""


class RatingsError(RatingFileError):
    """A file of labels, scores or Likert ratings with invalid rows."""


class BadRowError(Exception):
    """A row that cannot be parsed."""


class RowIssue(NamedTuple):
    """A mistake in a rating file and its line number, or 0 if it concerns no particular line."""

    line: int
    message: str


def format_issues(issues: Iterable[RowIssue], file: str = "") -> list[str]:
    """Return one line of text per mistake, in file order, merging repeated mistakes."""
    lines: dict[str, list[int]] = {}
    for line, message in sorted(issues, key=lambda issue: issue.line):
        lines.setdefault(message, []).append(line)
    texts = []
    for message, numbers in lines.items():
        more = f" (and {len(numbers) - 1} more line{'s' * (len(numbers) > 2)})" if len(numbers) > 1 else ""
        position = f"{f'{file}:' if file else 'line '}{numbers[0]}{more}" if numbers[0] else file
        texts.append(truncate(f"{position}: {message}" if position else message, 300, 200))
    return texts


@dataclass(frozen=True)
class RatingFile(Generic[RowT]):
    """A parsed rating file: its valid rows, and the issues found in the others."""

    file: str  # its name; empty if the rows come from no known file
    rows: tuple[RowT, ...]  # the valid rows
    issues: tuple[RowIssue, ...] = ()  # the mistakes in the others

    def require_valid(self, error: type[RatingFileError] = RatingsError) -> list[RowT]:
        """Return the rows, or raise an error if the file has any issues."""
        if self.issues:
            raise error(format_issues(self.issues, self.file))
        return list(self.rows)


class RatingColumns(NamedTuple):
    """The columns of a rating file."""

    value: str  # the column of the rating itself, such as vote
    others: tuple[str, ...] = ("model", "item", "sample", "question", "rater")  # image, question and rater
    must: tuple[str, ...] = ("model", "item", "rater")  # the required columns among the others
    keeps_undecided: bool = False  # whether rows of raters who cannot tell are parsed, and not skipped

    @property
    def all(self) -> tuple[str, ...]:
        """All columns that are read from the file."""
        return (*self.others, self.value)


def read_votes(path: str | Path) -> list[Vote]:
    """Read votes from a CSV file with the columns model, item, sample, question, rater and vote.

    Without a sample it is the first image, without a question (or with `all`) the image as a whole.
    """
    return load_vote_file(path).require_valid(VotesError)


def load_vote_file(path: str | Path) -> RatingFile[Vote]:
    """Parse a CSV file of votes: 1 or 0, yes or no. Invalid rows become issues."""

    def parse(cells: Mapping[str, str], line: int) -> Vote:
        yes = None if cells["vote"].lower() == CANNOT_TELL else _parse_yes_no(cells, "vote")
        return Vote(*parse_subject(cells), yes, line)

    return read_rating_file(path, RatingColumns("vote", keeps_undecided=True), parse)


def load_label_file(path: str | Path) -> RatingFile[Rating]:
    """Parse a CSV file of labels of whether the main objects of factual images are recognisable: 1 or 0, yes or no."""

    def parse(cells: Mapping[str, str], line: int) -> Rating:
        return Rating(*parse_subject(cells), float(_parse_yes_no(cells, "label")), line)

    columns = RatingColumns("label", ("model", "item", "sample", "rater"), ("model", "item"))
    return read_rating_file(path, columns, parse)


def load_score_file(path: str | Path) -> RatingFile[Rating]:
    """Parse a CSV file of scores from 0 to 1, for images or for questions about them."""

    def parse(cells: Mapping[str, str], line: int) -> Rating:
        text = cells["score"]
        is_number = _NUMBER.fullmatch(text) and any(map(str.isdigit, text)) and len(text) <= 30
        if not is_number or float(text) > 1:
            raise BadRowError(f"the score is {text!r}: write a number from 0 to 1, such as 0.5")
        return Rating(*parse_subject(cells), float(text), line)

    return read_rating_file(path, RatingColumns("score"), parse)


def load_likert_file(path: str | Path) -> RatingFile[LikertRating]:
    """Parse a CSV file of Likert ratings from 1 to 5, for images as a whole."""

    def parse(cells: Mapping[str, str], line: int) -> LikertRating:
        model, item, sample, question, rater = parse_subject(cells)
        if question is not None:
            raise BadRowError(f"the rating is of question {question}: on five points, images are rated as a whole")
        text = cells["rating"]
        cannot_tell = text.lower() == CANNOT_TELL
        if text not in ("1", "2", "3", "4", "5") and not cannot_tell:
            raise BadRowError(f"the rating is {text!r}: write 1, 2, 3, 4 or 5")
        return LikertRating(model, item, sample, rater, None if cannot_tell else int(text), line, cannot_tell)

    return read_rating_file(path, RatingColumns("rating", keeps_undecided=True), parse)


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


def parse_subject(cells: Mapping[str, str]) -> tuple[str, str, int, int | None, str]:
    """Return the model, item, sample, question and rater of a row."""
    question = cells.get("question", "")
    return (
        cells["model"],
        cells["item"],
        _parse_number(cells, "sample", 0) if cells.get("sample") else 0,
        None if question.lower() in ("", "all") else _parse_number(cells, "question", 1),
        cells.get("rater", ""),
    )


def _parse_yes_no(cells: Mapping[str, str], column: str) -> bool:
    value = _YES_NO.get(cells[column].lower())
    if value is None:
        raise BadRowError(f"the {column} is {cells[column]!r}: write 1 or 0, yes or no")
    return value


def _parse_number(cells: Mapping[str, str], column: str, minimum: int) -> int:
    text = cells[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= minimum):
        kind = "1, 2, 3 …, or all for the image as a whole" if column == "question" else "0, 1, 2 …"
        raise BadRowError(f"the {column} is {text!r}: write {kind}")
    return int(text)


def _parse_rows(
    reader: Any, columns: RatingColumns, parse: Callable[[Mapping[str, str], int], RowT], issues: list[RowIssue]
) -> Iterator[RowT]:
    header: list[str] | None = None
    is_empty = True
    for line, cells in _number_lines(reader, issues):
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
        advice = " below the names of the columns" if header else f": name the columns {', '.join(columns.all)}"
        issues.append(RowIssue(0, f"there are no {columns.value}s{advice}"))


def _number_lines(reader: Any, issues: list[RowIssue]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its first line; quoted line breaks can make a row span several lines."""
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        issues.append(RowIssue(line, f"this is not CSV: {error}"))


def _parse_header(cells: Sequence[str], columns: RatingColumns) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    missing = [column for column in (*columns.must, columns.value) if column not in header]
    if missing:
        for mark, name in ((";", "semicolons"), ("\t", "tabs")):
            if mark in cells[0]:
                raise BadRowError(f"there are {name} between the columns: save the table with commas between them")
        raise BadRowError(
            f"there is no column {missing[0]}: name the columns {', '.join(columns.all)}, with commas between them"
        )
    for name in header:
        if header.count(name) > 1 and name in columns.all:
            raise BadRowError(f"there are several columns {name}: keep one")
        near = closest_match(name, [column for column in columns.others if column not in header])
        if near and name not in columns.all:
            raise BadRowError(f"unknown column {name!r}: did you mean {near}?")
    return header


def _cells_by_column(header: Sequence[str], cells: Sequence[str], columns: RatingColumns) -> dict[str, str]:
    if len(cells) != len(header):
        raise BadRowError(f"there are {len(cells)} cells for {len(header)} columns")
    pairs = zip(header, cells, strict=True)
    by_column = {name: read_csv_cell(cell.strip()) for name, cell in pairs if name in columns.all}
    for column in (*columns.must, columns.value):
        if not by_column[column]:
            raise BadRowError(f"{column} is empty")
    return by_column
