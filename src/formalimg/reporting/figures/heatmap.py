"""Tables of shares in which the darker is the more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from formalimg.reporting.figures.series import told
from formalimg.reporting.figures.svg import (
    INK,
    QUIET,
    WIDTH,
    Drawing,
    Markup,
    breadth,
    element,
    fitting,
    join,
    words_at,
)

_LONGEST_NAME, _LONGEST_HEAD = 76.0, 56.0
_LOWEST, _HIGHEST = 9.5, 16.0
_LETTERS_APART = 7.5
_PALE, _DARK = (0xF4, 0xF6, 0xF9), (0x1D, 0x5B, 0xA6)


class HeatMap(NamedTuple):
    """A table of numbers.

    Attributes:
        title, note: what it shows, and how its numbers were made.
        rows, columns: what stands beside and above it.
        cells: the numbers, by row and column; those that are not known are not there.
        written: the same as they are written into the table.
        about: what the columns are, such as k; empty if their names speak for themselves.
        low, high: which numbers are palest and darkest.
    """

    title: str
    note: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], float]
    written: Mapping[tuple[str, str], str]
    about: str = ""
    low: float = 0
    high: float = 1


def heat_map(name: str, table: HeatMap) -> Drawing:
    """The table, with names that run upwards where they are too long for their columns."""
    left = min(_LONGEST_NAME, max(map(breadth, table.rows))) + 5
    broad = (WIDTH - left - 1) / len(table.columns)
    high = max(_LOWEST, min(_HIGHEST, broad))
    upwards = max(map(breadth, table.columns)) > broad - 2
    top = min(_LONGEST_HEAD, max(map(breadth, table.columns))) + 5 if upwards else 10.0
    top += 10 if table.about else 0
    parts = [words_at(table.about, left + broad * len(table.columns) / 2, 7, "middle")] if table.about else []
    parts += _heads(table.columns, left, broad, top, upwards=upwards)
    for number, row in enumerate(table.rows):
        y = top + high * number
        parts.append(words_at(fitting(row, _LONGEST_NAME), left - 3, y + high / 2 + 2.4, "end"))
        for place, column in enumerate(table.columns):
            parts.append(_cell(table, row, column, (left + broad * place, y, broad, high)))
    return Drawing(name, table.title, table.note, top + high * len(table.rows) + 3, join(parts))


def _heads(columns: Sequence[str], left: float, broad: float, top: float, *, upwards: bool) -> list[Markup]:
    found = []
    each = max(1, ceil(_LETTERS_APART / broad)) if upwards else 1  # names that lie on each other tell nothing
    for place, column in list(enumerate(columns))[::-each]:
        x = left + broad * (place + 0.5)
        words = fitting(column, _LONGEST_HEAD)
        turned = f"translate({x + 2.4:.1f} {top - 3:.1f}) rotate(-90)"
        found.append(element("text", words, transform=turned) if upwards else words_at(words, x, top - 3, "middle"))
    return found


def _cell(table: HeatMap, row: str, column: str, place: tuple[float, float, float, float]) -> Markup:
    x, y, broad, high = place
    value = table.cells.get((row, column))
    if value is None:
        return words_at("–", x + broad / 2, y + high / 2 + 2.4, "middle", color=QUIET)
    share = max(0.0, min(1.0, (value - table.low) / (table.high - table.low))) if table.high > table.low else 1.0
    shade = "#" + "".join(f"{round(pale + (dark - pale) * share):02x}" for pale, dark in zip(_PALE, _DARK, strict=True))
    parts = [
        element(
            "rect",
            x=f"{x + 0.3:.2f}",
            y=f"{y + 0.3:.2f}",
            width=f"{broad - 0.6:.2f}",
            height=f"{high - 0.6:.2f}",
            fill=shade,
        )
    ]
    written = table.written[row, column]
    if breadth(written) <= broad:
        ink = "#ffffff" if share > 0.55 else INK
        parts.append(words_at(written, x + broad / 2, y + high / 2 + 2.4, "middle", color=ink))
    return told(join(parts), f"{row}, {column}: {written}")
