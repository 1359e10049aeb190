"""Tables as HTML fragments, for reports and the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple

from formalimg._util.templates import render_template
from formalimg.reports.tables.format import bounds_text, interval_text, mark, notes_of, number_text
from formalimg.reports.tables.model import Column, Number, TableRow, number_in
from formalimg.types import Table

_MAX_ROWS = 30
"""Longer tables are collapsed, unless their placement says otherwise."""


class _HtmlCell(NamedTuple):
    """A cell; `interval` is None where the column has none, and empty where only this number has none."""

    text: str
    mark: str = ""
    interval: str | None = None
    title: str = ""
    kind: str = ""
    swatch: bool = False
    bounds: str = ""


class _HtmlRow(NamedTuple):
    cells: tuple[_HtmlCell, ...]
    kind: str
    title: str


class _HtmlGroup(NamedTuple):
    head: str
    width: int


def render_html(table: Table, tones: Mapping[str, str] | None = None, *, heading: bool = True) -> str:
    """Return a table as an HTML fragment: heading, table, caption and remarks. All texts are escaped."""
    columns = [_HtmlColumn(column, heading, _has_intervals(table, n)) for n, column in enumerate(table.columns)]
    bodies = [
        (kind, [_row(table, row, columns, tones or {}) for row in table.rows if _body(row) == kind])
        for kind in ("", "bound", "published")
    ]
    return render_template(
        "formalimg.reports.tables",
        "table.html",
        table=table,
        notes=notes_of(table, compact=True),
        heading=heading,
        columns=columns,
        groups=[] if heading else _groups(table),
        bodies=[body for body in bodies if body[1]],
        is_collapsed=heading and _is_collapsed(table),
    )


def _body(row: TableRow) -> str:
    """Return the CSS class of the part of the table that a row is in."""
    return "published" if row.is_published else "bound" if row.is_baseline else ""


class _HtmlColumn(NamedTuple):
    column: Column
    is_detail: bool
    has_intervals: bool

    @property
    def kind(self) -> str:
        """The CSS class of its heading, which stands over the numbers of its column, not over their intervals."""
        if self.column.is_left and self.is_detail:
            return "words"
        if self.column.starts:
            return "first"
        return "ranged" if self.is_detail and self.has_intervals else ""

    @property
    def head(self) -> str:
        return self.column.short if self.column.needs_group else self.column.head


def _groups(table: Table) -> list[_HtmlGroup]:
    """Return the headings over groups of columns; rates and scores without a group have an empty one of their own."""
    groups = groupby(table.columns, lambda one: (one.group, one.type in ("percent", "score")))
    return [_HtmlGroup(group, len(list(those))) for (group, _), those in groups]


def _has_intervals(table: Table, n: int) -> bool:
    numbers = (number_in(table, row, n) for row in table.rows)
    return any(number is not None and interval_text(number, table.columns[n]) for number in numbers)


def _is_collapsed(table: Table) -> bool:
    return len(table.rows) > _MAX_ROWS if table.placement == "more" else table.placement == "detail"


def _row(table: Table, row: TableRow, columns: list[_HtmlColumn], tones: Mapping[str, str]) -> _HtmlRow:
    cells = tuple(_cell(table, row, n, column) for n, column in enumerate(columns))
    return _HtmlRow(cells, "" if row.is_published else tones.get(row.run, ""), row.title)


def _cell(table: Table, row: TableRow, n: int, shown: _HtmlColumn) -> _HtmlCell:
    column, number = shown.column, number_in(table, row, n)
    kind = "" if shown.kind == "ranged" else shown.kind
    if number is None:
        text = str(row.cells[n])
        return _HtmlCell(text, kind=kind, swatch=bool(text) and text == row.run and not row.is_published)
    interval: str | None = interval_text(number, column, compact=column.interval == "compact")
    # In a table with headings a number without an interval stands below those that have one.
    if not interval and not (shown.is_detail and shown.has_intervals):
        interval = None
    return _HtmlCell(
        number_text(number, column),
        mark(number, column),
        interval,
        _title(number, column),
        kind,
        bounds=bounds_text(number, column),
    )


def _title(number: Number, column: Column) -> str:
    """Return the counts behind a number, and the interval where it is shown rounded."""
    if number.value is None:
        return ""
    found = []
    if number.coverage is not None:
        found.append(f"{100 * number.coverage:.1f} % scored")
    elif number.passed is not None and column.type != "scored":
        found.append(f"{number.passed:,} passed")
    if number.coverage is None and number.scored is not None and column.type != "scored":
        found.append(f"{number.scored:,} of {number.expected or 0:,} scored")
    interval = interval_text(number, column) if column.interval == "compact" else ""
    return "; ".join(filter(None, [interval, ", ".join(found)]))
