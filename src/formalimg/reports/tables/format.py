"""Format numbers, intervals and counts as text, CSV and JSON, and name levels and measures, the same in all formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor

from formalimg._util.text import csv_table
from formalimg.reports.tables.model import (
    Cell,
    Column,
    ColumnType,
    Number,
    TableRow,
    as_number,
    count_front_columns,
    is_incomplete,
    number_in,
)
from formalimg.stats.observations import Generalizability, Interval, MissingPolicy, Summary
from formalimg.types import Benchmark, Table

NOTHING = "–"  # Stands for an unknown number
INCOMPLETE = "†"  # Marks a number for which some images were not scored
INCOMPLETE_NOTE = f"{INCOMPLETE} not all images were scored."
BOUNDS_NOTE = f"{INCOMPLETE} not all images were scored. ↓ the number if all of the others failed, ↑ if all passed."


_WITHOUT_INTERVAL = frozenset({"share", "steps", "p", "decimal", "dollars", "count", "rank", "scored", "text"})


def format_value(value: float | None, type: ColumnType) -> str:  # noqa: A002  # the field's name
    """Format a number without its interval and mark: `86.5`, `0.87`, `+0.07`, `$0.0038`, `1,234`."""
    if value is None:
        return NOTHING
    match type:
        case "percent":
            return f"{100 * value:.1f}"
        case "score" | "number":
            return f"{value:.2f}"
        case "p":
            return "< 0.001" if value < 0.001 else f"{value:.3f}"
        case "difference" | "points":
            text = f"{value:+.2f}" if type == "difference" else f"{100 * value:+.1f}"
            return text.replace("-", "−") if text.strip("+-0.") else text[1:]
        case "steps":
            return f"{value:+g}".replace("-", "−") if value else "0"
        case "share":
            text = f"{value:.2f}"
            return text.removeprefix("0") if text.startswith("0.") else text
        case "decimal":
            return f"{value:,.1f}"
        case "dollars":
            return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"
        case "count" | "rank" | "scored":
            return f"{value:,.0f}"
        case "level" | "text":
            return f"{value:g}"


def format_interval(interval: Interval | None, type: ColumnType, *, compact: bool = False) -> str:  # noqa: A002
    """Format an interval: `81.0–90.6`, `0.81 to 0.91`; empty if there is none.

    Compact percentages are rounded outwards to whole numbers. Scores keep their decimals, so that the same digits never
    stand for two different intervals.
    """
    if interval is None or type in _WITHOUT_INTERVAL:
        return ""
    if compact and type == "percent":
        low, high = _round_outwards(interval)
        return f"{low}–{high}"
    between = " to " if type in ("number", "difference", "points") else "–"
    return f"{format_value(interval.low, type)}{between}{format_value(interval.high, type)}"


def _round_outwards(interval: Interval) -> tuple[int, int]:
    # Rounded first, because 100 * 0.29 is a little less than 29.
    return floor(round(100 * interval.low, 9)), ceil(round(100 * interval.high, 9))


def number_text(number: Number, column: Column) -> str:
    """Format a number without its interval and mark."""
    if column.type == "scored" and number.scored is not None:
        return f"{number.scored}/{number.expected}"
    if column.type == "rank" and number.interval is not None:
        return "–".join(dict.fromkeys(f"{end:.0f}" for end in number.interval))
    if number.digits is not None and number.value is not None and column.type == "percent":
        return f"{100 * number.value:.{number.digits}f}"
    text = format_value(number.value, column.type)
    if column.type == "share" and number.value is not None and number.plus_minus is not None:
        return f"{text} ± {format_value(number.plus_minus, 'share')}"
    return text


def incomplete_mark(number: Number, column: Column) -> str:
    """Return the mark of an incomplete number, or an empty string for a complete one."""
    return INCOMPLETE if number.is_incomplete and column.type != "scored" else ""


def interval_text(number: Number, column: Column, *, compact: bool = False) -> str:
    """Format the interval of a number in the style of its column, or return an empty string if there is none."""
    return "" if number.value is None else format_interval(number.interval, column.type, compact=compact)


def bounds_text(number: Number, column: Column) -> str:
    """Format the bounds for missing verdicts, such as `↓55 ↑70`; empty if no verdict is missing.

    They are not formatted as an interval, because they have a different meaning.
    """
    bounds = number.missing_bounds(column)
    if bounds is None or column.type in _WITHOUT_INTERVAL - {"share"}:
        return ""
    if column.type == "percent" and column.interval == "compact":
        low, high = _round_outwards(bounds)
        return f"↓{low} ↑{high}"
    return f"↓{format_value(bounds.low, column.type)} ↑{format_value(bounds.high, column.type)}"


def cell_text(
    cell: Cell, column: Column, *, mark_first: bool = False, compact: bool = False, bounds: bool = True
) -> str:
    """Format a cell with its interval, and the mark and bounds of an incomplete number: `86.5† (81–91) ↓78 ↑92`."""
    number = as_number(cell, column)
    if number is None:
        return str(cell)
    text, sign = number_text(number, column), incomplete_mark(number, column)
    text = f"{sign}{text}" if mark_first else f"{text}{sign}"
    is_full = column.interval == "full"
    has_interval = is_full or (compact and column.interval == "compact")
    interval = interval_text(number, column, compact=not is_full) if has_interval else ""
    missing = bounds_text(number, column) if bounds else ""
    return " ".join(filter(None, [text, f"({interval})" if interval else "", missing]))


def notes_of(table: Table, *, compact: bool = False, bounds: bool = True) -> tuple[str, ...]:
    """Return the caption and remarks of a table, with an explanation of any intervals and marks in the caption."""
    numbers = [
        (number, column)
        for n, column in enumerate(table.columns)
        for row in table.rows
        if (number := number_in(table, row, n)) is not None
    ]
    more = []
    if table.interval_note and any(
        interval_text(number, column) for number, column in numbers if compact or column.interval == "full"
    ):
        more.append(table.interval_note)
    if is_incomplete(table):
        has_bounds = bounds and any(number.missing_bounds(column) is not None for number, column in numbers)
        more.append(BOUNDS_NOTE if has_bounds else INCOMPLETE_NOTE)
    return (" ".join([*table.notes[:1], *more]), *table.notes[1:]) if more else table.notes


def caption_text(table: Table) -> str:
    """Return the caption and remarks of a table as one paragraph."""
    return " ".join(notes_of(table, compact=True))


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun: `1 item`, `2,000 items`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def unit_of(suite: Benchmark) -> str:
    """Return the unit of the suite's numbers, which is ` %` or empty."""
    return "" if suite.has_scores else " %"


