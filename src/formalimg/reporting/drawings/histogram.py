"""How many there are of each kind, or in each range, as columns beside each other."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.frame import Scale, counting_scale, grid_of
from formalimg.reporting.drawings.looks import numbered_look, told
from formalimg.reporting.html.markup import Markup, element, join

_HEIGHT = 92.0
_ACCENT, _OTHER = numbered_look(0).color, "#a9bcd6"


class Column(NamedTuple):
    """One column: from where to where on the axis, how many, what it is called, and whether it is to be seen first."""

    low: float
    high: float
    there: int
    name: str
    is_main: bool = True


class Histogram(NamedTuple):
    """All columns, with what stands at the axes and which places are told across."""

    title: str
    note: str
    columns: tuple[Column, ...]
    measure: str
    about: str
    ticks: tuple[tuple[float, str], ...]


def histogram(name: str, of: Histogram) -> Drawing:
    """The columns in one frame."""
    across = Scale(of.columns[0].low, of.columns[-1].high, of.ticks)
    up = counting_scale(max(column.there for column in of.columns))
    grid = grid_of([""], 2, across, up, columns=1, height=_HEIGHT, about=of.about)
    frame = grid.frames[0]
    parts: list[Markup] = []
    for column in of.columns:
        left, right = frame.x(column.low), frame.x(column.high)
        bar = element(
            "rect",
            x=f"{left + 0.4:.2f}",
            y=f"{frame.y(column.there):.2f}",
            width=f"{right - left - 0.8:.2f}",
            height=f"{frame.bottom - frame.y(column.there):.2f}",
            fill=_ACCENT if column.is_main else _OTHER,
        )
        parts.append(told(bar, f"{column.name}: {column.there:,}"))
    return Drawing(name, of.title, of.note, grid.bottom, join(grid.drawn([""], of.measure, of.about), parts))
