"""Scatter plots, curves over numbers, bars and dots by name, lists of shares, histograms, box plots, and heatmaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import quantiles
from typing import Any, NamedTuple

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.reports.figures.plots import (
    DOTTED,
    HALVES,
    PLAIN,
    SHARES,
    SINGLE_HEIGHT,
    Axis,
    Chart,
    LegendKey,
    PlotArea,
    Point,
    Series,
    SeriesStyle,
    bar_key,
    build_legend,
    category_axis,
    count_axis,
    draw_legend,
    draw_marker,
    line_key,
    marker_key,
    numbered_style,
    plot_grid,
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
    draw_polyline,
    draw_rect,
    element,
    fit_text,
    join,
    text_at,
    text_width,
)
from formalimg.types import Benchmark, Item

_ACCENT = numbered_style(0).color


def item_figures(items: Sequence[Item[Any]]) -> tuple[Figure, ...]:
    """Return all figures on the composition of items, which may come from several suites of one benchmark."""
    benchmarks: dict[type[Benchmark], dict[str, list[Item[Any]]]] = {}
    for item in items:
        benchmarks.setdefault(type(find_suite(item.suite)), {}).setdefault(item.suite, []).append(item)
    return tuple(
        figure
        for by_suite in benchmarks.values()
        for figure in find_suite(next(iter(by_suite))).item_figures(by_suite) or ()
    )


# --- spots, and curves over numbers


class Spot(NamedTuple):
    """A point of a scatter plot."""

    name: str
    style: SeriesStyle
    across: float
    up: float


def scatter_chart(
    name: str, title: str, note: str, panels: Mapping[str, Sequence[Spot]], across: str, up: str
) -> Figure:
    """Draw a square plot of shares for each panel, with a thin line where both shares are equal."""
    legend, top = draw_legend({spot.name: marker_key(spot.style) for spots in panels.values() for spot in spots})
    scale, height = (SHARES, 120.0) if len(panels) == 1 else (HALVES, None)
    areas, axes, bottom = plot_grid(list(panels), top, scale, scale, columns=3, measure=up, about=across, height=height)
    parts = [legend, axes]
    for area, (panel, spots) in zip(areas, panels.items(), strict=True):
        ground = area.top + area.height
        parts += [draw_line((area.x(value), area.top, area.x(value), ground)) for value, _ in scale.ticks]
        parts.append(draw_line((area.left, ground, area.left + area.width, area.top), QUIET, 0.5, "1 1.5"))
        for spot in spots:
            text = f"{panel}, {spot.name}: {across} {spot.across:.3f}, {up} {spot.up:.3f}"
            parts.append(with_title(draw_marker(spot.style, area.x(spot.across), area.y(spot.up), 2), text))
    return Figure(name, title, note, bottom, join(parts))


class Curve(NamedTuple):
    """A curve of y values by x, with None where y is undefined."""

    name: str
    style: SeriesStyle
    places: tuple[tuple[float, float | None], ...]  # the corners of the line
    points: tuple[tuple[float, float | None], ...] = ()  # the places with a mark


class Curves(NamedTuple):
    """Curves over a shared numeric axis."""

    title: str  # what they show, and how their numbers were made
    note: str
    curves: tuple[Curve, ...]  # the lines; and marks on them
    across: str  # what stands at the axes
    up: str
    scale: Axis  # the axis across
    upright: tuple[tuple[float, str], ...] = ()  # where a dotted line stands, and what it marks


def curve_chart(name: str, chart: Curves) -> Figure:
    """Draw all curves in a single plot area."""
    keys = {curve.name: line_key(curve.style) for curve in chart.curves}
    keys |= {text: draw_line((-5, 0, 6, 0), QUIET, 0.7, DOTTED) for _, text in chart.upright}
    legend, top = draw_legend(keys)
    (area,), axes, bottom = plot_grid(
        [""], top, chart.scale, SHARES, columns=1, measure=chart.up, about=chart.across, height=SINGLE_HEIGHT
    )
    parts = [legend, axes]
    for value, text in chart.upright:
        line = draw_line((area.x(value), area.top, area.x(value), area.top + area.height), QUIET, 0.7, DOTTED)
        parts.append(with_title(line, f"{text}: {value:g}"))
    for curve in reversed(chart.curves):
        path = [None if y is None else (area.x(x), area.y(y)) for x, y in curve.places]
        parts += draw_polyline(path, curve.style.color, 1.1, curve.style.dash)
        for x, y in curve.points:
            if y is not None:
                symbol = draw_marker(curve.style, area.x(x), area.y(y), 1.9)
                parts.append(with_title(symbol, f"{curve.name} at {x:g}: {y:.3f}"))
    return Figure(name, chart.title, chart.note, bottom, join(parts))


# --- bars and dots by name

_MAX_NAME = 110.0
_RIGHT, _BELOW = 9.0, 22.0


class _RowPlot:
    """The coordinates of a chart with a row for each name, and its axes and legend."""

    def __init__(self, chart: Chart, draw_key: LegendKey, row: float) -> None:
        self.chart, self.row = chart, row
        self.legend, self.top = build_legend(chart.series, draw_key)
        self.left = min(_MAX_NAME, max(map(text_width, chart.names))) + 7
        self.bottom = self.top + row * len(chart.names)

    def x(self, value: float) -> float:
        return self.left + (WIDTH - _RIGHT - self.left) * value / self.chart.top

    def rows(self) -> list[tuple[str, float]]:
        """The names, each with the height of the middle of its row."""
        return [(name, self.top + self.row * (number + 0.5)) for number, name in enumerate(self.chart.names)]

    def figure(self, name: str, inside: Sequence[Markup]) -> Figure:
        chart = self.chart
        parts = [self.legend]
        for step in range(6):
            value = chart.top * step / 5
            x = self.x(value)
            parts.append(draw_line((x, self.top, x, self.bottom), RULE if step else INK, 0.5 if step else 0.6))
            tick = f"{100 * value:g}" if chart.percent else f"{value:.1f}"
            parts.append(text_at(tick, x, self.bottom + 8.5, "middle"))
        parts += [text_at(fit_text(row, _MAX_NAME), self.left - 4, y + 2.4, "end") for row, y in self.rows()]
        middle = min((self.left + WIDTH - _RIGHT) / 2, WIDTH - text_width(chart.measure) / 2)
        parts.append(text_at(chart.measure, middle, self.bottom + 18, "middle"))
        return Figure(name, chart.title, chart.note, self.bottom + _BELOW, join(parts, inside))


def bar_chart(name: str, chart: Chart) -> Figure:
    """Draw a bar chart with a group of bars for each name and a bar for each run."""
    count = len(chart.series)
    thick = 4.6 if count < 4 else 3.2
    plot = _RowPlot(chart, bar_key, max(8.0, thick * count) + 5)
    parts = []
    for row, middle in plot.rows():
        for number, series in enumerate(chart.series):
            y = middle + thick * (number + 0.5 - count / 2)
            point, color = series.points.get(row), series.style.color
            if point is None:  # nothing would look like a bar of length 0
                parts.append(text_at("–", plot.left + 2, y + 2.4, color=QUIET))
                continue
            fill = color if point.is_complete else "#ffffff"
            length = max(0.6, plot.x(point.value) - plot.left)
            bar = [
                draw_rect(
                    plot.left, y + 0.4 - thick / 2, length, thick - 0.8, fill=fill, stroke=color, stroke_width="0.6"
                )
            ]
            if point.interval is not None:
                ends = (plot.x(point.interval.low), y, plot.x(point.interval.high), y)
                bar += [draw_line(ends, "#ffffff", 1.4, opacity=0.7), draw_line(ends, INK, 0.6)]
            parts.append(_titled_point(bar, series, row, point))
    return plot.figure(name, parts)


def dot_chart(name: str, chart: Chart) -> Figure:
    """Draw a dot chart with a line for each name and a point for each run."""
    count = len(chart.series)
    plot = _RowPlot(chart, marker_key, max(9.5, 2.2 * count + 3))
    rows = dict(plot.rows())
    parts = [draw_line((plot.left, y, WIDTH - _RIGHT, y), RULE, 0.4) for y in rows.values()]
    for number, series in reversed(list(enumerate(chart.series))):
        style = series.style if series.style.shape else PLAIN._replace(color=series.style.color)
        for row, point in series.points.items():
            y = rows[row] + 1.9 * (number - (count - 1) / 2)
            dot = [draw_marker(style, plot.x(point.value), y, 1.8, hollow=not point.is_complete)]
            if point.interval is not None:
                ends = (plot.x(point.interval.low), y, plot.x(point.interval.high), y)
                dot.insert(0, draw_line(ends, style.color, 0.7, opacity=0.55))
            parts.append(_titled_point(dot, series, row, point))
    return plot.figure(name, parts)


def _titled_point(marks: Sequence[Markup], series: Series, row: str, point: Point) -> Markup:
    return with_title(join(marks), f"{', '.join(filter(None, (series.name, row)))}: {point.value:.3f}")


def share_chart(
    name: str, title: str, note: str, counts: Mapping[str, int], measure: str, *, with_counts: bool = False
) -> Figure:
    """Draw a bar chart of `counts` as shares of their total, the largest first."""
    total = sum(counts.values())
    points = {f"{key}: {count:,}" if with_counts else key: Point(count / total) for key, count in counts.items()}
    ordered = tuple(sorted(points, key=lambda label: (-points[label].value, label)))
    series = (Series("", numbered_style(0), points),)
    return bar_chart(name, Chart(title, note, ordered, series, measure, percent=True))


class ShareList(NamedTuple):
    """A share from 0 to 1 for each name, shown as a percentage."""

    title: str
    note: str
    shares: Mapping[str, float]


def share_list(name: str, chart: ShareList) -> Figure:
    """Draw names, bars and percentages in two columns, the largest first, with all bars on the same scale."""
    labels = sorted(chart.shares, key=lambda label: (-chart.shares[label], label))
    rows, height, gap = -(-len(labels) // 2), 8.6, 12.0
    largest = max(chart.shares.values()) or 1.0
    column_width = (WIDTH - 2 - gap) / 2
    text = min(60.0, max(map(text_width, labels)))
    bar_width = column_width - text - 4 * 0.53 * FONT_SIZE - 5  # beside it stand a name and a number of four letters
    parts: list[Markup] = []
    for number, label in enumerate(labels):
        column, row = divmod(number, rows)
        left, middle, share = (column_width + gap) * column, 3 + height * (row + 0.5), chart.shares[label]
        bar = draw_rect(left + text + 3, middle - 2.4, bar_width * share / largest, 4.8, fill=_ACCENT)
        parts += [
            text_at(fit_text(label, text), left + text, middle + 2.4, "end"),
            with_title(bar, f"{label}: {100 * share:.2f} %"),
            text_at(f"{100 * share:.1f}", left + column_width, middle + 2.4, "end"),
        ]
    return Figure(name, chart.title, chart.note, 3 + height * rows + 3, join(parts))


# --- distributions


class HistogramBar(NamedTuple):
    """A histogram bar: its range on the axis, its count, its name, and whether it is emphasized."""

    low: float
    high: float
    count_in_range: int
    name: str
    is_main: bool = True


class Histogram(NamedTuple):
    """A histogram: its bars, axis titles, and ticks of the horizontal axis."""

    title: str
    note: str
    columns: tuple[HistogramBar, ...]
    measure: str
    about: str
    ticks: tuple[tuple[float, str], ...]


def histogram(name: str, chart: Histogram) -> Figure:
    """Draw a histogram."""
    across = Axis(chart.columns[0].low, chart.columns[-1].high, chart.ticks)
    up = count_axis(max(column.count_in_range for column in chart.columns))
    (area,), axes, bottom = plot_grid(
        [""], 2, across, up, columns=1, measure=chart.measure, about=chart.about, height=92
    )
    parts: list[Markup] = [axes]
    for column in chart.columns:
        left, right, top = area.x(column.low), area.x(column.high), area.y(column.count_in_range)
        fill = _ACCENT if column.is_main else "#a9bcd6"
        bar = draw_rect(left + 0.4, top, right - left - 0.8, area.y(0) - top, fill=fill)
        parts.append(with_title(bar, f"{column.name}: {column.count_in_range:,}"))
    return Figure(name, chart.title, chart.note, bottom, join(parts))


class BoxPlot(NamedTuple):
    """A box plot with one box per distribution."""

    title: str  # what they show, and how they were made
    note: str
    figures: Mapping[str, Mapping[str, float]]  # for each name the figures, by whom or what they are of
    measure: str  # what stands at the axes
    about: str
    scale: Axis = SHARES  # the axis of the figures
    shows_each: bool = True  # is there a point for each figure?


def five_numbers(figures: Sequence[float]) -> tuple[float, float, float, float, float]:
    """Return the minimum, the three quartiles (interpolated), and the maximum."""
    # One figure alone counts twice, since quartiles need two.
    lower, middle, upper = quantiles(figures if len(figures) > 1 else [*figures, *figures], n=4, method="inclusive")
    return min(figures), lower, middle, upper, max(figures)


def box_chart(name: str, chart: BoxPlot) -> Figure:
    """Draw a box for each name, with a small point for each rater or item."""
    across = category_axis(tuple(chart.figures))
    (area,), axes, bottom = plot_grid(
        [""], 2, across, chart.scale, columns=1, measure=chart.measure, about=chart.about, height=104
    )
    half = min(9.0, 0.3 * area.width / across.high)
    parts = [axes]
    for number, (key, figures) in enumerate(chart.figures.items()):
        x, label = area.x(number + 0.5), f"{chart.about} {key}".strip()
        parts.append(_draw_box(area, x, half, label, list(figures.values())))
        for n, (rater, value) in enumerate(figures.items() if chart.shows_each else ()):
            shift = 0.7 * half * (2 * n / (len(figures) - 1) - 1) if len(figures) > 1 else 0.0
            paint = {"r": "1.1", "fill": INK, "fill_opacity": "0.75"}
            point = element("circle", cx=f"{x + shift:.2f}", cy=f"{area.y(value):.2f}", **paint)
            parts.append(with_title(point, f"{label}, {rater}: {value:.3f}"))
    return Figure(name, chart.title, chart.note, bottom, join(parts))


def _draw_box(area: PlotArea, x: float, half: float, name: str, figures: Sequence[float]) -> Markup:
    spread = five_numbers(figures)
    low, lower, middle, upper, high = map(area.y, spread)
    parts = [
        draw_line((x, high, x, low), INK, 0.6),
        *(draw_line((x - half / 2, end, x + half / 2, end), INK, 0.6) for end in (low, high)),
        draw_rect(x - half, upper, 2 * half, lower - upper, fill="#dbe6f3", stroke=_ACCENT, stroke_width="0.7"),
        draw_line((x - half, middle, x + half, middle), _ACCENT, 1.4),
    ]
    return with_title(join(parts), f"{name}: {', '.join(f'{number:g}' for number in spread)}")


# --- heatmaps: tables of numbers in which darker cells are larger

_MAX_ROW_NAME, _MAX_HEAD = 76.0, 56.0
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
    """Draw a heatmap, with vertical column headings if they do not fit horizontally."""
    left = min(_MAX_ROW_NAME, max(map(text_width, table.rows))) + 5
    width = (WIDTH - left - 1) / len(table.columns)
    height = max(9.5, min(16.0, width))
    upwards = max(map(text_width, table.columns)) > width - 2
    top = min(_MAX_HEAD, max(map(text_width, table.columns))) + 5 if upwards else 10.0
    top += 10 if table.about else 0
    parts = [text_at(table.about, left + width * len(table.columns) / 2, 7, "middle")] if table.about else []
    step = max(1, ceil(_LETTERS_APART / width)) if upwards else 1  # names that lie on each other tell nothing
    for number, column in list(enumerate(table.columns))[::-step]:
        x, text = left + width * (number + 0.5), fit_text(column, _MAX_HEAD)
        turn = f"translate({x + 2.4:.1f} {top - 3:.1f}) rotate(-90)"
        parts.append(element("text", text, transform=turn) if upwards else text_at(text, x, top - 3, "middle"))
    for row_number, row in enumerate(table.rows):
        y = top + height * row_number
        parts.append(text_at(fit_text(row, _MAX_ROW_NAME), left - 3, y + height / 2 + 2.4, "end"))
        for number, column in enumerate(table.columns):
            parts.append(_draw_cell(table, row, column, (left + width * number, y, width, height)))
    return Figure(name, table.title, table.note, top + height * len(table.rows) + 3, join(parts))


def _draw_cell(table: HeatMap, row: str, column: str, bounds: tuple[float, float, float, float]) -> Markup:
    x, y, width, height = bounds
    value = table.cells.get((row, column))
    if value is None:
        return text_at("–", x + width / 2, y + height / 2 + 2.4, "middle", color=QUIET)
    share = max(0.0, min(1.0, (value - table.low) / (table.high - table.low))) if table.high > table.low else 1.0
    shade = "#" + "".join(f"{round(pale + (dark - pale) * share):02x}" for pale, dark in zip(_PALE, _DARK, strict=True))
    parts = [draw_rect(x + 0.3, y + 0.3, width - 0.6, height - 0.6, fill=shade)]
    text = table.written[row, column]
    if text_width(text) <= width:
        color = "#ffffff" if share > 0.55 else INK
        parts.append(text_at(text, x + width / 2, y + height / 2 + 2.4, "middle", color=color))
    return with_title(join(parts), f"{row}, {column}: {text}")
