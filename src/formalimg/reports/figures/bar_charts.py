"""Bar charts and dot charts by category or word, and lists of shares with bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.reports.figures.series import (
    PLAIN,
    Chart,
    LegendKey,
    Point,
    Series,
    bar_key,
    build_legend,
    draw_marker,
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
    draw_rect,
    element,
    fit_text,
    join,
    text_at,
    text_width,
)
from formalimg.types import Benchmark, Item

_MAX_NAME = 110.0
_RIGHT, _BELOW = 9.0, 22.0
_THICK, _THIN = 4.6, 3.2
_BETWEEN = 5.0
_ROW = 9.5


def bar_chart(name: str, chart: Chart) -> Figure:
    """Draw a bar chart with a group of bars for each name and a bar for each run."""
    thick = _THICK if len(chart.series) < 4 else _THIN
    plot = _BarPlot(chart, bar_key, max(8.0, thick * len(chart.series)) + _BETWEEN)
    parts = []
    for row in chart.names:
        top = plot.middle(row) - thick * len(chart.series) / 2
        for number, series in enumerate(chart.series):
            parts.append(_draw_bar(plot, series, row, top + thick * number, thick))
    return plot.build_figure(name, join(parts))


def dot_chart(name: str, chart: Chart) -> Figure:
    """Draw a dot chart with a line for each name and a point for each run."""
    plot = _BarPlot(chart, marker_key, max(_ROW, 2.2 * len(chart.series) + 3))
    parts = []
    for row in chart.names:
        y = plot.middle(row)
        parts.append(draw_line((plot.left, y, WIDTH - _RIGHT, y), RULE, 0.4))
    for number, series in reversed(list(enumerate(chart.series))):
        shift = 1.9 * (number - (len(chart.series) - 1) / 2)
        parts += [_draw_dot(plot, series, row, plot.middle(row) + shift) for row in series.points]
    return plot.build_figure(name, join(parts))


class _BarPlot:
    """The coordinates of a bar or dot chart."""

    def __init__(self, chart: Chart, draw_key: LegendKey, row: float) -> None:
        self.chart, self.row = chart, row
        self.legend = build_legend(chart, draw_key)
        self.left = min(_MAX_NAME, max(map(text_width, chart.names))) + 7
        self.bottom = self.legend.height + row * len(chart.names)

    def x(self, value: float) -> float:
        return self.left + (WIDTH - _RIGHT - self.left) * value / self.chart.top

    def middle(self, name: str) -> float:
        return self.legend.height + self.row * (self.chart.names.index(name) + 0.5)

    def build_figure(self, name: str, inside: Markup) -> Figure:
        chart, top, bottom = self.chart, self.legend.height, self.bottom
        parts = [self.legend.inside]
        for step in range(6):
            value = chart.top * step / 5
            x = self.x(value)
            parts.append(draw_line((x, top, x, bottom), RULE if step else INK, 0.5 if step else 0.6))
            parts.append(text_at(chart.tick(value), x, bottom + 8.5, "middle"))
        names = [(fit_text(row, _MAX_NAME), self.middle(row)) for row in chart.names]
        parts += [text_at(text, self.left - 4, y + 2.4, "end") for text, y in names]
        middle = min((self.left + WIDTH - _RIGHT) / 2, WIDTH - text_width(chart.measure) / 2)
        parts.append(text_at(chart.measure, middle, bottom + 18, "middle"))
        return Figure(name, chart.title, chart.note, bottom + _BELOW, join(parts, inside))


def _draw_bar(plot: _BarPlot, series: Series, row: str, y: float, thick: float) -> Markup:
    point, style = series.points.get(row), series.style
    if point is None:
        # Nothing would style like a bar of length 0.
        return text_at("–", plot.left + 2, y + thick / 2 + 2.4, color=QUIET)
    length = max(0.6, plot.x(point.value) - plot.left)
    paint = {"fill": style.color if point.is_complete else "#ffffff", "stroke": style.color, "stroke_width": "0.6"}
    parts = [draw_rect(plot.left, y + 0.4, length, thick - 0.8, **paint)]
    if point.interval is not None:
        ends = (plot.x(point.interval.low), y + thick / 2, plot.x(point.interval.high), y + thick / 2)
        parts += [draw_line(ends, "#ffffff", 1.4, opacity=0.7), draw_line(ends, INK, 0.6)]
    return with_title(join(parts), _point_title(series, row, point))


def _draw_dot(plot: _BarPlot, series: Series, row: str, y: float) -> Markup:
    point = series.points[row]
    style = series.style if series.style.shape else PLAIN._replace(color=series.style.color)
    parts = []
    if point.interval is not None:
        ends = (plot.x(point.interval.low), y, plot.x(point.interval.high), y)
        parts.append(draw_line(ends, style.color, 0.7, opacity=0.55))
    parts.append(draw_marker(style, plot.x(point.value), y, 1.8, hollow=not point.is_complete))
    return with_title(join(parts), _point_title(series, row, point))


def _point_title(series: Series, row: str, point: Point) -> str:
    return f"{', '.join(filter(None, (series.name, row)))}: {point.value:.3f}"


# --- shares of what items are made of

_COLUMNS, _GAP = 2, 12.0
_LISTED_ROW = 8.6
_MAX_LISTED_NAME = 60.0
_NUMBER_WIDTH = 4 * 0.53 * FONT_SIZE


class ShareList(NamedTuple):
    """A share from 0 to 1 for each name, shown as a percentage."""

    title: str
    note: str
    shares: Mapping[str, float]


def share_list(name: str, chart: ShareList) -> Figure:
    """Draw a list of names, bars and percentages, with all bars on the same scale."""
    labels = sorted(chart.shares, key=lambda label: (-chart.shares[label], label))
    rows = -(-len(labels) // _COLUMNS)
    largest = max(chart.shares.values()) or 1.0
    column_width = (WIDTH - 2 - _GAP * (_COLUMNS - 1)) / _COLUMNS
    text = min(_MAX_LISTED_NAME, max(map(text_width, labels)))
    parts: list[Markup] = []
    for number, label in enumerate(labels):
        column, row = divmod(number, rows)
        left, middle = (column_width + _GAP) * column, 3 + _LISTED_ROW * (row + 0.5)
        share = chart.shares[label]
        width = (column_width - text - _NUMBER_WIDTH - 5) * share / largest
        sides = {"x": f"{left + text + 3:.2f}", "y": f"{middle - 2.4:.2f}", "width": f"{width:.2f}", "height": "4.8"}
        parts += [
            text_at(fit_text(label, text), left + text, middle + 2.4, "end"),
            with_title(element("rect", **sides, fill=numbered_style(0).color), f"{label}: {100 * share:.2f} %"),
            text_at(f"{100 * share:.1f}", left + column_width, middle + 2.4, "end"),
        ]
    return Figure(name, chart.title, chart.note, 3 + _LISTED_ROW * rows + 3, join(parts))


def share_chart(
    name: str, title: str, note: str, counts: Mapping[str, int], measure: str, *, with_counts: bool = False
) -> Figure:
    """Draw a bar chart of `counts` as shares of their total, the largest first."""
    total = sum(counts.values())
    points = {f"{key}: {count:,}" if with_counts else key: Point(count / total) for key, count in counts.items()}
    ordered = tuple(sorted(points, key=lambda label: (-points[label].value, label)))
    series = (Series("", numbered_style(0), points),)
    return bar_chart(name, Chart(title, note, ordered, series, measure, percent=True))


def item_figures(items: Sequence[Item[Any]]) -> tuple[Figure, ...]:
    """Return all figures on the composition of items, which may come from several suites of one benchmark."""
    benchmarks: dict[type[Benchmark], dict[str, list[Item[Any]]]] = {}
    for item in items:
        benchmarks.setdefault(type(find_suite(item.suite)), {}).setdefault(item.suite, []).append(item)
    figures: list[Figure] = []
    for by_suite in benchmarks.values():
        figures += find_suite(next(iter(by_suite))).item_figures(by_suite) or ()
    return tuple(figures)
