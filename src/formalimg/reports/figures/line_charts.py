"""Line charts over levels with intervals, alone or as small panels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formalimg.reports.figures.axes import HALVES, SCORES, SHARES, PlotArea, category_axis, plot_grid
from formalimg.reports.figures.series import (
    Chart,
    Series,
    incomplete_marker_key,
    legend,
    legend_from,
    line_key,
    marker,
    with_title,
)
from formalimg.reports.figures.svg import (
    INK,
    QUIET,
    WIDTH,
    Figure,
    Markup,
    draw_line,
    element,
    join,
    polyline,
    short_names,
    text_at,
    vertical_text,
)
from formalimg.stats.observations import Interval

_LEFT, _RIGHT, _PLOT, _BELOW = 30.0, 4.0, 116.0, 24.0
_DODGE = 2.4
"""The distance between points of several runs at one level, so that intervals do not overlap."""


def line_chart(name: str, chart: Chart, held: float | None = None) -> Figure:
    """Return a line for each run over the levels; a dotted line marks the rate to hold."""
    with_title = legend(chart, line_key)
    plot = _LinePlot(chart, with_title.height + 2)
    below = plot.top + _PLOT + _BELOW if chart.about else plot.top + _PLOT + _BELOW - 9
    runs = [one for one in chart.series if one.style.is_run]
    parts = [
        with_title.inside,
        plot.axes(),
        *([] if held is None else plot.held(held)),
        *(plot.line(one, 0) for one in chart.series if not one.style.is_run),
        # The first run lies on top.
        *reversed([plot.line(one, plot.shift(number, len(runs))) for number, one in enumerate(runs)]),
    ]
    return Figure(name, chart.title, chart.note, below, join(parts))


class _LinePlot:
    """The coordinates of a line chart."""

    def __init__(self, chart: Chart, top: float) -> None:
        self.chart, self.top = chart, top
        self.step = (WIDTH - _LEFT - _RIGHT) / len(chart.names)

    def x(self, name: str) -> float:
        return _LEFT + self.step * (self.chart.names.index(name) + 0.5)

    def y(self, value: float) -> float:
        return self.top + _PLOT * (1 - value)

    def shift(self, number: int, runs: int) -> float:
        return min(_DODGE, 0.6 * self.step / max(1, runs)) * (number - (runs - 1) / 2)

    def axes(self) -> Markup:
        chart, bottom, right = self.chart, self.y(0), WIDTH - _RIGHT
        parts = []
        for tick in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
            y = self.y(tick)
            parts.append(draw_line((_LEFT, y, right, y)) if tick else draw_line((_LEFT, y, right, y), INK, 0.6))
            parts.append(text_at(chart.tick(tick), _LEFT - 3, y + 2.4, "end"))
        parts += [text_at(name, self.x(name), bottom + 9, "middle") for name in chart.names]
        parts.append(vertical_text(chart.measure, 8, self.top + _PLOT / 2))
        if chart.about:
            parts.append(text_at(chart.about, (_LEFT + right) / 2, bottom + 19, "middle"))
        return join(parts)

    def held(self, rate: float) -> list[Markup]:
        return [draw_line((_LEFT, self.y(rate), WIDTH - _RIGHT, self.y(rate)), QUIET, 0.6, "0.6 2")]

    def line(self, one: Series, shift: float) -> Markup:
        there = {name: (self.x(name) + shift, point) for name, point in one.points.items()}
        is_published = not one.style.is_run
        path = [(there[name][0], self.y(there[name][1].value)) if name in there else None for name in self.chart.names]
        parts = polyline(path, one.style.color, 0.7 if is_published else 1.1, one.style.dash)
        if is_published:
            return join(parts)
        for x, point in there.values():
            if point.interval is not None:
                ends = (x, self.y(point.interval.low), x, self.y(point.interval.high))
                parts.append(draw_line(ends, one.style.color, 0.7, opacity=0.55))
        for x, point in there.values():
            if one.style.shape or not point.is_complete:
                parts.append(marker(one.style, x, self.y(point.value), 1.9, hollow=not point.is_complete))
        return join(parts)


_ALONE, _BESIDE, _PANEL_BELOW = 110.0, 84.0, 58.0
_PANEL_DODGE = 1.6
_MAX_TITLE, _MAX_TITLE_BESIDE = 24, 14
"""The maximal number of letters of titles above a panel, alone or beside a remark; longer ones are shortened."""


class LinePanel(NamedTuple):
    """One panel."""

    title: str  # what sets it apart from the others
    series: tuple[Series, ...]  # its lines
    # for the name of a line the range that is shaded behind it, by the names of what the figures are about
    shades: Mapping[str, Mapping[str, Interval]] = {}
    remark: str = ""  # what stands behind the title, and is never cut


class PanelChart(NamedTuple):
    """Panels that share their axes."""

    title: str  # what they show, and how their figures were made
    note: str
    names: tuple[str, ...]  # what the figures are about, in order
    panels: tuple[LinePanel, ...]  # the small figures
    measure: str  # what stands at the axes
    about: str
    percent: bool = True  # are the figures written in percent?
    shaded: str = ""  # what a shade means, for the legend


def panel_chart(name: str, panels: PanelChart) -> Figure:
    """Return panels in two columns, or one large panel if there is only one."""
    alone = len(panels.panels) == 1
    styles = {one.name: one.style for panel in panels.panels for one in panel.series}
    entries = [(who, line_key(style, 0, 0)) for who, style in styles.items()]
    if panels.shaded and any(panel.shades for panel in panels.panels):
        entries.append((panels.shaded, _shade_sign(panels)))
    if any(not point.is_complete for panel in panels.panels for one in panel.series for point in one.points.values()):
        entries.append(("not all scored", incomplete_marker_key(0, 0)))
    legend = legend_from(entries)
    up = (SHARES if alone else HALVES) if panels.percent else SCORES
    grid = plot_grid(
        [panel.title for panel in panels.panels],
        legend.height,
        category_axis(panels.names),
        up,
        columns=2,
        height=_ALONE if alone else _BESIDE if len(panels.panels) == 2 else _PANEL_BELOW,
        about=panels.about,
    )
    remarks = [panel.remark for panel in panels.panels]
    titles = short_names([panel.title for panel in panels.panels], _MAX_TITLE_BESIDE if any(remarks) else _MAX_TITLE)
    parts = [legend.inside, grid.drawn(titles, panels.measure, panels.about, remarks)]
    for frame, panel in zip(grid.frames, panels.panels, strict=True):
        parts += [_shade(frame, panels.names, one, panel.shades.get(one.name, {})) for one in panel.series]
        runs = len(panel.series)
        parts += [
            _line(frame, panels, panel, one, _PANEL_DODGE * (number - (runs - 1) / 2))
            for number, one in reversed(list(enumerate(panel.series)))
        ]
    return Figure(name, panels.title, panels.note, grid.bottom, join(parts))


def _shade_sign(panels: PanelChart) -> Markup:
    shaded = next(one.style.color for panel in panels.panels for one in panel.series if panel.shades.get(one.name))
    return element("rect", x=-3, y=-3, width=9, height=6, fill=shaded, fill_opacity="0.18")


def _shade(frame: PlotArea, names: Sequence[str], one: Series, ranges: Mapping[str, Interval]) -> Markup:
    """Return the shade behind a line: one area for each stretch of neighbours that have a range."""
    parts: list[Markup] = []
    stretch: list[tuple[float, Interval]] = []
    for place, name in enumerate((*names, "")):
        if name in ranges:
            stretch.append((frame.x(place + 0.5), ranges[name]))
            continue
        if stretch:
            there = [f"{x:.2f} {frame.y(span.high):.2f}" for x, span in stretch]
            back = [f"{x:.2f} {frame.y(span.low):.2f}" for x, span in reversed(stretch)]
            # A stretch of one would have no width, and so would not be seen.
            line = (
                {"stroke": one.style.color, "stroke_width": "3", "stroke_opacity": "0.18"} if len(stretch) == 1 else {}
            )
            parts.append(
                element("path", d=f"M{'L'.join(there + back)}Z", fill=one.style.color, fill_opacity="0.18", **line)
            )
        stretch = []
    return join(parts)


def _line(frame: PlotArea, panels: PanelChart, panel: LinePanel, one: Series, shift: float) -> Markup:
    places = {name: frame.x(number + 0.5) + shift for number, name in enumerate(panels.names)}
    path = [(places[name], frame.y(one.points[name].value)) if name in one.points else None for name in panels.names]
    parts = polyline(path, one.style.color, 1.1, one.style.dash)
    for name, point in one.points.items():
        if point.interval is not None:
            ends = (places[name], frame.y(point.interval.low), places[name], frame.y(point.interval.high))
            parts.append(draw_line(ends, one.style.color, 0.7, opacity=0.55))
    for name, point in one.points.items():
        where = ", ".join(filter(None, (panel.title, f"{panels.about} {name}".strip(), one.name)))
        signed = marker(one.style, places[name], frame.y(point.value), 1.8, hollow=not point.is_complete)
        parts.append(with_title(signed, f"{where}: {point.value:.3f}"))
    return join(parts)
