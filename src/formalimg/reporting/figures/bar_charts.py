"""Figures by category or word, one below the other: as bars where there are few, as points where there are many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.reporting.figures.series import (
    PLAIN,
    Chart,
    Point,
    Series,
    Sign,
    block_sign,
    legend,
    mark,
    mark_sign,
    numbered_look,
    told,
)
from formalimg.reporting.figures.svg import (
    INK,
    LETTERS,
    QUIET,
    RULE,
    WIDTH,
    Drawing,
    Markup,
    breadth,
    element,
    fitting,
    join,
    line_between,
    words_at,
)

_LONGEST_NAME = 110.0
_RIGHT, _BELOW = 9.0, 22.0
_THICK, _THIN = 4.6, 3.2
_BETWEEN = 5.0
_ROW = 9.5


def bar_chart(name: str, chart: Chart) -> Drawing:
    """A group of bars for each name, with a bar for each run."""
    thick = _THICK if len(chart.series) < 4 else _THIN
    plot = _Plot(chart, block_sign, max(8.0, thick * len(chart.series)) + _BETWEEN)
    parts = []
    for row in chart.names:
        top = plot.middle(row) - thick * len(chart.series) / 2
        for number, one in enumerate(chart.series):
            parts.append(_bar(plot, one, row, top + thick * number, thick))
    return plot.drawing(name, join(parts))


def dot_chart(name: str, chart: Chart) -> Drawing:
    """A line for each name, with a point for each run."""
    plot = _Plot(chart, mark_sign, max(_ROW, 2.2 * len(chart.series) + 3))
    parts = []
    for row in chart.names:
        y = plot.middle(row)
        parts.append(line_between((plot.left, y, WIDTH - _RIGHT, y), RULE, 0.4))
    for number, one in reversed(list(enumerate(chart.series))):
        shift = 1.9 * (number - (len(chart.series) - 1) / 2)
        parts += [_dot(plot, one, row, plot.middle(row) + shift) for row in one.points]
    return plot.drawing(name, join(parts))


class _Plot:
    """Where objects stand."""

    def __init__(self, chart: Chart, sign: Sign, row: float) -> None:
        self.chart, self.row = chart, row
        self.legend = legend(chart, sign)
        self.left = min(_LONGEST_NAME, max(map(breadth, chart.names))) + 7
        self.bottom = self.legend.height + row * len(chart.names)

    def x(self, value: float) -> float:
        return self.left + (WIDTH - _RIGHT - self.left) * value / self.chart.top

    def middle(self, name: str) -> float:
        return self.legend.height + self.row * (self.chart.names.index(name) + 0.5)

    def drawing(self, name: str, inside: Markup) -> Drawing:
        chart, top, bottom = self.chart, self.legend.height, self.bottom
        parts = [self.legend.inside]
        for step in range(6):
            value = chart.top * step / 5
            x = self.x(value)
            parts.append(line_between((x, top, x, bottom), RULE if step else INK, 0.5 if step else 0.6))
            parts.append(words_at(chart.tick(value), x, bottom + 8.5, "middle"))
        parts += [
            words_at(fitting(row, _LONGEST_NAME), self.left - 4, self.middle(row) + 2.4, "end") for row in chart.names
        ]
        middle = min((self.left + WIDTH - _RIGHT) / 2, WIDTH - breadth(chart.measure) / 2)
        parts.append(words_at(chart.measure, middle, bottom + 18, "middle"))
        return Drawing(name, chart.title, chart.note, bottom + _BELOW, join(parts, inside))


def _bar(plot: _Plot, one: Series, row: str, y: float, thick: float) -> Markup:
    point = one.points.get(row)
    if point is None:
        # Nothing would look like a bar of length 0.
        return words_at("–", plot.left + 2, y + thick / 2 + 2.4, color=QUIET)
    parts = [
        element(
            "rect",
            x=f"{plot.left:.2f}",
            y=f"{y + 0.4:.2f}",
            width=f"{max(0.6, plot.x(point.value) - plot.left):.2f}",
            height=f"{thick - 0.8:.2f}",
            fill=one.look.color if point.is_complete else "#ffffff",
            stroke=one.look.color,
            stroke_width="0.6",
        )
    ]
    if point.interval is not None:
        low, high = plot.x(point.interval.low), plot.x(point.interval.high)
        ends = (low, y + thick / 2, high, y + thick / 2)
        parts += [line_between(ends, "#ffffff", 1.4, opacity=0.7), line_between(ends, INK, 0.6)]
    return told(join(parts), _words(one, row, point))


def _dot(plot: _Plot, one: Series, row: str, y: float) -> Markup:
    point = one.points[row]
    look = one.look if one.look.shape else PLAIN._replace(color=one.look.color)
    parts = []
    if point.interval is not None:
        ends = (plot.x(point.interval.low), y, plot.x(point.interval.high), y)
        parts.append(line_between(ends, look.color, 0.7, opacity=0.55))
    parts.append(mark(look, plot.x(point.value), y, 1.8, hollow=not point.is_complete))
    return told(join(parts), _words(one, row, point))


def _words(one: Series, row: str, point: Point) -> str:
    return f"{', '.join(filter(None, (one.name, row)))}: {point.value:.3f}"


_COLUMNS, _GAP = 2, 12.0
_LISTED_ROW = 8.6
_MAX_LISTED_NAME = 60.0
_FIGURE = 4 * 0.53 * LETTERS


class Listing(NamedTuple):
    """What is listed: for each name a share from 0 to 1, told in percent."""

    title: str
    note: str
    shares: Mapping[str, float]


def listing(name: str, of: Listing) -> Drawing:
    """Names, bars and figures. All bars have the same scale, from 0 to the largest."""
    names = sorted(of.shares, key=lambda one: (-of.shares[one], one))
    rows = -(-len(names) // _COLUMNS)
    most = max(of.shares.values()) or 1.0
    broad = (WIDTH - 2 - _GAP * (_COLUMNS - 1)) / _COLUMNS
    words = min(_MAX_LISTED_NAME, max(map(breadth, names)))
    parts: list[Markup] = []
    for number, one in enumerate(names):
        column, row = divmod(number, rows)
        left, middle = (broad + _GAP) * column, 3 + _LISTED_ROW * (row + 0.5)
        share = of.shares[one]
        bar = element(
            "rect",
            x=f"{left + words + 3:.2f}",
            y=f"{middle - 2.4:.2f}",
            width=f"{(broad - words - _FIGURE - 5) * share / most:.2f}",
            height="4.8",
            fill=numbered_look(0).color,
        )
        parts += [
            words_at(fitting(one, words), left + words, middle + 2.4, "end"),
            told(bar, f"{one}: {100 * share:.2f} %"),
            words_at(f"{100 * share:.1f}", left + broad, middle + 2.4, "end"),
        ]
    return Drawing(name, of.title, of.note, 3 + _LISTED_ROW * rows + 3, join(parts))
