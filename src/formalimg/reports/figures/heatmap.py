"""Heatmaps: tables of numbers in which darker cells are larger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from formalimg.reports.figures.series import with_title
from formalimg.reports.figures.svg import (
    INK,
    QUIET,
    WIDTH,
    Figure,
    Markup,
    element,
    fit_text,
    join,
    text_at,
    text_width,
)

_MAX_NAME, _MAX_HEAD = 76.0, 56.0
_LOWEST, _HIGHEST = 9.5, 16.0
_LETTERS_APART = 7.5
_PALE, _DARK = (0xF4, 0xF6, 0xF9), (0x1D, 0x5B, 0xA6)


class HeatMap(NamedTuple):
    """A heatmap."""

    title: str  # what it shows, and how its numbers were made
    note: str
    rows: tuple[str, ...]  # what stands beside and above it
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], float]  # the numbers, by row and column; those that are not known are not there
    written: Mapping[tuple[str, str], str]  # the same as they are written into the table
    about: str = ""  # what the columns are, such as k; empty if their names speak for themselves
    low: float = 0  # which numbers are palest and darkest
    high: float = 1


def heat_map(name: str, table: HeatMap) -> Figure:
    """Return a heatmap as a figure, with vertical headings where they are too long for their columns."""
    left = min(_MAX_NAME, max(map(text_width, table.rows))) + 5
    cell_width = (WIDTH - left - 1) / len(table.columns)
    high = max(_LOWEST, min(_HIGHEST, cell_width))
    upwards = max(map(text_width, table.columns)) > cell_width - 2
    top = min(_MAX_HEAD, max(map(text_width, table.columns))) + 5 if upwards else 10.0
    top += 10 if table.about else 0
    parts = [text_at(table.about, left + cell_width * len(table.columns) / 2, 7, "middle")] if table.about else []
    parts += _heads(table.columns, left, cell_width, top, upwards=upwards)
    for number, row in enumerate(table.rows):
        y = top + high * number
        parts.append(text_at(fit_text(row, _MAX_NAME), left - 3, y + high / 2 + 2.4, "end"))
        for place, column in enumerate(table.columns):
            parts.append(_cell(table, row, column, (left + cell_width * place, y, cell_width, high)))
    return Figure(name, table.title, table.note, top + high * len(table.rows) + 3, join(parts))


def _heads(columns: Sequence[str], left: float, cell_width: float, top: float, *, upwards: bool) -> list[Markup]:
    found = []
    each = max(1, ceil(_LETTERS_APART / cell_width)) if upwards else 1  # names that lie on each other tell nothing
    for place, column in list(enumerate(columns))[::-each]:
        x = left + cell_width * (place + 0.5)
        text = fit_text(column, _MAX_HEAD)
        turned = f"translate({x + 2.4:.1f} {top - 3:.1f}) rotate(-90)"
        found.append(element("text", text, transform=turned) if upwards else text_at(text, x, top - 3, "middle"))
    return found


def _cell(table: HeatMap, row: str, column: str, place: tuple[float, float, float, float]) -> Markup:
    x, y, cell_width, high = place
    value = table.cells.get((row, column))
    if value is None:
        return text_at("–", x + cell_width / 2, y + high / 2 + 2.4, "middle", color=QUIET)
    share = max(0.0, min(1.0, (value - table.low) / (table.high - table.low))) if table.high > table.low else 1.0
    shade = "#" + "".join(f"{round(pale + (dark - pale) * share):02x}" for pale, dark in zip(_PALE, _DARK, strict=True))
    parts = [
        element(
            "rect",
            x=f"{x + 0.3:.2f}",
            y=f"{y + 0.3:.2f}",
            width=f"{cell_width - 0.6:.2f}",
            height=f"{high - 0.6:.2f}",
            fill=shade,
        )
    ]
    written = table.written[row, column]
    if text_width(written) <= cell_width:
        ink = "#ffffff" if share > 0.55 else INK
        parts.append(text_at(written, x + cell_width / 2, y + high / 2 + 2.4, "middle", color=ink))
    return with_title(join(parts), f"{row}, {column}: {written}")
