"""Plots of series: styles, legends and axes, and charts of lines over levels, of spots, and of curves over numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from formalimg.reports.comparison_model import CEILING, FLOOR, RunRow, run_tones
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
    fit_text,
    join,
    short_names,
    text_at,
    text_width,
    vertical_text,
)
from formalimg.reports.tables.model import Number
from formalimg.stats.observations import Band, Interval, Rate

_COLORS = ("#1d5ba6", "#ad4c22", "#2f7247", "#76488f", "#7c610c", "#14747b")  # The tones of the page in light colours
_SHAPES = ("circle", "square", "diamond", "up", "down", "bar")
_OUTLINES = {  # Corners around the middle, for a marker of size 1
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "up": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "down": ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    "bar": ((-0.55, -1.3), (0.55, -1.3), (0.55, 1.3), (-0.55, 1.3)),
}


class SeriesStyle(NamedTuple):
    """The style of a series: its colour, its marker shape (empty for none) and its dashes (empty for a solid line)."""

    color: str
    shape: str = ""
    dash: str = ""

    @property
    def is_run(self) -> bool:
        """Whether the series is a run, not published numbers."""
        return self != PUBLISHED


PUBLISHED = SeriesStyle("#b4b6b9")
PLAIN = SeriesStyle(QUIET, "circle")
_BASELINE_STYLES = {CEILING: SeriesStyle(QUIET, dash="3.5 1.5"), FLOOR: SeriesStyle("#94979c", dash="1 1.5")}
_OTHER_BASELINE = SeriesStyle(QUIET, dash="5 1.5 1 1.5")


def run_styles(rows: Sequence[RunRow]) -> tuple[SeriesStyle, ...]:
    """Return the style of each run, with baselines in grey and dashed."""
    styles: list[SeriesStyle] = []
    for row, tone in zip(rows, run_tones(rows), strict=True):
        if tone == "bound":
            styles.append(_BASELINE_STYLES.get(row.manifest.model.name, _OTHER_BASELINE))
        else:
            styles.append(numbered_style(sum(not style.dash for style in styles)))
    return tuple(styles)


def numbered_style(number: int) -> SeriesStyle:
    """Return the style of the series at a zero-based position."""
    # From the seventh on the colours come again, with other shapes.
    shape = _SHAPES[(number + number // len(_COLORS)) % len(_SHAPES)]
    return SeriesStyle(_COLORS[number % len(_COLORS)], shape)


PEOPLE, JUDGE = numbered_style(1)._replace(dash="3 1.5"), numbered_style(0)  # Wherever they are side by side


class Point(NamedTuple):
    """A known number from 0 to 1 with its interval, if any, and whether all images were scored."""

    value: float
    interval: Interval | None = None
    is_complete: bool = True


class Series(NamedTuple):
    """The named points of a run, without unknown ones."""

    name: str
    style: SeriesStyle
    points: Mapping[str, Point]


class Chart(NamedTuple):
    """The data of a chart."""

    title: str  # what it shows
    note: str  # how its figures were made
    names: tuple[str, ...]  # what the figures are about, in order; some run has a figure for each
    series: tuple[Series, ...]  # the runs
    measure: str  # what stands at the axis of the figures
    percent: bool  # are they written in percent?
    about: str = ""  # what stands at the other axis; empty if the names speak for themselves

    @property
    def top(self) -> float:
        """The upper end of the axis, which no number or interval exceeds."""
        points = [point for series in self.series for point in series.points.values()]
        highest = max(point.interval.high if point.interval else point.value for point in points)
        return next((end for end in (0.1, 0.2, 0.5, 1.0, 1.5) if highest <= end), ceil(highest))


def known_points(points: Mapping[str, Point | None]) -> dict[str, Point]:
    """Return the points without those that are None."""
    return {name: point for name, point in points.items() if point is not None}


def point_of_rate(rate: Rate | Band) -> Point | None:
    """Return a rate or mean as a point, or None if it has no value."""
    return None if rate.value is None else Point(rate.value, rate.interval, rate.coverage >= 1)


def point_of_number(number: Number | None) -> Point | None:
    """Return a table number as a point, or None if it has no value."""
    if number is None or number.value is None:
        return None
    return Point(number.value, number.interval, not number.is_incomplete)


# --- marks and legends

_LINE, _KEY, _KEY_GAP = 9.5, 14.0, 9.0  # The height of a line, the width of a key, and the distance between entries
LegendKey = Callable[[SeriesStyle], Markup]  # Draws the key of a series around (0, 0)


def draw_marker(style: SeriesStyle, x: float, y: float, size: float, *, hollow: bool = False) -> Markup:
    """Draw a marker, hollow if some images of its number were not scored."""
    paint = {"fill": "#ffffff" if hollow else style.color, "stroke": style.color, "stroke_width": "0.8"}
    if style.shape not in _OUTLINES:
        return element("circle", cx=f"{x:.2f}", cy=f"{y:.2f}", r=f"{size:g}", **paint)
    corners = "L".join(f"{x + size * dx:.2f} {y + size * dy:.2f}" for dx, dy in _OUTLINES[style.shape])
    return element("path", d=f"M{corners}Z", **paint)


def with_title(markup: Markup, text: str) -> Markup:
    """Return markup with a title, which browsers show as a tooltip."""
    return element("g", element("title", text), markup)


def build_legend(
    series: Sequence[Series], draw_key: LegendKey, entries: Mapping[str, Markup] | None = None
) -> tuple[Markup, float]:
    """Build the legend of a chart and its height, explaining published numbers and hollow markers."""
    keys = {entry.name: draw_key(entry.style) for entry in series if entry.name and entry.style.is_run}
    if not all(entry.style.is_run for entry in series):
        keys["published"] = line_key(PUBLISHED)
    keys |= entries or {}
    if not all(point.is_complete for entry in series for point in entry.points.values()):
        is_bar = draw_key is bar_key
        keys["not all scored"] = bar_key(PLAIN, "#ffffff") if is_bar else draw_marker(PLAIN, 2, 0, 1.9, hollow=True)
    return draw_legend(keys)


def draw_legend(keys: Mapping[str, Markup]) -> tuple[Markup, float]:
    """Draw names and their keys, which are drawn around (0, 0), on as many lines as needed; return also the height."""
    if not keys:
        return Markup(""), 3
    x, y, parts = 2.0, 8.0, []
    for name, key in keys.items():
        text = fit_text(name, WIDTH - _KEY - 6)
        width = _KEY + text_width(text)
        if x > 2 and x + width > WIDTH - 2:
            x, y = 2.0, y + _LINE
        parts.append(element("g", key, transform=f"translate({x + 5:.1f} {y - 2.5:.1f})"))
        parts.append(text_at(text, x + _KEY, y))
        x += width + _KEY_GAP
    return join(parts), y + 4


def line_key(style: SeriesStyle) -> Markup:
    """Draw a short line with the marker of a series as a legend key."""
    line = draw_line((-5, 0, 6, 0), style.color, 1.1, style.dash)
    return join(line, draw_marker(style, 0.5, 0, 1.9)) if style.shape else line


def marker_key(style: SeriesStyle) -> Markup:
    """Draw the marker of a series as a legend key."""
    return draw_marker(style, 2, 0, 2.1)


def bar_key(style: SeriesStyle, fill: str = "") -> Markup:
    """Draw a small bar in the style of a series as a legend key."""
    return element("rect", x=-3, y=-2.5, width=9.0, height=5.0, fill=fill or style.color, stroke=style.color)


# --- axes


class Axis(NamedTuple):
    """An axis with its range and tick labels."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


