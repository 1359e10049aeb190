"""Tables of rubric verdicts: several criteria from 1 to 5 for each image, by one judge or more, with notes.

A table (CSV, TSV, JSON Lines or JSON) has `model`, `item`, `judge`, a column for each criterion, and optionally
`sample`, `temperature`, `note` and `error`. Other names for the same are known (`RUBRIC_NAMES`). `N/A` is a criterion
that does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg._util.record_files import TableRecord, read_table
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing.answer_files import ANSWER_NAMES, read_name, read_sample

RUBRIC_NAMES = {
    "model": (*ANSWER_NAMES["model"], "model_id"),
    "item": ANSWER_NAMES["item"],
    "sample": ANSWER_NAMES["sample"],
    "judge": ("judge", "judge_id", "judge_model", "rater", "rater_id"),
    "temperature": ("temperature", "judge_temp", "judge_temperature"),
    "note": ("note", "notes", "comment", "rationale", "reason"),
    "error": ("error", "judge_error"),
}
"""The names under which each field is found, the first that is there."""

LEAST, MOST = 1, 5
"""The scale of a criterion."""

NOT_APPLICABLE = ("n/a", "na", "not applicable", "-", "–")
_MAX_CRITERIA, _MAX_ROWS = 50, 500_000
_MAX_NOTE = 2_000


class RubricVerdict(NamedTuple):
    """A verdict as it stands in a file."""

    model: str  # the image; the model is empty if the file names none
    item: str
    sample: int
    judge: str  # who judged, and at which `temperature`; empty if the file does not say
    temperature: str
    # by criterion; None for one that does not apply. A criterion without a rating is missing
    ratings: Mapping[str, int | None]
    note: str  # what the judge wrote
    error: str  # why there are no ratings, if the file says so


@dataclass(frozen=True)
class RubricTable:
    """The verdicts in a file."""

    path: Path  # the file
    criteria: tuple[str, ...]  # the criteria, in the order of the columns
    verdicts: tuple[RubricVerdict, ...]  # the verdicts; of several by one judge on one image, the last
    skipped: int  # how many records could not be read
    repeated: int  # how many verdicts were replaced by a later one


def read_rubrics(path: str | Path, criteria: Sequence[str] = ()) -> RubricTable:
    """Return the rubric verdicts in a file."""
    place = Path(path)
    unread: list[str] = []
    rows = read_table(place, lambda where, why: unread.append(where))
    if len(rows) > _MAX_ROWS:
        raise FormalimgError(f"{place} has more than {_MAX_ROWS:,} verdicts: split it")
    columns = tuple(dict.fromkeys(name for row in rows for name in row.fields))
    names = tuple(criteria) or tuple(column for column in columns if _is_criterion(column, rows))
    absent = next((name for name in names if name not in columns), None)
    if absent is not None:
        raise FormalimgError(f"{place} has no column {absent!r}: it has {truncate(', '.join(columns), 200, 50)}")
    if not 0 < len(names) <= _MAX_CRITERIA:
        raise FormalimgError(
            f"{place} has no columns of ratings from {LEAST} to {MOST}, or more than {_MAX_CRITERIA}: name them with "
            "--criteria"
        )
    read = [_verdict(row, names) for row in rows]
    verdicts = {verdict[:5]: verdict for verdict in read if verdict is not None}
    if not verdicts:
        raise FormalimgError(f"{place} holds no verdicts: give a table with model, item, judge and criteria")
    bad = sum(verdict is None for verdict in read)
    return RubricTable(place, names, tuple(verdicts.values()), len(unread) + bad, len(read) - bad - len(verdicts))


def read_rating(value: object) -> int | str | None:
    """Return a rating; None if the criterion does not apply; the text of anything else, empty if there is nothing."""
    text = " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
    if text.lower() in NOT_APPLICABLE:
        return None
    number = text.removesuffix(".0")
    is_rating = number.isascii() and number.isdigit() and len(number) == 1 and LEAST <= int(number) <= MOST
    return int(number) if is_rating else text


def _is_criterion(column: str, rows: Sequence[TableRecord]) -> bool:
    if any(column in names for names in RUBRIC_NAMES.values()):
        return False
    found = [read_rating(row.fields.get(column)) for row in rows]
    return any(isinstance(rating, int) for rating in found) and not any(
        isinstance(rating, str) and rating for rating in found
    )


def _verdict(row: TableRecord, criteria: Sequence[str]) -> RubricVerdict | None:
    """Return the verdict in a record; None if it does not say by whom it is, and on which image."""
    item, judge = row.text(RUBRIC_NAMES["item"]), read_name(row, RUBRIC_NAMES["judge"])
    sample = read_sample(row, RUBRIC_NAMES["sample"])
    if not item or not judge or sample is None:
        return None
    found = {name: read_rating(row.fields.get(name)) for name in criteria}
    odd = {name: value for name, value in found.items() if isinstance(value, str) and value}
    said = "; ".join(f"the rating of {name} is {truncate(value, 40, 10)}" for name, value in odd.items())
    error = truncate(row.text(RUBRIC_NAMES["error"]), 200, 20) or said
    return RubricVerdict(
        read_name(row, RUBRIC_NAMES["model"]),
        item,
        sample,
        judge,
        row.text(RUBRIC_NAMES["temperature"]),
        {name: value for name, value in found.items() if not isinstance(value, str)},
        truncate(row.text(RUBRIC_NAMES["note"]), _MAX_NOTE, 0),
        error,
    )
