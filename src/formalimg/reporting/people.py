"""What people say about the images of runs, in the forms that reports are written in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalimg.reporting.tables import Table, TableRow

if TYPE_CHECKING:
    from formalimg.analysis import StudyOfPeople

_NUMBERS = ("value", "low", "high", "n", "left_out", "kappa")


_FOLDED = {"result": False, "more": None, "detail": True}


def tables_of_people(study: StudyOfPeople) -> tuple[Table, ...]:
    """The tables of a study as those of a report: first its results, which are never folded away."""
    from formalimg.analysis import people_tables  # here, so that other reports are made faster

    return tuple(
        Table(
            "people",
            table.title,
            table.note,
            table.heads,
            tuple(TableRow("", row) for row in table.rows),
            _FOLDED[table.place],
        )
        for table in people_tables(study)
    )


def figures_of_people(study: StudyOfPeople) -> Iterator[dict[str, object]]:
    """One line for each figure, in the columns that reports have.

    `figure` is `people`, and `name` tells which figure of them and of what; `scored` counts the cases behind it, and
    `expected` those that were left out too.
    """
    from formalimg.analysis import people_text

    for line in csv.DictReader(io.StringIO(people_text([study], "csv"))):
        words = (words for column, words in line.items() if column not in (*_NUMBERS, "run") and words)
        counted, left_out = line.get("n"), line.get("left_out")
        yield {
            "suite": study.suite,
            "run": line.get("run"),
            "figure": "people",
            "name": ", ".join(words),
            "scored": counted,
            "expected": int(counted) + int(left_out) if counted and left_out else None,
            "value": line.get("value"),
            "low": line.get("low"),
            "high": line.get("high"),
            "confidence": study.confidence,
        }
