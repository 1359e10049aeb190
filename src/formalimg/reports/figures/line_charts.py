"""Line charts over levels with intervals, alone or in panels; scatter plots, and curves over a numeric axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formalimg.reports.figures.axes import HALVES, SCORES, SHARES, Axis, PlotArea, category_axis, plot_grid
from formalimg.reports.figures.series import (
    INCOMPLETE_MARKER,
    Chart,
    Series,
    SeriesStyle,
    build_legend,
    draw_marker,
    legend_from,
    line_key,
    marker_key,
    with_title,
)
from formalimg.reports.figures.svg import (
    INK,
    QUIET,
    RULE,
    WIDTH,
    Figure,
    Markup,
    draw_line,
    draw_polyline,
    element,
    join,
    short_names,
    text_at,
    vertical_text,
)
from formalimg.stats.observations import Interval

_LEFT, _RIGHT, _PLOT, _BELOW = 30.0, 4.0, 116.0, 24.0
_DODGE = 2.4  # The distance between points of several runs at one level, so that intervals do not overlap
_DOTTED = "0.6 2"


def line_chart(name: str, chart: Chart, threshold: float | None = None) -> Figure:
    """Draw a line for each run over the levels, with a dotted line at the threshold."""
    keys = build_legend(chart, line_key)
    top, right = keys.height + 2, WIDTH - _RIGHT
    bottom, step = top + _PLOT, (right - _LEFT) / len(chart.names)
    positions = {category: _LEFT + step * (n + 0.5) for n, category in enumerate(chart.names)}
    parts = [keys.inside]
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = top + _PLOT * (1 - tick)
        parts.append(draw_line((_LEFT, y, right, y), *((RULE, 0.5) if tick else (INK, 0.6))))
        parts.append(text_at(chart.tick(tick), _LEFT - 3, y + 2.4, "end"))
    parts += [text_at(category, x, bottom + 9, "middle") for category, x in positions.items()]
    parts.append(vertical_text(chart.measure, 8, top + _PLOT / 2))
    if chart.about:
        parts.append(text_at(chart.about, (_LEFT + right) / 2, bottom + 19, "middle"))
    if threshold is not None:
        y = top + _PLOT * (1 - threshold)
        parts.append(draw_line((_LEFT, y, right, y), QUIET, 0.6, _DOTTED))
    runs = [series for series in chart.series if series.style.is_run]
    published = [series for series in chart.series if not series.style.is_run]
    dodge = min(_DODGE, 0.6 * step / max(1, len(runs)))
    shifts = [dodge * (number - (len(runs) - 1) / 2) for number in range(len(runs))]
    # The first run lies on top.
    for series, shift in (*((series, 0.0) for series in published), *reversed([*zip(runs, shifts, strict=True)])):
        parts += _chart_line(series, {category: x + shift for category, x in positions.items()}, top)
    height = bottom + _BELOW if chart.about else bottom + _BELOW - 9
    return Figure(name, chart.title, chart.note, height, join(parts))


def _chart_line(series: Series, positions: Mapping[str, float], top: float) -> list[Markup]:
    def y(value: float) -> float:
        return top + _PLOT * (1 - value)

    style, points = series.style, series.points
    path = [(x, y(points[category].value)) if category in points else None for category, x in positions.items()]
    parts = draw_polyline(path, style.color, 1.1 if style.is_run else 0.7, style.dash)
    for category, point in points.items() if style.is_run else ():
        if point.interval is not None:
            x = positions[category]
            parts.append(
                draw_line((x, y(point.interval.low), x, y(point.interval.high)), style.color, 0.7, opacity=0.55)
            )
    for category, point in points.items() if style.is_run else ():
        if style.shape or not point.is_complete:
            parts.append(draw_marker(style, positions[category], y(point.value), 1.9, hollow=not point.is_complete))
    return parts


# --- panels

_ALONE, _BESIDE, _PANEL_BELOW = 110.0, 84.0, 58.0
_PANEL_DODGE = 1.6
_MAX_TITLE, _MAX_TITLE_BESIDE = 24, 14
"""The maximal number of letters of titles above a panel, alone or beside a remark; longer ones are shortened."""


class LinePanel(NamedTuple):
    """A single panel of a panel chart."""

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


def panel_chart(name: str, chart: PanelChart) -> Figure:
    """Draw panels in two columns, or a single large panel if there is only one."""
    alone = len(chart.panels) == 1
    lines = [(panel, series) for panel in chart.panels for series in panel.series]
    styles = {series.name: series.style for _, series in lines}
    entries = [(label, line_key(style)) for label, style in styles.items()]
    shaded = [series.style.color for panel, series in lines if panel.shades.get(series.name)]
    if chart.shaded and any(panel.shades for panel in chart.panels):
        key = element("rect", x=-3, y=-3, width=9, height=6, fill=shaded[0], fill_opacity="0.18")
        entries.append((chart.shaded, key))
    if any(not point.is_complete for _, series in lines for point in series.points.values()):
        entries.append(INCOMPLETE_MARKER)
    keys = legend_from(entries)
    grid = plot_grid(
        [panel.title for panel in chart.panels],
        keys.height,
        category_axis(chart.names),
        (SHARES if alone else HALVES) if chart.percent else SCORES,
        columns=2,
        height=_ALONE if alone else _BESIDE if len(chart.panels) == 2 else _PANEL_BELOW,
        about=chart.about,
    )
    remarks = [panel.remark for panel in chart.panels]
    titles = short_names([panel.title for panel in chart.panels], _MAX_TITLE_BESIDE if any(remarks) else _MAX_TITLE)
    parts = [keys.inside, grid.draw(titles, chart.measure, chart.about, remarks)]
    for area, panel in zip(grid.areas, chart.panels, strict=True):
        parts += [_draw_shade(area, chart.names, series, panel.shades.get(series.name, {})) for series in panel.series]
        middle = (len(panel.series) - 1) / 2
        parts += [
            _panel_line(area, chart, panel, series, _PANEL_DODGE * (number - middle))
            for number, series in reversed(list(enumerate(panel.series)))
        ]
    return Figure(name, chart.title, chart.note, grid.bottom, join(parts))


def _draw_shade(area: PlotArea, names: Sequence[str], series: Series, ranges: Mapping[str, Interval]) -> Markup:
    """Draw the shaded range behind a line, with an area for each stretch of adjacent names that have a range."""
    parts: list[Markup] = []
    stretch: list[tuple[float, Interval]] = []
    color = series.style.color
    for number, name in enumerate((*names, "")):
        if name in ranges:
            stretch.append((area.x(number + 0.5), ranges[name]))
            continue
        if stretch:
            upper = [f"{x:.2f} {area.y(span.high):.2f}" for x, span in stretch]
            lower = [f"{x:.2f} {area.y(span.low):.2f}" for x, span in reversed(stretch)]
            # A stretch of one would have no width, and so would not be seen.
            stroke = {"stroke": color, "stroke_width": "3", "stroke_opacity": "0.18"} if len(stretch) == 1 else {}
            path = f"M{'L'.join(upper + lower)}Z"
            parts.append(element("path", d=path, fill=color, fill_opacity="0.18", **stroke))
        stretch = []
    return join(parts)


def _panel_line(area: PlotArea, chart: PanelChart, panel: LinePanel, series: Series, shift: float) -> Markup:
    style, points = series.style, series.points
    positions = {name: area.x(number + 0.5) + shift for number, name in enumerate(chart.names)}
    path = [(x, area.y(points[name].value)) if name in points else None for name, x in positions.items()]
    parts = draw_polyline(path, style.color, 1.1, style.dash)
    for name, point in points.items():
        if point.interval is not None:
            x = positions[name]
            ends = (x, area.y(point.interval.low), x, area.y(point.interval.high))
            parts.append(draw_line(ends, style.color, 0.7, opacity=0.55))
    for name, point in points.items():
        title = ", ".join(filter(None, (panel.title, f"{chart.about} {name}".strip(), series.name)))
        symbol = draw_marker(style, positions[name], area.y(point.value), 1.8, hollow=not point.is_complete)
        parts.append(with_title(symbol, f"{title}: {point.value:.3f}"))
    return join(parts)


# --- scatter plots

_IN_A_ROW = 3
_SQUARE = 120.0


class Spot(NamedTuple):
    """A point: its name, style and coordinates."""

    name: str
    style: SeriesStyle
    across: float
    up: float


class ScatterPanel(NamedTuple):
    """A single panel of a scatter plot."""

    title: str
    spots: tuple[Spot, ...]


class Scatter(NamedTuple):
    """Scatter panels that share their axes, both from 0 to 100 %."""

    title: str
    note: str
    panels: tuple[ScatterPanel, ...]
    across: str
    up: str


def scatter_chart(name: str, chart: Scatter) -> Figure:
    """Draw a square plot for each panel, with a thin line where both scores are equal."""
    alone = len(chart.panels) == 1
    styles = {spot.name: spot.style for panel in chart.panels for spot in panel.spots}
    keys = legend_from([(label, marker_key(style)) for label, style in styles.items()])
    scale, height = (SHARES, _SQUARE) if alone else (HALVES, None)
    titles = [panel.title for panel in chart.panels]
    grid = plot_grid(titles, keys.height, scale, scale, columns=_IN_A_ROW, height=height, about=chart.across)
    parts = [keys.inside, grid.draw(titles, chart.up, chart.across)]
    for area, panel in zip(grid.areas, chart.panels, strict=True):
        ticks = [area.x(value) for value, _ in area.across.ticks]
        parts.append(join([draw_line((x, area.top, x, area.bottom)) for x in ticks]))
        parts.append(draw_line((area.left, area.bottom, area.right, area.top), QUIET, 0.5, "1 1.5"))
        for spot in panel.spots:
            text = f"{panel.title}, {spot.name}: {chart.across} {spot.across:.3f}, {chart.up} {spot.up:.3f}"
            parts.append(with_title(draw_marker(spot.style, area.x(spot.across), area.y(spot.up), 2), text))
    return Figure(name, chart.title, chart.note, grid.bottom, join(parts))


# --- curves over numbers


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
    entries = [(curve.name, line_key(curve.style)) for curve in chart.curves]
    entries += [(text, draw_line((-5, 0, 6, 0), QUIET, 0.7, _DOTTED)) for _, text in chart.upright]
    keys = legend_from(entries)
    grid = plot_grid([""], keys.height, chart.scale, SHARES, columns=1, height=_SQUARE - 10, about=chart.across)
    area = grid.areas[0]
    parts = [keys.inside, grid.draw([""], chart.up, chart.across)]
    for value, text in chart.upright:
        line = draw_line((area.x(value), area.top, area.x(value), area.bottom), QUIET, 0.7, _DOTTED)
        parts.append(with_title(line, f"{text}: {value:g}"))
    for curve in reversed(chart.curves):
        path = [None if y is None else (area.x(x), area.y(y)) for x, y in curve.places]
        parts += draw_polyline(path, curve.style.color, 1.1, curve.style.dash)
        for x, y in curve.points:
            if y is not None:
                symbol = draw_marker(curve.style, area.x(x), area.y(y), 1.9)
                parts.append(with_title(symbol, f"{curve.name} at {x:g}: {y:.3f}"))
    return Figure(name, chart.title, chart.note, grid.bottom, join(parts))
