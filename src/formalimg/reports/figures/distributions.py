"""Histograms, box plots, and heatmaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import quantiles
from typing import NamedTuple

from formalimg.reports.figures.axes import SHARES, Axis, PlotArea, category_axis, count_axis, plot_grid
from formalimg.reports.figures.series import numbered_style, with_title
from formalimg.reports.figures.svg import (
    INK,
    QUIET,
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

_HEIGHT, _BOX_HEIGHT = 92.0, 104.0
_ACCENT, _OTHER = numbered_style(0).color, "#a9bcd6"


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
    grid = plot_grid([""], 2, across, up, columns=1, height=_HEIGHT, about=chart.about)
    area = grid.areas[0]
    parts: list[Markup] = []
    for column in chart.columns:
        left, right, top = area.x(column.low), area.x(column.high), area.y(column.count_in_range)
        fill = _ACCENT if column.is_main else _OTHER
        bar = draw_rect(left + 0.4, top, right - left - 0.8, area.bottom - top, fill=fill)
        parts.append(with_title(bar, f"{column.name}: {column.count_in_range:,}"))
    inside = join(grid.draw([""], chart.measure, chart.about), parts)
    return Figure(name, chart.title, chart.note, grid.bottom, inside)


class FiveNumbers(NamedTuple):
    """The minimum, the three quartiles (interpolated), and the maximum."""

    least: float
    lower: float
    middle: float
    upper: float
    most: float


class BoxPlot(NamedTuple):
    """A box plot with one box per distribution."""

    title: str  # what they show, and how they were made
    note: str
    figures: Mapping[str, Mapping[str, float]]  # for each name the figures, by whom or what they are of
    measure: str  # what stands at the axes
    about: str
    scale: Axis = SHARES  # the axis of the figures
    shows_each: bool = True  # is there a point for each figure?


def five_numbers(figures: Sequence[float]) -> FiveNumbers:
    """Return the minimum, the quartiles and the maximum."""
    # One figure alone counts twice, since quartiles need two.
    lower, middle, upper = quantiles(figures if len(figures) > 1 else [*figures, *figures], n=4, method="inclusive")
    return FiveNumbers(min(figures), lower, middle, upper, max(figures))


def box_chart(name: str, chart: BoxPlot) -> Figure:
    """Draw a box for each name, with a small point for each rater or item."""
    across = category_axis(tuple(chart.figures))
    grid = plot_grid([""], 2, across, chart.scale, columns=1, height=_BOX_HEIGHT, about=chart.about)
    area = grid.areas[0]
    half = min(9.0, 0.3 * area.width / area.across.high)
    parts = []
    for number, (key, figures) in enumerate(chart.figures.items()):
        x, label = area.x(number + 0.5), f"{chart.about} {key}".strip()
        parts.append(_draw_box(area, x, half, label, list(figures.values())))
        parts.append(_draw_points(area, x, 0.7 * half, label, figures if chart.shows_each else {}))
    inside = join(grid.draw([""], chart.measure, chart.about), parts)
    return Figure(name, chart.title, chart.note, grid.bottom, inside)


def _draw_box(area: PlotArea, x: float, half: float, name: str, figures: Sequence[float]) -> Markup:
    spread = five_numbers(figures)
    upper, lower, middle = area.y(spread.upper), area.y(spread.lower), area.y(spread.middle)
    parts = [
        draw_line((x, area.y(spread.most), x, area.y(spread.least)), INK, 0.6),
        *(draw_line((x - half / 2, area.y(end), x + half / 2, area.y(end)), INK, 0.6) for end in spread[::4]),
        draw_rect(x - half, upper, 2 * half, lower - upper, fill="#dbe6f3", stroke=_ACCENT, stroke_width="0.7"),
        draw_line((x - half, middle, x + half, middle), _ACCENT, 1.4),
    ]
    return with_title(join(parts), f"{name}: {', '.join(f'{number:g}' for number in spread)}")


def _draw_points(area: PlotArea, middle: float, half: float, name: str, figures: Mapping[str, float]) -> Markup:
    parts, last = [], len(figures) - 1
    for number, (rater, value) in enumerate(figures.items()):
        x = middle + (half * (2 * number / last - 1) if last else 0.0)
        paint = {"r": "1.1", "fill": INK, "fill_opacity": "0.75"}
        point = element("circle", cx=f"{x:.2f}", cy=f"{area.y(value):.2f}", **paint)
        parts.append(with_title(point, f"{name}, {rater}: {value:.3f}"))
    return join(parts)


# --- heatmaps: tables of numbers in which darker cells are larger

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
    """Draw a heatmap, with vertical column headings if they do not fit horizontally."""
    left = min(_MAX_NAME, max(map(text_width, table.rows))) + 5
    width = (WIDTH - left - 1) / len(table.columns)
    height = max(_LOWEST, min(_HIGHEST, width))
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
        parts.append(text_at(fit_text(row, _MAX_NAME), left - 3, y + height / 2 + 2.4, "end"))
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
