"""The rates over the levels, as an SVG figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from formalimg.reporting.comparison import PublishedRow, Row, Section
from formalimg.reporting.figures import NOTHING, cut, epsilon_text, level_held
from formalimg.reporting.html.labels import short_names, spread
from formalimg.reporting.html.markup import Markup, element, join
from formalimg.reporting.html.tones import tones_of
from formalimg.reporting.scales import Scale, scale_of
from formalimg.reporting.words import level_head, level_name, level_word
from formalimg.stats import Rate

_WIDTH, _HEIGHT = 920, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 220, 16, 44
_DODGE = 5.0
"""Points of several runs at one level stand so far apart, so that their intervals can be told; many stand closer."""
_LINE = 15.0
"""Labels stand at least so far apart."""
_LONGEST = 21
"""Longer names are shortened in the figure; the cards have them whole."""


class _Plane(NamedTuple):
    levels: tuple[int, ...]

    @property
    def step(self) -> float:
        return (_WIDTH - _LEFT - _RIGHT) / len(self.levels)

    def x(self, level: int) -> float:
        return _LEFT + self.step * (self.levels.index(level) + 0.5)

    def y(self, rate: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - rate)


class _Label(NamedTuple):
    height: float
    words: str
    tone: str


def curve(section: Section) -> Markup:
    """One line for each run with its intervals; floor, ceiling and published figures stand back."""
    if not section.levels:
        return join()
    if not section.published and not any(row.summary.overall.scored for row in section.rows):
        return element("p", "No image has a verdict yet.", class_="quiet")
    plane = _Plane(section.levels)
    tones = tones_of(section.rows)
    lines = [_run_line(row, number, tones[number], section, plane) for number, row in enumerate(section.rows)]
    return element(
        "svg",
        element("title", _title(section)),
        element("desc", _in_words(section)),
        _axes(section, plane),
        "" if section.epsilon is None else _threshold(section.epsilon, plane),
        (_published_line(row.rates, row.name, plane) for row in _drawn(section)),
        reversed(lines),  # the first run lies on top
        "" if section.epsilon is None else _name_of_threshold(section.epsilon, plane),
        _labels(section, plane),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="curve",
    )


def _title(section: Section) -> str:
    if section.suite.kind == "counterfactual":
        return "Mean score of images, by level"
    return f"Rate of images that pass, by {section.suite.level}"


def _in_words(section: Section) -> str:
    scale = scale_of(section.suite)
    told = (
        f"{row.name}: "
        + ", ".join(
            f"{level_name(section.suite, level)} {scale.text(rate.value)}" for level, rate in row.summary.levels.items()
        )
        for row in section.rows
    )
    return "; ".join(told)


def _axes(section: Section, plane: _Plane) -> Markup:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for tick in range(0, 101, 20):
        y = plane.y(tick / 100)
        parts.append(element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid" if tick else "axis"))
        parts.append(element("text", scale_of(section.suite).tick(tick / 100), x=_LEFT - 8, y=y + 4, class_="tick end"))
    parts += [
        element("text", level_head(section.suite, level), x=plane.x(level), y=bottom + 18, class_="tick middle")
        for level in plane.levels
    ]
    parts.append(
        element("text", level_word(section.suite), x=(_LEFT + right) / 2, y=bottom + 37, class_="tick middle name")
    )
    return element("g", parts, class_="axes")


def _threshold(epsilon: float, plane: _Plane) -> Markup:
    y = plane.y(epsilon)
    return element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="threshold")


def _name_of_threshold(epsilon: float, plane: _Plane) -> Markup:
    """Drawn last: an interval of the first level would strike it out."""
    return element("text", f"ε = {epsilon_text(epsilon)}", x=_LEFT + 4, y=plane.y(epsilon) - 5, class_="tick")


def _run_line(row: Row, number: int, tone: str, section: Section, plane: _Plane) -> Markup:
    runs = len(section.rows)
    shift = min(_DODGE, 0.6 * plane.step / runs) * (number - (runs - 1) / 2)
    points = {
        level: (plane.x(level) + shift, rate) for level, rate in row.summary.levels.items() if rate.value is not None
    }
    held = row.summary.generalizability
    marks: list[Markup] = []
    for level, (x, rate) in points.items():
        marks.extend(_point(x, rate, plane, f"{row.name}, {level_name(section.suite, level)}", scale_of(section.suite)))
        if held is not None and held.value == level and rate.value is not None:
            marks.append(element("circle", cx=x, cy=plane.y(rate.value), r=8, class_="held"))
    return element(
        "g",
        _strokes({level: (x, rate.value or 0.0) for level, (x, rate) in points.items()}, plane),
        marks,
        class_=f"run {tone}",
    )


def _point(x: float, rate: Rate, plane: _Plane, what: str, scale: Scale) -> Iterator[Markup]:
    if rate.value is None:
        return
    passed = f"{rate.passed} of {rate.scored} scored" if scale.unit else f"{rate.scored} scored"
    told = f"{what}: {scale.text(rate.value)}{scale.unit}, {passed}, {rate.expected} expected"
    if rate.interval is not None:
        low, high = plane.y(rate.interval.low), plane.y(rate.interval.high)
        yield element("path", d=f"M{x:.1f} {low:.1f}V{high:.1f}", class_="whisker")
        told += f"; interval {scale.interval(rate.interval)}"
    kind = "point" if rate.coverage >= 1 else "point partial"
    yield element("circle", element("title", told), cx=x, cy=plane.y(rate.value), r=3.5, class_=kind)


def _strokes(points: Mapping[int, tuple[float, float]], plane: _Plane) -> list[Markup]:
    """A line through the points, broken where a level has no figure."""
    drawn, command = "", "M"
    for level in plane.levels:
        if level in points:
            x, rate = points[level]
            drawn += f"{command}{x:.1f} {plane.y(rate):.1f}"
        command = "L" if level in points else "M"
    return [element("path", d=drawn, class_="stroke")] if drawn else []


def _drawn(section: Section) -> list[PublishedRow]:
    """The published figures by the first of their judges: lines of the same models by another would only crowd it."""
    return [row for row in section.published if row.judge == section.published[0].judge]


def _published_line(rates: Mapping[int, float], name: str, plane: _Plane) -> Markup:
    points = {level: (plane.x(level), rate) for level, rate in rates.items()}
    return element("g", element("title", f"{name} (published)"), _strokes(points, plane), class_="run published")


def _labels(section: Section, plane: _Plane) -> list[Markup]:
    """A name at the end of each line, moved apart where they would run into each other."""
    names = short_names([row.name for row in section.rows], _LONGEST)
    ends = [
        _Label(plane.y(end), _named(name, row, section), tone)
        for name, tone, row in zip(names, tones_of(section.rows), section.rows, strict=True)
        if (end := _end((level, rate.value) for level, rate in row.summary.levels.items())) is not None
    ]
    ends += [
        _Label(plane.y(end), cut(row.name, _LONGEST), "published")
        for row in _drawn(section)
        if (end := _end(row.rates.items())) is not None
    ]
    ends.sort(key=lambda label: label.height)
    heights = spread([label.height for label in ends], _LINE, _TOP, _HEIGHT - 6)
    x = _WIDTH - _RIGHT
    return [
        element(
            "g",
            element("path", d=f"M{x - 6} {label.height:.1f}L{x + 8} {height:.1f}", class_="leader"),
            element("text", label.words, x=x + 12, y=height + 4),
            class_=f"label {label.tone}",
        )
        for label, height in zip(ends, heights, strict=True)
    ]


def _named(name: str, row: Row, section: Section) -> str:
    held = level_held(row.summary.generalizability)
    return name if section.epsilon is None or held == NOTHING else f"{name} · G {held}"


def _end(figures: Iterable[tuple[int, float | None]]) -> float | None:
    """The last figure of a line."""
    known: Sequence[float] = [value for _, value in figures if value is not None]
    return known[-1] if known else None
