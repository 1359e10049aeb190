"""Chart series: points with intervals, the styles that distinguish runs, and legends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from formalimg.reports.comparison_model import CEILING, FLOOR, RunRow, select_rated_rows
from formalimg.reports.figures.svg import (
    QUIET,
    WIDTH,
    Markup,
    draw_line,
    element,
    fit_text,
    join,
    spread_labels,
    text_at,
    text_width,
)
from formalimg.reports.tables.model import Number
from formalimg.stats.observations import Band, Interval, Rate

_TONES = 6


def run_tones(rows: Sequence[RunRow], subject: int | None = None) -> tuple[str, ...]:
    """Return the CSS colour class of each run, with the accent for the first one."""
    tones: list[str] = []
    rated = select_rated_rows(rows) if subject is None else (rows[subject],)
    for row in rows:
        number = sum(tone != "bound" for tone in tones) % _TONES
        tones.append(f"tone-{number}" if row in rated else "bound")
    return tuple(tones)


_LABEL_LINE = 15.0  # The minimal distance between labels at the ends of lines, on pages


class LineLabel(NamedTuple):
    """The label at the end of a line on a page: the height of that end, the text, and its CSS colour class."""

    height: float
    text: str
    tone: str


def draw_line_labels(labels: Sequence[LineLabel], x: float, top: float, bottom: float) -> list[Markup]:
    """Return labels for lines that end at `x`, with overlapping labels moved apart."""
    ends = sorted(labels, key=lambda label: label.height)
    heights = spread_labels([label.height for label in ends], _LABEL_LINE, top, bottom)
    return [
        element(
            "g",
            element("path", d=f"M{x - 6:g} {label.height:.1f}L{x + 8:g} {height:.1f}", class_="leader"),
            element("text", label.text, x=x + 12, y=height + 4),
            class_=f"label {label.tone}",
        )
        for label, height in zip(ends, heights, strict=True)
    ]


# --- styles

_COLORS = ("#1d5ba6", "#ad4c22", "#2f7247", "#76488f", "#7c610c", "#14747b")
"""The tones of the page in light colours."""

_SHAPES = ("circle", "square", "diamond", "up", "down", "bar")

_OUTLINES = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "up": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "down": ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    "bar": ((-0.55, -1.3), (0.55, -1.3), (0.55, 1.3), (-0.55, 1.3)),
}
"""Corners around the middle, for a marker of size 1."""


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


PEOPLE, JUDGE = numbered_style(1)._replace(dash="3 1.5"), numbered_style(0)
"""The styles of raters and judge wherever they are side by side."""


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


# --- points


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

    def tick(self, value: float) -> str:
        """Return the axis label of a value."""
        return f"{100 * value:g}" if self.percent else f"{value:.1f}"

    @property
    def points(self) -> list[Point]:
        """The points of all series."""
        return [point for series in self.series for point in series.points.values()]

    @property
    def top(self) -> float:
        """The upper end of the axis, which no number or interval exceeds."""
        highest = max(point.interval.high if point.interval else point.value for point in self.points)
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


# --- legends

_LINE, _KEY, _GAP = 9.5, 14.0, 9.0  # The height of a line, the width of a key, and the distance between two entries
LegendKey = Callable[[SeriesStyle], Markup]  # Draws the key of a series around (0, 0)


class Legend(NamedTuple):
    """The legend at the top of a figure: the keys and names of its series, and its height."""

    inside: Markup
    height: float


def build_legend(chart: Chart, draw_key: LegendKey) -> Legend:
    """Build the legend of a chart, explaining any hollow markers; a single run without a name has no legend."""
    styles = {series.name: series.style for series in chart.series if series.style.is_run}
    entries = [(name, draw_key(style)) for name, style in styles.items() if name]
    if any(not series.style.is_run for series in chart.series):
        entries.append(("published", line_key(PUBLISHED)))
    if not all(point.is_complete for point in chart.points):
        entries.append(INCOMPLETE_BAR if draw_key is bar_key else INCOMPLETE_MARKER)
    return legend_from(entries)


def legend_from(entries: Sequence[tuple[str, Markup]]) -> Legend:
    """Build a legend from names and keys drawn around (0, 0), wrapped to as many lines as needed."""
    if not entries:
        return Legend(Markup(""), 3)
    x, y, parts = 2.0, 8.0, []
    for name, key in entries:
        text = fit_text(name, WIDTH - _KEY - 6)
        width = _KEY + text_width(text)
        if x > 2 and x + width > WIDTH - 2:
            x, y = 2.0, y + _LINE
        parts.append(element("g", key, transform=f"translate({x + 5:.1f} {y - 2.5:.1f})"))
        parts.append(text_at(text, x + _KEY, y))
        x += width + _GAP
    return Legend(join(parts), y + 4)


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


INCOMPLETE_MARKER = ("not all scored", draw_marker(PLAIN, 2, 0, 1.9, hollow=True))
INCOMPLETE_BAR = ("not all scored", bar_key(PLAIN, "#ffffff"))
"""Legend entries for numbers for which not all images were scored."""
