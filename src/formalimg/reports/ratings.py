"""Human ratings in reports: the tables, CSV lines and data of studies of raters."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from formalimg._util.text import read_csv_cell
from formalimg.types import Table

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.studies import HumanStudy

_NUMBERS = ("value", "low", "high", "n", "left_out", "kappa", "kappa_low", "kappa_high")


def rating_tables(study: HumanStudy) -> tuple[Table, ...]:
    """Return the tables of a study; its results first."""
    from formalimg.human_eval.agreement.studies import tables_of_study  # here, so that other reports are made faster

    return tuple(tables_of_study(study))


def rating_lines(study: HumanStudy) -> Iterator[dict[str, object]]:
    """Yield one CSV line for each number of a study, in the columns that reports have.

    `figure` is `people`, and `name` says which number and of what; `scored` counts the cases behind it, and `expected`
    also those that were left out.
    """
    from formalimg.human_eval.agreement.studies import human_study_text

    for cells in csv.DictReader(io.StringIO(human_study_text([study], "csv"))):
        line = {column: read_csv_cell(cell) for column, cell in cells.items()}
        labels = (label for column, label in line.items() if column not in (*_NUMBERS, "run") and label)
        n, left_out = line.get("n"), line.get("left_out")
        yield {
            "suite": study.suite,
            "run": line.get("run"),
            "figure": "people",
            "name": ", ".join(labels),
            "scored": n,
            "expected": int(n) + int(left_out) if n and left_out else None,
            "value": line.get("value"),
            "low": line.get("low"),
            "high": line.get("high"),
            "confidence": study.confidence,
        }


def rating_data(studies: Sequence[HumanStudy]) -> object:
    """Return everything studies have, as plain data for JSON."""
    from formalimg.human_eval.agreement.studies import human_study_text

    return json.loads(human_study_text(studies, "json"))
