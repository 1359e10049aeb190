"""The curve of a report page: rates or scores over the levels, as SVG, with intervals, epsilon and published lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from formalimg.reports.comparison_model import PublishedRow, RunRow, Section
from formalimg.reports.figures.series import LineLabel, draw_line_labels, run_tones
from formalimg.reports.figures.svg import Markup, element, join, short_names
from formalimg.reports.tables.format import (
    NOTHING,
    axis_label,
    count_noun,
    epsilon_text,
    format_interval,
    format_value,
    generalizability_text,
    level_head,
    level_name,
    level_word,
    shorten,
    unit_of,
)
from formalimg.stats.observations import Rate
from formalimg.types import Benchmark

_DODGE = 5.0
"""The distance between points of several runs at one level, so that intervals do not overlap; less for many runs."""
_MAX_NAME = 21
"""Longer names are shortened in the figure; the cards have them whole."""


_LETTER = 6.2
"""About the width of a letter of a label."""
_LEGEND_LINE = 18.0
_TICK_LINE = 12.0
"""The height of a label at the axis: the threshold takes the place of one that is nearer."""


class _Plane(NamedTuple):
    """The area of the points, in pixels: the size of the figure without a legend, and the margins around the area."""

    levels: tuple[int, ...]
    width: float = 920
    height: float = 430
    left: float = 44
    margin_right: float = 220
    top: float = 16
    margin_bottom: float = 44

    @property
    def right(self) -> float:
        return self.width - self.margin_right

    @property
    def bottom(self) -> float:
        return self.height - self.margin_bottom

    @property
    def step(self) -> float:
        return (self.right - self.left) / len(self.levels)

    def x(self, level: int) -> float:
        return self.left + self.step * (self.levels.index(level) + 0.5)

    def y(self, rate: float) -> float:
        return self.top + (self.bottom - self.top) * (1 - rate)


def curve_svg(section: Section, subject: int | None = None) -> Markup:
    """Return one line for each run with its intervals; floor, ceiling and published numbers are less prominent."""
    if not section.levels:
        return join()
    if not _has_numbers(section):
        return element("p", "No image has a verdict yet.", class_="quiet")
    plane = _Plane(section.levels)
    tones = run_tones(section.rows, subject)
    return _drawn(section, plane, tones, _labels(section, plane, tones), plane.height, "curve")


def curves_html(section: Section, subject: int | None = None) -> Markup:
    """Return the curve twice: as it is, and for narrow screens with a legend below. The style of pages shows one."""
    if not section.levels or not _has_numbers(section):
        return curve_svg(section, subject)
    plane = _narrow_plane(section)
    tones = run_tones(section.rows, subject)
    legend = _legend(section, plane, tones)
    height = plane.height + len(legend) * _LEGEND_LINE + 4
    return join(curve_svg(section, subject), _drawn(section, plane, tones, legend, height, "narrow-curve"))


def _has_numbers(section: Section) -> bool:
    return bool(section.published) or any(row.summary.overall.scored for row in section.rows)


def _drawn(
    section: Section, plane: _Plane, tones: Sequence[str], labels: Sequence[Markup], height: float, name: str
) -> Markup:
    lines = [_run_line(row, number, tones[number], section, plane) for number, row in enumerate(section.rows)]
    return element(
        "svg",
        element("title", _title(section)),
        element("desc", _description(section)),
        _axes(section, plane),
        "" if section.epsilon is None else _threshold(section.epsilon, plane),
        (_published_line(row.rates, row.name, plane) for row in _published_shown(section)),
        reversed(lines),  # the first run lies on top
        "" if section.epsilon is None else _threshold_label(section.epsilon, plane),
        labels,
        viewBox=f"0 0 {plane.width:g} {height:g}",
        role="img",
        class_=name,
    )


def _narrow_plane(section: Section) -> _Plane:
    """Return the area for a narrow screen, with room for slanted names of levels where they are long."""
    plane = _Plane(section.levels, width=360, height=280, left=46, margin_right=6, top=12)
    return plane._replace(margin_bottom=96, height=320) if _is_slanted(section, plane) else plane


def _is_slanted(section: Section, plane: _Plane) -> bool:
    return max(len(level_head(section.suite, level)) for level in plane.levels) * _LETTER > plane.step


def _title(section: Section) -> str:
    if section.suite.has_scores:
        return "Mean score of images, by level"
    return f"Rate of images that pass, by {section.suite.level}"


def _description(section: Section) -> str:
    suite = section.suite
    runs = (
        f"{row.name}: "
        + ", ".join(
            f"{level_name(suite, level)} {format_value(rate.value, suite.scale)}"
            for level, rate in row.summary.levels.items()
        )
        for row in section.rows
    )
    return "; ".join(runs)


def _axes(section: Section, plane: _Plane) -> Markup:
    parts = []
    for tick in range(0, 101, 20):
        y = plane.y(tick / 100)
        parts.append(element("line", x1=plane.left, x2=plane.right, y1=y, y2=y, class_="grid" if tick else "axis"))
        if section.epsilon is None or abs(plane.y(section.epsilon) - y) > _TICK_LINE:
            label = axis_label(tick / 100, section.suite)
            parts.append(element("text", label, x=plane.left - 8, y=y + 4, class_="tick end"))
    slanted, y = _is_slanted(section, plane), plane.bottom + 18
    for level in plane.levels:
        x, head = plane.x(level), level_head(section.suite, level)
        turn = {"transform": f"rotate(-40 {x:.1f} {y:.1f})"} if slanted else {}
        parts.append(element("text", head, x=x, y=y, class_="tick end" if slanted else "tick middle", **turn))
    middle = (plane.left + plane.right) / 2
    parts.append(element("text", level_word(section.suite), x=middle, y=y + 19, class_="tick middle name"))
    return element("g", parts, class_="axes")


def _threshold(epsilon: float, plane: _Plane) -> Markup:
    y = plane.y(epsilon)
    return element("line", x1=plane.left, x2=plane.right, y1=y, y2=y, class_="threshold")


def _threshold_label(epsilon: float, plane: _Plane) -> Markup:
    """Return the label of the threshold, among those of the axis."""
    return element("text", f"ε = {epsilon_text(epsilon)}", x=plane.left - 8, y=plane.y(epsilon) + 4, class_="tick end")


def _run_line(row: RunRow, number: int, tone: str, section: Section, plane: _Plane) -> Markup:
    runs = len(section.rows)
    shift = min(_DODGE, 0.6 * plane.step / runs) * (number - (runs - 1) / 2)
    points = {
        level: (plane.x(level) + shift, rate) for level, rate in row.summary.levels.items() if rate.value is not None
    }
    held = row.summary.generalizability
    marks: list[Markup] = []
    for level, (x, rate) in points.items():
        marks.extend(_point(x, rate, plane, f"{row.name}, {level_name(section.suite, level)}", section.suite))
        if held is not None and held.value == level and rate.value is not None:
            marks.append(element("circle", cx=x, cy=plane.y(rate.value), r=8, class_="held"))
    return element(
        "g",
        _strokes({level: (x, rate.value or 0.0) for level, (x, rate) in points.items()}, plane),
        marks,
        class_=f"run {tone}",
    )


def _point(x: float, rate: Rate, plane: _Plane, what: str, suite: Benchmark) -> Iterator[Markup]:
    if rate.value is None:
        return
    passed = f"{rate.passed} of {rate.scored} scored" if unit_of(suite) else f"{rate.scored} scored"
    value = f"{format_value(rate.value, suite.scale)}{unit_of(suite)}"
    title = f"{what}: {value}, {passed}, {rate.expected} expected"
    if rate.interval is not None:
        low, high = plane.y(rate.interval.low), plane.y(rate.interval.high)
        yield element("path", d=f"M{x:.1f} {low:.1f}V{high:.1f}", class_="whisker")
        title += f"; interval {format_interval(rate.interval, suite.scale)}"
    kind = "point" if rate.coverage >= 1 else "point partial"
    yield element("circle", element("title", title), cx=x, cy=plane.y(rate.value), r=3.5, class_=kind)


def _strokes(points: Mapping[int, tuple[float, float]], plane: _Plane) -> list[Markup]:
    """Return a line through the points, broken where a level has no number."""
    drawn, command = "", "M"
    for level in plane.levels:
        if level in points:
            x, rate = points[level]
            drawn += f"{command}{x:.1f} {plane.y(rate):.1f}"
        command = "L" if level in points else "M"
    return [element("path", d=drawn, class_="stroke")] if drawn else []


def _published_shown(section: Section) -> list[PublishedRow]:
    """Return the published numbers by the first of their judges; lines of the same models by another would crowd it."""
    return [row for row in section.published if row.rates and row.judge == section.published[0].judge]


def _published_line(rates: Mapping[int, float], name: str, plane: _Plane) -> Markup:
    points = {level: (plane.x(level), rate) for level, rate in rates.items()}
    return element("g", element("title", f"{name} (published)"), _strokes(points, plane), class_="run published")


def _labels(section: Section, plane: _Plane, tones: Sequence[str]) -> list[Markup]:
    """Return a name at the end of each line, moved apart where they would overlap."""
    names = short_names([row.name for row in section.rows], _MAX_NAME)
    ends = [
        LineLabel(plane.y(end), _label_text(name, row, section), tone)
        for name, tone, row in zip(names, tones, section.rows, strict=True)
        if (end := _end((level, rate.value) for level, rate in row.summary.levels.items())) is not None
    ]
    ends += [
        LineLabel(plane.y(end), shorten(row.name, _MAX_NAME), "published")
        for row in _published_shown(section)
        if (end := _end(row.rates.items())) is not None
    ]
    return draw_line_labels(ends, plane.right, plane.top, plane.height - 6)


def _legend(section: Section, plane: _Plane, tones: Sequence[str]) -> list[Markup]:
    """Return a line for each run below the figure, and one for published numbers."""
    most = int((plane.width - 30) / _LETTER)
    names = short_names([row.name for row in section.rows], most - 8)
    entries = [
        (_label_text(name, row, section), tone) for name, tone, row in zip(names, tones, section.rows, strict=True)
    ]
    published = len(_published_shown(section))
    if published:
        entries.append((f"published numbers of {count_noun(published, 'model')}", "published"))
    return [
        element(
            "g",
            element("path", d=f"M4 {y - 4:g}H20", class_="stroke"),
            element("text", text, x=26, y=y),
            class_=f"key {tone}",
        )
        for (text, tone), y in zip(entries, _legend_heights(plane, len(entries)), strict=True)
    ]


def _legend_heights(plane: _Plane, count: int) -> list[float]:
    return [plane.height + 12 + _LEGEND_LINE * number for number in range(count)]


def _label_text(name: str, row: RunRow, section: Section) -> str:
    held = generalizability_text(row.summary)
    return name if section.epsilon is None or held == NOTHING else f"{name} · G {held}"


def _end(numbers: Iterable[tuple[int, float | None]]) -> float | None:
    """Return the last number of a line."""
    known: Sequence[float] = [value for _, value in numbers if value is not None]
    return known[-1] if known else None
