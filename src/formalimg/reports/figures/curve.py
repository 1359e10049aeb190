"""Line charts of report pages as SVG: rates or scores over the levels, and differences from a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from formalimg.reports.comparison_model import PublishedRow, RunRow, Section, run_tones
from formalimg.reports.figures.svg import Markup, element, join, short_names
from formalimg.reports.paired_tables import DETAILS
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
    shorten_text,
    unit_of,
)
from formalimg.reports.tables.model import ColumnType, Number
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark

_DODGE, _DIFFERENCE_DODGE = 5.0, 7.0  # Between points of several runs at one level; less for many runs
_LABEL_LINE = 15.0  # The minimal distance between labels at the ends of lines
_MAX_NAME = 21  # Longer names are shortened in the figure; the cards have them whole
_LETTER = 6.2  # About the width of a letter of a label
_LEGEND_LINE = 18.0
_TICK_LINE = 12.0  # The height of a label at the axis: the threshold takes the place of one that is nearer


class _Plane(NamedTuple):
    """The plot area of a line chart in pixels: the size of the figure without its legend, and the margins."""

    levels: tuple[int, ...]
    width: float = 920
    height: float = 430
    left: float = 44
    margin_right: float = 220
    top: float = 16
    margin_bottom: float = 44
    low: float = 0
    high: float = 1

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

    def y(self, value: float) -> float:
        return self.top + (self.bottom - self.top) * (self.high - value) / (self.high - self.low)

    def shift(self, number: int, runs: int, dodge: float) -> float:
        return min(dodge, 0.6 * self.step / runs) * (number - (runs - 1) / 2)


def curve_svg(section: Section, subject: int | None = None) -> Markup:
    """Draw a curve with intervals for each run, with floor, ceiling and published numbers less prominent."""
    if not section.levels:
        return join()
    if not _has_numbers(section):
        return element("p", "No image has a verdict yet.", class_="quiet")
    plane = _Plane(section.levels)
    tones = run_tones(section.rows, subject)
    return _draw_curve(section, plane, tones, _line_labels(section, plane, tones), plane.height, "curve")


def curves_html(section: Section, subject: int | None = None) -> Markup:
    """Draw the curve twice, with line labels and with a legend for narrow screens; page styles show one of them."""
    if not section.levels or not _has_numbers(section):
        return curve_svg(section, subject)
    plane = _Plane(section.levels, width=360, height=280, left=46, margin_right=6, top=12)
    if _is_slanted(section, plane):  # with room for slanted names of levels
        plane = plane._replace(margin_bottom=96, height=320)
    tones = run_tones(section.rows, subject)
    legend = _draw_legend(section, plane, tones)
    height = plane.height + len(legend) * _LEGEND_LINE + 4
    return join(curve_svg(section, subject), _draw_curve(section, plane, tones, legend, height, "narrow-curve"))


def _has_numbers(section: Section) -> bool:
    return bool(section.published) or any(row.summary.overall.scored for row in section.rows)


def _draw_curve(
    section: Section, plane: _Plane, tones: Sequence[str], labels: Sequence[Markup], height: float, name: str
) -> Markup:
    suite = section.suite
    title = "Mean score of images, by level" if suite.has_scores else f"Rate of images that pass, by {suite.level}"
    description = "; ".join(
        f"{row.name}: "
        + ", ".join(
            f"{level_name(suite, level)} {format_value(rate.value, suite.scale)}"
            for level, rate in row.summary.levels.items()
        )
        for row in section.rows
    )
    threshold, threshold_label = "", ""
    if section.epsilon is not None:
        y = plane.y(section.epsilon)
        threshold = element("line", x1=plane.left, x2=plane.right, y1=y, y2=y, class_="threshold")
        text = f"ε = {epsilon_text(section.epsilon)}"
        threshold_label = element("text", text, x=plane.left - 8, y=y + 4, class_="tick end")
    lines = [_run_line(row, number, tones[number], section, plane) for number, row in enumerate(section.rows)]
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        _draw_axes(section, plane),
        threshold,
        (
            element(
                "g",
                element("title", f"{row.name} (published)"),
                _draw_strokes({level: (plane.x(level), rate) for level, rate in row.rates.items()}, plane),
                class_="run published",
            )
            for row in _rows_of_first_judge(section)
        ),
        reversed(lines),  # the first run lies on top
        threshold_label,
        labels,
        viewBox=f"0 0 {plane.width:g} {height:g}",
        role="img",
        class_=name,
    )


def _is_slanted(section: Section, plane: _Plane) -> bool:
    return max(len(level_head(section.suite, level)) for level in plane.levels) * _LETTER > plane.step


def _draw_axes(section: Section, plane: _Plane) -> Markup:
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


def _run_line(row: RunRow, number: int, tone: str, section: Section, plane: _Plane) -> Markup:
    shift, suite = plane.shift(number, len(section.rows), _DODGE), section.suite
    points: dict[int, tuple[float, float]] = {}
    marks: list[Markup] = []
    general, unit = row.summary.generalizability, unit_of(suite)
    for level, rate in row.summary.levels.items():
        if rate.value is None:
            continue
        x, _ = points[level] = plane.x(level) + shift, rate.value
        scored = f"{rate.passed} of {rate.scored} scored" if unit else f"{rate.scored} scored"
        value = f"{format_value(rate.value, suite.scale)}{unit}"
        title = f"{row.name}, {level_name(suite, level)}: {value}, {scored}, {rate.expected} expected"
        if rate.interval is not None:
            title += f"; interval {format_interval(rate.interval, suite.scale)}"
        kind = "point" if rate.coverage >= 1 else "point partial"
        marks += _draw_point(x, rate.value, rate.interval, title, kind, plane)
        if general is not None and general.value == level:
            marks.append(element("circle", cx=x, cy=plane.y(rate.value), r=8, class_="held"))
    return element("g", _draw_strokes(points, plane), marks, class_=f"run {tone}")


def _draw_point(
    x: float, value: float, interval: Interval | None, title: str, kind: str, plane: _Plane
) -> Iterator[Markup]:
    if interval is not None:
        low, high = (min(max(plane.y(end), plane.top), plane.bottom) for end in interval)
        yield element("path", d=f"M{x:.1f} {low:.1f}V{high:.1f}", class_="whisker")
    yield element("circle", element("title", title), cx=x, cy=plane.y(value), r=3.5, class_=kind)


def _draw_strokes(points: Mapping[int, tuple[float, float]], plane: _Plane) -> list[Markup]:
    """Return a line through the points, broken at levels without a number."""
    path, command = "", "M"
    for level in plane.levels:
        if level in points:
            x, value = points[level]
            path += f"{command}{x:.1f} {plane.y(value):.1f}"
        command = "L" if level in points else "M"
    return [element("path", d=path, class_="stroke")] if path else []


def _rows_of_first_judge(section: Section) -> list[PublishedRow]:
    """Return the published numbers by the first judge only, so that lines for other judges do not crowd the curve."""
    return [row for row in section.published if row.rates and row.judge == section.published[0].judge]


def _line_labels(section: Section, plane: _Plane, tones: Sequence[str]) -> list[Markup]:
    """Return a name label for the end of each line, with overlapping labels moved apart."""
    names = short_names([row.name for row in section.rows], _MAX_NAME)
    lines: list[tuple[str, str, Iterable[float | None]]] = [
        (_label_text(name, row, section), tone, (rate.value for rate in row.summary.levels.values()))
        for name, tone, row in zip(names, tones, section.rows, strict=True)
    ]
    lines += [
        (shorten_text(row.name, _MAX_NAME), "published", row.rates.values()) for row in _rows_of_first_judge(section)
    ]
    return _draw_line_labels(
        [
            (plane.y(numbers[-1]), text, tone)
            for text, tone, values in lines
            if (numbers := [value for value in values if value is not None])
        ],
        plane,
    )


def _draw_line_labels(labels: Sequence[tuple[float, str, str]], plane: _Plane) -> list[Markup]:
    """Return labels at the heights where lines end, by text and tone, with overlapping labels moved apart."""
    ends = sorted(labels, key=lambda label: label[0])
    heights = spread_labels([height for height, *_ in ends], _LABEL_LINE, plane.top, plane.height - 6)
    x = plane.right
    return [
        element(
            "g",
            element("path", d=f"M{x - 6:g} {end:.1f}L{x + 8:g} {height:.1f}", class_="leader"),
            element("text", text, x=x + 12, y=height + 4),
            class_=f"label {tone}",
        )
        for (end, text, tone), height in zip(ends, heights, strict=True)
    ]


def spread_labels(targets: Sequence[float], apart: float, top: float, bottom: float) -> list[float]:
    """Return heights close to the sorted targets, at least `apart` from each other.

    Heights that are too close are moved as a block around their common middle, until no two blocks overlap. If there is
    not enough room between top and bottom, the labels are closer together.
    """
    apart = min(apart, (bottom - top) / max(1, len(targets) - 1))

    def start(block: Sequence[float]) -> float:
        extent = apart * (len(block) - 1)
        return min(max(sum(block) / len(block) - extent / 2, top), bottom - extent)

    blocks: list[list[float]] = []  # of targets
    for height in targets:
        blocks.append([height])
        while len(blocks) > 1 and start(blocks[-1]) < start(blocks[-2]) + apart * len(blocks[-2]):
            later = blocks.pop()
            blocks[-1].extend(later)
    return [start(block) + number * apart for block in blocks for number in range(len(block))]


def _draw_legend(section: Section, plane: _Plane, tones: Sequence[str]) -> list[Markup]:
    """Return the legend below the figure: an entry for each run, and one for published numbers."""
    max_letters = int((plane.width - 30) / _LETTER)
    names = short_names([row.name for row in section.rows], max_letters - 8)
    entries = [
        (_label_text(name, row, section), tone) for name, tone, row in zip(names, tones, section.rows, strict=True)
    ]
    published = len(_rows_of_first_judge(section))
    if published:
        entries.append((f"published numbers of {count_noun(published, 'model')}", "published"))
    parts = []
    for number, (text, tone) in enumerate(entries):
        y = plane.height + 12 + _LEGEND_LINE * number
        line = element("path", d=f"M4 {y - 4:g}H20", class_="stroke")
        parts.append(element("g", line, element("text", text, x=26, y=y), class_=f"key {tone}"))
    return parts


def _label_text(name: str, row: RunRow, section: Section) -> str:
    general = generalizability_text(row.summary)
    return name if section.epsilon is None or general == NOTHING else f"{name} · G {general}"


# --- differences to a baseline


def differences_svg(section: Section, baseline: str) -> Markup:
    """Draw the differences of each run from the baseline by level, or nothing if none are known."""
    runs = _read_differences(section, baseline)
    if not runs:
        return join()
    numbers = [number for by_level in runs.values() for number in by_level.values()]
    largest = max(abs(end) for number in numbers for end in (number.interval or (number.value or 0.0,)))
    reach = next((end for end in (0.1, 0.2, 0.5, 1.0) if largest <= end), ceil(largest))
    levels = tuple(sorted({level for by_level in runs.values() for level in by_level}))
    plane = _Plane(levels, height=316, left=52, top=30, low=-reach, high=reach)
    tones = dict(zip([row.name for row in section.rows], run_tones(section.rows), strict=True))
    lines, labels = [], []
    for number, ((run, by_level), name) in enumerate(zip(runs.items(), short_names([*runs], _MAX_NAME), strict=True)):
        tone = tones.get(run, "bound")
        shift = plane.shift(number, len(runs), _DIFFERENCE_DODGE)
        lines.append(_difference_line(f"{run} against {baseline}", by_level, tone, shift, plane, section.suite))
        labels.append((plane.y(by_level[max(by_level)].value or 0.0), name, tone))
    return element(
        "svg",
        element("title", f"Difference to {baseline}, by level"),
        _difference_axes(plane, section.suite, baseline),
        reversed(lines),  # the first run lies on top
        _draw_line_labels(labels, plane),
        viewBox=f"0 0 {plane.width:g} {plane.height:g}",
        role="img",
        class_="curve differences-chart",
    )


def _read_differences(section: Section, baseline: str) -> dict[str, dict[int, Number]]:
    """Return the differences by run and level from the table of paired differences, leaving out its bands."""
    levels = {level_name(section.suite, level): level for level in section.levels}
    by_run: dict[str, dict[int, Number]] = {}
    for row in (row for table in section.tables if table.name == DETAILS for row in table.rows):
        run, against, name, number, *_ = row.cells
        if against == baseline and name in levels and isinstance(number, Number) and number.value is not None:
            by_run.setdefault(str(run), {})[levels[str(name)]] = number
    return by_run


def _difference_axes(plane: _Plane, suite: Benchmark, baseline: str) -> Markup:
    parts = []
    for share in (-1.0, -0.5, 0.0, 0.5, 1.0):
        value = share * plane.high
        y = plane.y(value)
        parts.append(element("line", x1=plane.left, x2=plane.right, y1=y, y2=y, class_="grid" if share else "axis"))
        text = (f"{value:+.2g}" if suite.has_scores else f"{100 * value:+g}").replace("-", "−") if share else "0"
        parts.append(element("text", text, x=plane.left - 8, y=y + 4, class_="tick end"))
    for level in plane.levels:
        x, y = plane.x(level), plane.bottom + 18
        parts.append(element("text", level_head(suite, level), x=x, y=y, class_="tick middle"))
    middle = (plane.left + plane.right) / 2
    parts.append(element("text", level_word(suite), x=middle, y=plane.bottom + 37, class_="tick middle name"))
    unit = "" if suite.has_scores else " in percentage points"
    caption = f"difference to {baseline}{unit}: above 0 is better"
    parts.append(element("text", caption, x=plane.left, y=plane.top - 10, class_="tick"))
    return element("g", parts, class_="axes")


def _difference_line(
    name: str, by_level: Mapping[int, Number], tone: str, shift: float, plane: _Plane, suite: Benchmark
) -> Markup:
    scale: ColumnType = "difference" if suite.has_scores else "points"
    marks: list[Markup] = []
    points = {level: (plane.x(level) + shift, by_level[level].value or 0.0) for level in sorted(by_level)}
    for level, (x, value) in points.items():
        interval = by_level[level].interval
        title = f"{name}, {level_name(suite, level)}: {format_value(value, scale)}"
        title += "" if interval is None else f", interval {format_interval(interval, scale)}"
        marks += _draw_point(x, value, interval, title, "point", plane)
    return element("g", _draw_strokes(points, plane), marks, class_=f"run {tone}")
