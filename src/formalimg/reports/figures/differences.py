"""Paired differences by level as SVG: how much higher each run is than the baseline, with intervals around zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from formalimg.reports.comparison_model import Section
from formalimg.reports.figures.series import LineLabel, draw_line_labels, run_tones
from formalimg.reports.figures.svg import Markup, element, join, short_names
from formalimg.reports.paired_tables import DETAILS
from formalimg.reports.tables.format import format_interval, format_value, level_head, level_name, level_word
from formalimg.reports.tables.model import ColumnType, Number
from formalimg.types import Benchmark

_WIDTH, _HEIGHT = 920, 316
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 220, 30, 44
_DODGE, _MAX_NAME = 7.0, 21


class _Differences(NamedTuple):
    """The differences of one run to the baseline, by level, in the colour that the run has in all figures."""

    run: str
    tone: str
    levels: Mapping[int, Number]


class _DifferencePlane(NamedTuple):
    levels: tuple[int, ...]
    reach: float

    @property
    def step(self) -> float:
        return (_WIDTH - _LEFT - _RIGHT) / len(self.levels)

    def x(self, level: int) -> float:
        return _LEFT + self.step * (self.levels.index(level) + 0.5)

    def y(self, difference: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (self.reach - difference) / (2 * self.reach)


def differences_svg(section: Section, baseline: str) -> Markup:
    """Return the differences of each run to the baseline, level by level; nothing where none are known."""
    found = [one for one in _read(section, baseline) if one.levels]
    if not found:
        return join()
    numbers = [number for one in found for number in one.levels.values()]
    ends = [abs(end) for number in numbers for end in (number.interval or (number.value or 0.0,))]
    plane = _DifferencePlane(tuple(sorted({level for one in found for level in one.levels})), _reach(max(ends)))
    shown = [_run(one, number, len(found), plane, section.suite, baseline) for number, one in enumerate(found)]
    return element(
        "svg",
        element("title", f"Difference to {baseline}, by level"),
        _axes(plane, section.suite, baseline),
        reversed(shown),  # the first run lies on top
        _labels(found, plane),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="curve differences-chart",
    )


def _read(section: Section, baseline: str) -> list[_Differences]:
    """Return the differences by level from the table of them, which has the bands as well."""
    tables = [table for table in section.tables if table.name == DETAILS]
    names = {level_name(section.suite, level): level for level in section.levels}
    found: dict[str, dict[int, Number]] = {}
    for row in (row for table in tables for row in table.rows):
        run, against, name, number, *_ = row.cells
        if against == baseline and name in names and isinstance(number, Number) and number.value is not None:
            found.setdefault(str(run), {})[names[str(name)]] = number
    tones = dict(zip([row.name for row in section.rows], run_tones(section.rows), strict=True))
    return [_Differences(run, tones.get(run, "bound"), levels) for run, levels in found.items()]


def _reach(largest: float) -> float:
    """Return how far the axis goes to both sides: to a round number."""
    return next((end for end in (0.1, 0.2, 0.5, 1.0) if largest <= end), ceil(largest))


def _axes(plane: _DifferencePlane, suite: Benchmark, baseline: str) -> Markup:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for share in (-1.0, -0.5, 0.0, 0.5, 1.0):
        value = share * plane.reach
        y = plane.y(value)
        parts.append(element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid" if share else "axis"))
        text = f"{value:+.2g}" if suite.has_scores else f"{100 * value:+g}"
        parts.append(element("text", text.replace("-", "−") if share else "0", x=_LEFT - 8, y=y + 4, class_="tick end"))
    parts += [
        element("text", level_head(suite, level), x=plane.x(level), y=bottom + 18, class_="tick middle")
        for level in plane.levels
    ]
    word = level_word(suite)
    parts.append(element("text", word, x=(_LEFT + right) / 2, y=bottom + 37, class_="tick middle name"))
    unit = "" if suite.has_scores else " in percentage points"
    what = f"difference to {baseline}{unit}: above 0 is better"
    parts.append(element("text", what, x=_LEFT, y=_TOP - 10, class_="tick"))
    return element("g", parts, class_="axes")


def _run(one: _Differences, place: int, runs: int, plane: _DifferencePlane, suite: Benchmark, baseline: str) -> Markup:
    shift = min(_DODGE, 0.6 * plane.step / runs) * (place - (runs - 1) / 2)
    scale: ColumnType = "difference" if suite.has_scores else "points"
    parts, line, command = [], "", "M"
    for level in plane.levels:
        number = one.levels.get(level)
        if number is None or number.value is None:
            command = "M"  # the line is broken where a level has no number
            continue
        x, y = plane.x(level) + shift, plane.y(number.value)
        line, command = f"{line}{command}{x:.1f} {y:.1f}", "L"
        what = f"{one.run} against {baseline}, {level_name(suite, level)}: {format_value(number.value, scale)}"
        if number.interval is not None:
            low, high = (min(max(plane.y(end), _TOP), _HEIGHT - _BOTTOM) for end in number.interval)
            parts.append(element("path", d=f"M{x:.1f} {low:.1f}V{high:.1f}", class_="whisker"))
            what += f", interval {format_interval(number.interval, scale)}"
        parts.append(element("circle", element("title", what), cx=x, cy=y, r=3.5, class_="point"))
    return element("g", element("path", d=line, class_="stroke"), parts, class_=f"run {one.tone}")


def _labels(found: Sequence[_Differences], plane: _DifferencePlane) -> list[Markup]:
    names = short_names([one.run for one in found], _MAX_NAME)
    ends = [
        LineLabel(plane.y(one.levels[max(one.levels)].value or 0.0), name, one.tone)
        for one, name in zip(found, names, strict=True)
    ]
    return draw_line_labels(ends, _WIDTH - _RIGHT, _TOP, _HEIGHT - 6)