def axis_label(value: float, suite: Benchmark) -> str:
    """Format a number as an axis label: `20 %`, or `0.2`."""
    return f"{value:.1f}" if suite.has_scores else f"{100 * value:.0f} %"


def generalizability_text(summary: Summary) -> str:
    """Format G without its interval, marked if some images were not scored."""
    general, overall = summary.generalizability, summary.overall
    if general is None or general.value is None:
        return NOTHING
    return f"{general.value}{INCOMPLETE if overall.scored < overall.expected else ''}"


def generalizability_interval(general: Generalizability) -> str:
    """Format the interval of G: `4–10`; empty if there is none."""
    return "" if general.low is None or general.high is None else f"{general.low}–{general.high}"


def epsilon_text(epsilon: float) -> str:
    """Format the threshold of G, such as `0.7`."""
    return f"{epsilon:g}"


def join_counts(counts: Mapping[str, int]) -> str:
    """Join counts for a sentence: `3 refused, 1 judge failed`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())


def shorten_text(text: str, max_length: int) -> str:
    """Truncate text to `max_length` on a single line."""
    line = " ".join(text.split())
    return line if len(line) <= max_length else f"{line[: max_length - 1].rstrip()}…"


RULES: dict[MissingPolicy, str] = {
    "exclude": "Images without a verdict are left out of the rates",
    "fail": "Images without a verdict count as failures",
    "error": "Every image has a verdict",
}
"""The rule for images without a verdict."""

SCORE_RULES: dict[MissingPolicy, str] = {
    "exclude": "Images without a score are left out of the means",
    "fail": "Images without a score count as 0",
    "error": "Every image has a score",
}
"""The rule for images without a score."""


FAILURES_COUNTED = "Only scored images count, without those that failed by rule, which no judge looked at."
"""Which images the shares of failures are about."""


def level_head(suite: Benchmark, level: int) -> str:
    """Return the column heading of a level: `3` under the word for levels, or its own name, such as `L3`."""
    return suite.level_names.get(level, str(level))


def level_word(suite: Benchmark) -> str:
    """Return the word for levels, such as `K`, or an empty string if levels have names of their own."""
    return "" if suite.level_names else suite.level


def level_name(suite: Benchmark, level: int) -> str:
    """Return the full name of a level: `K 3`, or `L3`."""
    return f"{level_word(suite)} {level_head(suite, level)}".strip()


def rule_text(missing: MissingPolicy, *, of_scores: bool = False) -> str:
    """Return a description of the policy for missing verdicts or scores, including its name."""
    return f"{(SCORE_RULES if of_scores else RULES)[missing]} (missing: {missing})"


# --- tables as data: one CSV line per number, and JSON


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
