"""Bar charts and dot charts by category or word, and lists of shares with bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.reports.figures.series import (
    PLAIN,
    Chart,
    LegendKey,
    Point,
    Series,
    bar_key,
    legend,
    marker,
    marker_key,
    numbered_style,
    with_title,
)
from formalimg.reports.figures.svg import (
    FONT_SIZE,
    INK,
    QUIET,
    RULE,
    WIDTH,
    Figure,
    Markup,
    draw_line,
    element,
    fit_text,
    join,
    text_at,
    text_width,
)

_MAX_NAME = 110.0
_RIGHT, _BELOW = 9.0, 22.0
_THICK, _THIN = 4.6, 3.2
_BETWEEN = 5.0
_ROW = 9.5


def bar_chart(name: str, chart: Chart) -> Figure:
    """Return a group of bars for each name, with a bar for each run."""
    thick = _THICK if len(chart.series) < 4 else _THIN
    plot = _BarPlot(chart, bar_key, max(8.0, thick * len(chart.series)) + _BETWEEN)
    parts = []
    for row in chart.names:
        top = plot.middle(row) - thick * len(chart.series) / 2
        for number, one in enumerate(chart.series):
            parts.append(_bar(plot, one, row, top + thick * number, thick))
    return plot.drawing(name, join(parts))


def dot_chart(name: str, chart: Chart) -> Figure:
    """Return a line for each name, with a point for each run."""
    plot = _BarPlot(chart, marker_key, max(_ROW, 2.2 * len(chart.series) + 3))
    parts = []
    for row in chart.names:
        y = plot.middle(row)
        parts.append(draw_line((plot.left, y, WIDTH - _RIGHT, y), RULE, 0.4))
    for number, one in reversed(list(enumerate(chart.series))):
        shift = 1.9 * (number - (len(chart.series) - 1) / 2)
        parts += [_dot(plot, one, row, plot.middle(row) + shift) for row in one.points]
    return plot.drawing(name, join(parts))


class _BarPlot:
    """The coordinates of a bar or dot chart."""

    def __init__(self, chart: Chart, sign: LegendKey, row: float) -> None:
        self.chart, self.row = chart, row
        self.legend = legend(chart, sign)
        self.left = min(_MAX_NAME, max(map(text_width, chart.names))) + 7
        self.bottom = self.legend.height + row * len(chart.names)

    def x(self, value: float) -> float:
        return self.left + (WIDTH - _RIGHT - self.left) * value / self.chart.top

    def middle(self, name: str) -> float:
        return self.legend.height + self.row * (self.chart.names.index(name) + 0.5)

    def drawing(self, name: str, inside: Markup) -> Figure:
        chart, top, bottom = self.chart, self.legend.height, self.bottom
        parts = [self.legend.inside]
        for step in range(6):
            value = chart.top * step / 5
            x = self.x(value)
            parts.append(draw_line((x, top, x, bottom), RULE if step else INK, 0.5 if step else 0.6))
            parts.append(text_at(chart.tick(value), x, bottom + 8.5, "middle"))
        parts += [
            text_at(fit_text(row, _MAX_NAME), self.left - 4, self.middle(row) + 2.4, "end") for row in chart.names
        ]
        middle = min((self.left + WIDTH - _RIGHT) / 2, WIDTH - text_width(chart.measure) / 2)
        parts.append(text_at(chart.measure, middle, bottom + 18, "middle"))
        return Figure(name, chart.title, chart.note, bottom + _BELOW, join(parts, inside))


def _bar(plot: _BarPlot, one: Series, row: str, y: float, thick: float) -> Markup:
    point = one.points.get(row)
    if point is None:
        # Nothing would style like a bar of length 0.
        return text_at("–", plot.left + 2, y + thick / 2 + 2.4, color=QUIET)
    parts = [
        element(
            "rect",
            x=f"{plot.left:.2f}",
            y=f"{y + 0.4:.2f}",
            width=f"{max(0.6, plot.x(point.value) - plot.left):.2f}",
            height=f"{thick - 0.8:.2f}",
            fill=one.style.color if point.is_complete else "#ffffff",
            stroke=one.style.color,
            stroke_width="0.6",
        )
    ]
    if point.interval is not None:
        low, high = plot.x(point.interval.low), plot.x(point.interval.high)
        ends = (low, y + thick / 2, high, y + thick / 2)
        parts += [draw_line(ends, "#ffffff", 1.4, opacity=0.7), draw_line(ends, INK, 0.6)]
    return with_title(join(parts), _words(one, row, point))


def _dot(plot: _BarPlot, one: Series, row: str, y: float) -> Markup:
    point = one.points[row]
    style = one.style if one.style.shape else PLAIN._replace(color=one.style.color)
    parts = []
    if point.interval is not None:
        ends = (plot.x(point.interval.low), y, plot.x(point.interval.high), y)
        parts.append(draw_line(ends, style.color, 0.7, opacity=0.55))
    parts.append(marker(style, plot.x(point.value), y, 1.8, hollow=not point.is_complete))
    return with_title(join(parts), _words(one, row, point))


def _words(one: Series, row: str, point: Point) -> str:
    return f"{', '.join(filter(None, (one.name, row)))}: {point.value:.3f}"


_COLUMNS, _GAP = 2, 12.0
_LISTED_ROW = 8.6
_MAX_LISTED_NAME = 60.0
_FIGURE = 4 * 0.53 * FONT_SIZE


class ShareList(NamedTuple):
    """A share from 0 to 1 for each name, written in percent."""

    title: str
    note: str
    shares: Mapping[str, float]


def share_list(name: str, of: ShareList) -> Figure:
    """Return names, bars and numbers in columns. All bars have the same scale, from 0 to the largest."""
    names = sorted(of.shares, key=lambda one: (-of.shares[one], one))
    rows = -(-len(names) // _COLUMNS)
    most = max(of.shares.values()) or 1.0
    column_width = (WIDTH - 2 - _GAP * (_COLUMNS - 1)) / _COLUMNS
    text = min(_MAX_LISTED_NAME, max(map(text_width, names)))
    parts: list[Markup] = []
    for number, one in enumerate(names):
        column, row = divmod(number, rows)
        left, middle = (column_width + _GAP) * column, 3 + _LISTED_ROW * (row + 0.5)
        share = of.shares[one]
        bar = element(
            "rect",
            x=f"{left + text + 3:.2f}",
            y=f"{middle - 2.4:.2f}",
            width=f"{(column_width - text - _FIGURE - 5) * share / most:.2f}",
            height="4.8",
            fill=numbered_style(0).color,
        )
        parts += [
            text_at(fit_text(one, text), left + text, middle + 2.4, "end"),
            with_title(bar, f"{one}: {100 * share:.2f} %"),
            text_at(f"{100 * share:.1f}", left + column_width, middle + 2.4, "end"),
        ]
    return Figure(name, of.title, of.note, 3 + _LISTED_ROW * rows + 3, join(parts))
