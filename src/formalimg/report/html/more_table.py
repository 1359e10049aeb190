"""The tables besides the main one."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.report.cells import bounds_text, figure_text, note_of, words_in_front
from formalimg.report.comparison import Section
from formalimg.report.figures import INCOMPLETE
from formalimg.report.html.markup import Markup, element, folded
from formalimg.report.html.tones import tones_of
from formalimg.report.tables import Cell, Figure, Table, TableRow

_LONGEST = 30
"""Longer tables are folded away."""


def more_table(table: Table, section: Section) -> Markup:
    """A table with its title above and its note below."""
    tones = dict(zip((row.name for row in section.rows), tones_of(section.rows), strict=True))
    grid = element(
        "div",
        element(
            "table",
            element("thead", element("tr", (_head(table, column) for column, _ in enumerate(table.heads)))),
            _bodies(table, tones),
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
        folded(f"{len(table.rows)} rows", grid) if len(table.rows) > _LONGEST else grid,
        element("p", note_of(table), class_="caption"),
        class_="more",
    )


def _head(table: Table, column: int) -> Markup:
    """A head stands over the figures of its column, not over their intervals."""
    kind = "words" if column < words_in_front(table) else "ranged" if _is_ranged(table, column) else None
    return element("th", table.heads[column], scope="col", class_=kind)


def _is_ranged(table: Table, column: int) -> bool:
    """Do figures of the column have their intervals beside them?"""
    cells = (row.cells[column] for row in table.rows)
    return any(isinstance(cell, Figure) and bounds_text(cell) for cell in cells)


def _bodies(table: Table, tones: Mapping[str, str]) -> list[Markup]:
    """Runs, and published figures apart from them."""
    parts = {
        None: [row for row in table.rows if not row.published],
        "published": [r for r in table.rows if r.published],
    }
    return [
        element("tbody", (_row(row, table, tones.get(row.run)) for row in rows), class_=kind)
        for kind, rows in parts.items()
        if rows
    ]


def _row(row: TableRow, table: Table, tone: str | None) -> Markup:
    cells = (_cell(cell, row, table, column) for column, cell in enumerate(row.cells))
    return element("tr", cells, class_=tone)


def _cell(cell: Cell, row: TableRow, table: Table, column: int) -> Markup:
    in_words, first = column < words_in_front(table), column == 0
    if isinstance(cell, Figure):
        mark = element("sup", INCOMPLETE) if cell.is_incomplete else ""
        # A figure without an interval stands below those that have one.
        bounds = element("small", bounds_text(cell)) if _is_ranged(table, column) else ""
        return element("td", figure_text(cell), mark, bounds, title=_told(cell) or None)
    swatch = element("span", class_="swatch") if cell == row.run and not row.published else ""
    name = "th" if first else "td"
    return element(name, swatch, cell, scope="row" if first else None, class_="words" if in_words else None)


def _told(figure: Figure) -> str:
    """The counts behind a figure."""
    told = []
    if figure.passed is not None:
        told.append(f"{figure.passed:,} shown")
    if figure.scored is not None:
        told.append(f"{figure.scored:,} of {figure.expected or 0:,} scored")
    return ", ".join(told)
