"""Tables as data: one CSV line per number, and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from formalimg._util.text import csv_table
from formalimg.reports.tables.format import caption_text
from formalimg.reports.tables.model import Column, Number, TableRow, count_front_columns, number_in
from formalimg.stats.observations import Interval
from formalimg.types import Table


def csv_rows(table: Table, row: TableRow) -> Iterator[dict[str, object]]:
    """Yield one line for each number of a row: figure, name, counts, value, low, high, worst and best.

    By default a number is named by the texts in front of it and the heading of its column.
    """
    front = [
        cell for cell in row.cells[: count_front_columns(table)] if isinstance(cell, str) and cell not in ("", row.run)
    ]
    for n, column in enumerate(table.columns):
        number = number_in(table, row, n)
        if number is not None:
            yield {
                "figure": column.figure or table.name,
                "name": export_label(column.name or ", ".join([*front, column.head])),
                **_number_counts(number),
                "value": number.value,
                "low": number.interval.low if number.interval else None,
                "high": number.interval.high if number.interval else None,
                "worst": bounds.low if (bounds := number.missing_bounds(column)) else None,
                "best": bounds.high if bounds else None,
            }


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, header: bool = True) -> str:
    """Return rows as CSV with missing fields empty and with cells that no spreadsheet executes as formulas."""
    return csv_table([*([columns] if header else []), *([row.get(name) for name in columns] for row in rows)])


def json_table(table: Table) -> dict[str, object]:
    """Return a table as plain data for JSON."""
    return {
        "name": table.name,
        "title": table.title,
        "note": caption_text(table),
        "heads": [export_label(column.head) for column in table.columns],
        "rows": [
            {
                "run": row.run or None,
                "published": row.is_published,
                "cells": [
                    cell if (number := number_in(table, row, n)) is None else json_number(number, table.columns[n])
                    for n, cell in enumerate(row.cells)
                ],
            }
            for row in table.rows
        ],
    }


def json_number(number: Number, column: Column) -> dict[str, object]:
    """Return a number as plain data.

    `plus_minus` is null where it is a side of the interval; `missing_bounds` is there only if verdicts are missing.
    """
    bounds = number.missing_bounds(column)
    return {
        "value": number.value,
        "form": column.type,
        "interval": json_interval(number.interval),
        "plus_minus": number.margin,
        **_number_counts(number),
        **({"missing_bounds": list(bounds)} if bounds else {}),
    }


def json_interval(interval: Interval | None) -> list[float] | None:
    """Return an interval as a list of its two ends."""
    return list(interval) if interval else None


def export_label(text: str) -> str:
    """Return a label for CSV and JSON files, using the wording of earlier versions for compatibility."""
    return text.replace("image", "picture")


def _number_counts(number: Number) -> dict[str, object]:
    return {"passed": number.passed, "scored": number.scored, "expected": number.expected}
