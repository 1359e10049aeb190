"""The tables besides the main one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formalimg.reporting.cells import bounds_text, figure_text, note_of
from formalimg.reporting.columns import holds_words
from formalimg.reporting.comparison import Section
from formalimg.reporting.figures import INCOMPLETE
from formalimg.reporting.html.markup import Markup, element, folded
from formalimg.reporting.html.tones import tones_of
from formalimg.reporting.tables import Cell, Figure, Table, TableRow

_LONGEST = 30
"""Longer tables are folded away, unless they say otherwise."""


class _Column(NamedTuple):
    """How a column is set: words to the left; figures that have intervals with room for them."""

    head: str
    has_words: bool
    has_intervals: bool


def more_table(table: Table, section: Section) -> Markup:
    """A table with its title above and its note below."""
    tones = dict(zip((row.name for row in section.rows), tones_of(section.rows), strict=True))
    columns = [
        _Column(head, holds_words(table, number), _has_intervals(table, number))
        for number, head in enumerate(table.heads)
    ]
    grid = element(
        "div",
        element(
            "table",
            element("thead", element("tr", map(_head, columns))),
            _bodies(table, columns, tones),
            aria_label=table.title,
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=table.title,
    )
    return element(
        "div",
        element("h3", table.title),
        folded(f"{len(table.rows)} rows", grid) if _is_folded(table) else grid,
        element("p", note_of(table), class_="caption"),
        class_="more",
    )


def _is_folded(table: Table) -> bool:
    return len(table.rows) > _LONGEST if table.folded is None else table.folded


def _head(column: _Column) -> Markup:
    """A head stands over the figures of its column, not over their intervals."""
    kind = "words" if column.has_words else "ranged" if column.has_intervals else None
    return element("th", column.head, scope="col", class_=kind)


def _has_intervals(table: Table, column: int) -> bool:
    """Do figures of the column have their intervals beside them?"""
    cells = (row.cells[column] for row in table.rows)
    return any(isinstance(cell, Figure) and bounds_text(cell) for cell in cells)


def _bodies(table: Table, columns: Sequence[_Column], tones: Mapping[str, str]) -> list[Markup]:
    """Runs, and published figures apart from them."""
    parts = {
        None: [row for row in table.rows if not row.published],
        "published": [row for row in table.rows if row.published],
    }
    return [
        element(
            "tbody", (_row(row, columns, None if row.published else tones.get(row.run)) for row in rows), class_=kind
        )
        for kind, rows in parts.items()
        if rows
    ]


def _row(row: TableRow, columns: Sequence[_Column], tone: str | None) -> Markup:
    cells = (
        _cell(cell, row, column, is_first=not number)
        for number, (cell, column) in enumerate(zip(row.cells, columns, strict=True))
    )
    return element("tr", cells, class_=tone)


def _cell(cell: Cell, row: TableRow, column: _Column, is_first: bool) -> Markup:
    if isinstance(cell, Figure):
        mark = element("sup", INCOMPLETE) if cell.is_incomplete else ""
        # A figure without an interval stands below those that have one.
        bounds = element("small", bounds_text(cell)) if column.has_intervals else ""
        return element("td", figure_text(cell), mark, bounds, title=_told(cell) or None)
    swatch = element("span", class_="swatch") if cell and cell == row.run and not row.published else ""
    name, scope = ("th", "row") if is_first else ("td", None)
    return element(name, swatch, cell, scope=scope, class_="words" if column.has_words else None)


def _told(figure: Figure) -> str:
    """The counts behind a figure."""
    told = []
    if figure.passed is not None:
        told.append(f"{figure.passed:,} shown")
    if figure.scored is not None:
        told.append(f"{figure.scored:,} of {figure.expected or 0:,} scored")
    return ", ".join(told)
