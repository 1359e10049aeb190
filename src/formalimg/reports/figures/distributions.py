"""Histograms and box plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import NamedTuple

from formalimg.reports.figures.axes import SHARES, Axis, PlotArea, category_axis, count_axis, plot_grid
from formalimg.reports.figures.series import numbered_style, with_title
from formalimg.reports.figures.svg import INK, Figure, Markup, draw_line, element, join

_HEIGHT = 92.0
_ACCENT, _OTHER = numbered_style(0).color, "#a9bcd6"


class HistogramBar(NamedTuple):
    """One bar: its range on the axis, its count, its name, and whether it is emphasized."""

    low: float
    high: float
    there: int
    name: str
    is_main: bool = True


class Histogram(NamedTuple):
    """A histogram: its bars, the names of its axes, and the ticks of the horizontal one."""

    title: str
    note: str
    columns: tuple[HistogramBar, ...]
    measure: str
    about: str
    ticks: tuple[tuple[float, str], ...]


def histogram(name: str, of: Histogram) -> Figure:
    """Return a histogram as a figure."""
    across = Axis(of.columns[0].low, of.columns[-1].high, of.ticks)
    up = count_axis(max(column.there for column in of.columns))
    grid = plot_grid([""], 2, across, up, columns=1, height=_HEIGHT, about=of.about)
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
        parts.append(with_title(bar, f"{column.name}: {column.there:,}"))
    return Figure(name, of.title, of.note, grid.bottom, join(grid.drawn([""], of.measure, of.about), parts))


_BOX_HEIGHT = 104.0
_BOX_ACCENT = numbered_style(0).color


class FiveNumbers(NamedTuple):
    """The minimum, the three quartiles (interpolated), and the maximum."""

    least: float
    lower: float
    middle: float
    upper: float
    most: float


class BoxPlot(NamedTuple):
    """Distributions of numbers, one box each."""

    title: str  # what they show, and how they were made
    note: str
    figures: Mapping[str, Mapping[str, float]]  # for each name the figures, by whom or what they are of
    measure: str  # what stands at the axes
    about: str
    scale: Axis = SHARES  # the axis of the figures
    shows_each: bool = True  # is there a point for each figure?


def five_numbers(figures: Sequence[float]) -> FiveNumbers:
    """Return minimum, quartiles and maximum; all are equal for one number."""
    # One figure alone counts twice, since quartiles need two.
    lower, middle, upper = quantiles(figures if len(figures) > 1 else [*figures, *figures], n=4, method="inclusive")
    return FiveNumbers(min(figures), lower, middle, upper, max(figures))


def box_chart(name: str, of: BoxPlot) -> Figure:
    """Return a box for each name, with a small point for each rater or item."""
    names = tuple(of.figures)
    grid = plot_grid([""], 2, category_axis(names), of.scale, columns=1, height=_BOX_HEIGHT, about=of.about)
    frame = grid.frames[0]
    parts = []
    for place, one in enumerate(names):
        label = f"{of.about} {one}".strip()
        parts.append(_box(frame, place + 0.5, label, list(of.figures[one].values())))
        parts.append(_points(frame, place + 0.5, label, of.figures[one] if of.shows_each else {}))
    return Figure(name, of.title, of.note, grid.bottom, join(grid.drawn([""], of.measure, of.about), parts))


def _half(frame: PlotArea) -> float:
    return min(9.0, 0.3 * frame.width / frame.across.high)


def _box(frame: PlotArea, place: float, name: str, figures: Sequence[float]) -> Markup:
    spread = five_numbers(figures)
    x, half = frame.x(place), _half(frame)
    upper, lower = frame.y(spread.upper), frame.y(spread.lower)
    parts = [
        draw_line((x, frame.y(spread.most), x, frame.y(spread.least)), INK, 0.6),
        *(draw_line((x - half / 2, frame.y(end), x + half / 2, frame.y(end)), INK, 0.6) for end in spread[::4]),
        element(
            "rect",
            x=f"{x - half:.2f}",
            y=f"{upper:.2f}",
            width=f"{2 * half:.2f}",
            height=f"{lower - upper:.2f}",
            fill="#dbe6f3",
            stroke=_BOX_ACCENT,
            stroke_width="0.7",
        ),
        draw_line((x - half, frame.y(spread.middle), x + half, frame.y(spread.middle)), _BOX_ACCENT, 1.4),
    ]
    return with_title(join(parts), f"{name}: {', '.join(f'{number:g}' for number in spread)}")


def _points(frame: PlotArea, place: float, name: str, figures: Mapping[str, float]) -> Markup:
    x = frame.x(place)
    return join(
        with_title(
            element(
                "circle", cx=f"{x + shift:.2f}", cy=f"{frame.y(value):.2f}", r="1.1", fill=INK, fill_opacity="0.75"
            ),
            f"{name}, {who}: {value:.3f}",
        )
        for shift, (who, value) in zip(_spread_out(len(figures), 0.7 * _half(frame)), figures.items(), strict=True)
    )


def _spread_out(count: int, half: float) -> list[float]:
    return [0.0] if count == 1 else [half * (2 * number / (count - 1) - 1) for number in range(count)]
