"""Tables as HTML fragments, for reports and the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple

from formalimg._util.templates import render_template
from formalimg.reports.tables.format import bounds_text, incomplete_mark, interval_text, notes_of, number_text
from formalimg.reports.tables.model import Column, Number, TableRow, number_in
from formalimg.types import Table

_MAX_ROWS = 30  # Longer tables are collapsed, unless their placement says otherwise


def render_html(table: Table, tones: Mapping[str, str] | None = None, *, heading: bool = True) -> str:
    """Return a table as an HTML fragment of heading, table, caption and remarks, with all texts escaped."""
    columns = []
    for n, column in enumerate(table.columns):
        numbers = (number_in(table, row, n) for row in table.rows)
        has_intervals = any(number is not None and interval_text(number, column) for number in numbers)
        columns.append(_HtmlColumn(column, heading, has_intervals))
    bodies: dict[str, list[dict[str, object]]] = {"": [], "bound": [], "published": []}
    for row in table.rows:
        body = "published" if row.is_published else "bound" if row.is_baseline else ""
        kind = "" if row.is_published else (tones or {}).get(row.run, "")
        cells = [_build_cell(table, row, n, column) for n, column in enumerate(columns)]
        bodies[body].append({"cells": cells, "kind": kind, "title": row.title})
    # Headings over groups of columns; rates and scores without a group have an empty one of their own.
    groups = groupby(table.columns, lambda column: (column.group, column.type in ("percent", "score")))
    is_long = len(table.rows) > _MAX_ROWS if table.placement == "more" else table.placement == "detail"
    return render_template(
        "formalimg.reports.tables",
        "table.html",
        table=table,
        notes=notes_of(table, compact=True),
        heading=heading,
        columns=columns,
        groups=[] if heading else [{"head": head, "width": len(list(group))} for (head, _), group in groups],
        bodies=[(kind, rows) for kind, rows in bodies.items() if rows],
        is_collapsed=heading and is_long,
    )


class _HtmlColumn(NamedTuple):
    column: Column
    is_detail: bool
    has_intervals: bool

    @property
    def kind(self) -> str:
        """The CSS class of the heading, which aligns it with the numbers of the column rather than their intervals."""
        if self.column.is_left and self.is_detail:
            return "words"
        if self.column.starts:
            return "first"
        return "ranged" if self.is_detail and self.has_intervals else ""

    @property
    def head(self) -> str:
        return self.column.short if self.column.needs_group else self.column.head


def _build_cell(table: Table, row: TableRow, n: int, html_column: _HtmlColumn) -> dict[str, object]:
    """Return the data of a cell, whose `interval` is None if the column has none and empty if the number has none."""
    column, number = html_column.column, number_in(table, row, n)
    kind = "" if html_column.kind == "ranged" else html_column.kind
    if number is None:
        text = str(row.cells[n])
        swatch = bool(text) and text == row.run and not row.is_published
        return {"text": text, "mark": "", "interval": None, "title": "", "kind": kind, "bounds": "", "swatch": swatch}
    interval: str | None = interval_text(number, column, compact=column.interval == "compact")
    # In a table with headings a number without an interval stands below those that have one.
    if not interval and not (html_column.is_detail and html_column.has_intervals):
        interval = None
    return {
        "text": number_text(number, column),
        "mark": incomplete_mark(number, column),
        "interval": interval,
        "title": _counts_title(number, column),
        "kind": kind,
        "bounds": bounds_text(number, column),
        "swatch": False,
    }


def _counts_title(number: Number, column: Column) -> str:
    """Return the counts behind a number, and its exact interval if it is shown rounded."""
    if number.value is None:
        return ""
    counts = []
    if number.coverage is not None:
        counts.append(f"{100 * number.coverage:.1f} % scored")
    elif column.type != "scored":
        if number.passed is not None:
            counts.append(f"{number.passed:,} passed")
        if number.scored is not None:
            counts.append(f"{number.scored:,} of {number.expected or 0:,} scored")
    interval = interval_text(number, column) if column.interval == "compact" else ""
    return "; ".join(filter(None, [interval, ", ".join(counts)]))