SHARES = Axis(0, 1, ((0, "0"), (0.2, "20"), (0.4, "40"), (0.6, "60"), (0.8, "80"), (1, "100")))  # in percent
HALVES = Axis(0, 1, ((0, "0"), (0.5, "50"), (1, "100")))
_SCORES = Axis(0, 1, ((0, "0"), (0.5, "0.5"), (1, "1")))
_LEFT, _RIGHT, _GAP, _TITLE = 30.0, 7.0, 14.0, 12.0
DOTTED = "0.6 2"


def category_axis(names: Sequence[str]) -> Axis:
    """Return an axis of evenly spaced categories starting at 0.5, skipping labels if there are many."""
    step = -(-len(names) // 12)
    return Axis(0, len(names), tuple((n + 0.5, name) for n, name in enumerate(names) if n % step == 0))


def count_axis(largest: int) -> Axis:
    """Return an axis for counts, from 0 to a round number that is at least `largest`."""
    sizes = (part * 10**power for power in range(12) for part in (1, 2, 2.5, 5))
    step = next(round(size) for size in sizes if size == round(size) and 5 * size >= largest)
    steps = max(1, -(-largest // step))
    return Axis(0, step * steps, tuple((step * number, f"{step * number:,}") for number in range(steps + 1)))


class PlotArea(NamedTuple):
    """A rectangular plot area in a figure, with its axes."""

    left: float
    top: float
    width: float
    height: float
    across: Axis
    up: Axis

    def x(self, value: float) -> float:
        """Return the x coordinate for a value."""
        return self.left + self.width * (value - self.across.low) / (self.across.high - self.across.low)

    def y(self, value: float) -> float:
        """Return the y coordinate for a value."""
        return self.top + self.height * (self.up.high - value) / (self.up.high - self.up.low)

    def draw_axes(self, title: str, remark: str, *, at_left: bool, below: bool) -> Markup:
        """Draw the axes with a title above, of which only the title is cut, and labels only where requested."""
        right, bottom = self.left + self.width, self.top + self.height
        parts = []
        for value, label in self.up.ticks:
            y, is_ground = self.y(value), value == self.up.low
            parts.append(draw_line((self.left, y, right, y), INK if is_ground else RULE, 0.6))
            if at_left:
                parts.append(text_at(label, self.left - 3, y + 2.4, "end"))
        for value, label in self.across.ticks if below else ():
            parts.append(text_at(label, self.x(value), bottom + 8.5, "middle"))
        if title or remark:
            behind = f", {remark}" if title and remark else remark
            text = fit_text(title, self.width - text_width(behind)) + behind
            parts.append(text_at(text, self.left, self.top - 4))
        return join(parts)


def plot_grid(
    titles: Sequence[str],
    top: float,
    across: Axis,
    up: Axis,
    *,
    columns: int,
    measure: str,
    about: str,
    height: float | None = None,
    remarks: Sequence[str] = (),
) -> tuple[list[PlotArea], Markup, float]:
    """Draw plot areas below `top`, one for each title, and square unless `height` is set; return also their bottom."""
    columns = min(columns, len(titles))
    width = (WIDTH - _LEFT - _RIGHT - _GAP * (columns - 1)) / columns
    height = width if height is None else height
    above = _TITLE if any(titles) else 4.0
    areas, parts = [], []
    for number, (title, remark) in enumerate(zip(titles, remarks or [""] * len(titles), strict=True)):
        row, column = divmod(number, columns)
        left, area_top = _LEFT + (width + _GAP) * column, top + above + (height + above + 3) * row
        areas.append(PlotArea(left, area_top, width, height, across, up))
        parts.append(areas[-1].draw_axes(title, remark, at_left=not column, below=number >= len(titles) - columns))
    plot_bottom = areas[-1].top + height
    bottom = plot_bottom + (22 if about else 12)
    parts.append(vertical_text(measure, 8, (areas[0].top + plot_bottom) / 2))
    if about:
        middle = (areas[0].left + areas[columns - 1].left + width) / 2
        parts.append(text_at(about, middle, bottom - 3, "middle"))
    return areas, join(parts), bottom


# --- lines over levels

SINGLE_HEIGHT, _BESIDE, _BELOW = 112.0, 84.0, 58.0
_MAX_TITLE, _MAX_TITLE_BESIDE = 24, 14  # The letters of titles above a panel, alone or beside a remark


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


def line_chart(name: str, chart: Chart, threshold: float | None = None) -> Figure:
    """Draw a line for each run over the levels, with a dotted line at the threshold."""
    panel = LinePanel("", chart.series)
    panels = PanelChart(
        chart.title, chart.note, chart.names, (panel,), chart.measure, chart.about, percent=chart.percent
    )
    return panel_chart(name, panels, threshold)


def panel_chart(name: str, chart: PanelChart, threshold: float | None = None) -> Figure:
    """Draw panels in two columns, or a single large panel if there is only one."""
    is_single = len(chart.panels) == 1
    lines = [series for panel in chart.panels for series in panel.series]
    shaded = [series.style for panel in chart.panels for series in panel.series if panel.shades.get(series.name)]
    keys = {}
    if chart.shaded and shaded:
        keys[chart.shaded] = element("rect", x=-3, y=-3, width=9, height=6, fill=shaded[0].color, fill_opacity="0.18")
    legend, top = build_legend(lines, line_key, keys)
    remarks = [panel.remark for panel in chart.panels]
    areas, axes, bottom = plot_grid(
        short_names([panel.title for panel in chart.panels], _MAX_TITLE_BESIDE if any(remarks) else _MAX_TITLE),
        top,
        category_axis(chart.names),
        (SHARES if is_single else HALVES) if chart.percent else _SCORES,
        columns=2,
        measure=chart.measure,
        about=chart.about,
        height=SINGLE_HEIGHT if is_single else _BESIDE if len(chart.panels) == 2 else _BELOW,
        remarks=remarks,
    )
    parts = [legend, axes]
    for area, panel in zip(areas, chart.panels, strict=True):
        if threshold is not None:
            y = area.y(threshold)
            parts.append(draw_line((area.left, y, area.left + area.width, y), QUIET, 0.6, DOTTED))
        parts += [_draw_shade(area, chart.names, series, panel.shades.get(series.name, {})) for series in panel.series]
        parts += [_draw_panel_line(area, chart, panel, line, 0) for line in panel.series if not line.style.is_run]
        runs = [series for series in panel.series if series.style.is_run]
        step = min(2.4 if is_single else 1.6, 0.6 * area.width / len(chart.names) / max(1, len(runs)))
        for number, series in reversed(list(enumerate(runs))):  # the first run lies on top
            parts.append(_draw_panel_line(area, chart, panel, series, step * (number - (len(runs) - 1) / 2)))
    return Figure(name, chart.title, chart.note, bottom, join(parts))


def _draw_shade(area: PlotArea, names: Sequence[str], series: Series, ranges: Mapping[str, Interval]) -> Markup:
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
            parts.append(element("path", d=f"M{'L'.join(upper + lower)}Z", fill=color, fill_opacity="0.18", **stroke))
        stretch = []
    return join(parts)


def _draw_panel_line(area: PlotArea, chart: PanelChart, panel: LinePanel, series: Series, shift: float) -> Markup:
    style, points = series.style, series.points
    positions = {name: area.x(number + 0.5) + shift for number, name in enumerate(chart.names)}
    path = [(x, area.y(points[name].value)) if name in points else None for name, x in positions.items()]
    parts = draw_polyline(path, style.color, 1.1 if style.is_run else 0.7, style.dash)
    for name, point in points.items():
        if point.interval is not None:
            x = positions[name]
            ends = (x, area.y(point.interval.low), x, area.y(point.interval.high))
            parts.append(draw_line(ends, style.color, 0.7, opacity=0.55))
    for name, point in points.items():
        if style.shape or not point.is_complete:
            title = ", ".join(filter(None, (panel.title, f"{chart.about} {name}".strip(), series.name)))
            symbol = draw_marker(style, positions[name], area.y(point.value), 1.9, hollow=not point.is_complete)
            parts.append(with_title(symbol, f"{title}: {point.value:.3f}"))
    return join(parts)
