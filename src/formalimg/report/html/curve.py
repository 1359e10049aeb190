"""The rates over the levels, as an SVG figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from formalimg.report.comparison import PublishedRow, Row, Section
from formalimg.report.figures import NOTHING, cut, epsilon_text, interval_text, level_held, percent
from formalimg.report.html.labels import spread
from formalimg.report.html.markup import Markup, element, join
from formalimg.report.html.tones import tones_of
from formalimg.stats import Rate

_WIDTH, _HEIGHT = 920, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 220, 16, 44
_DODGE = 5.0
"""Points of several runs at one level stand so far apart, so that their intervals can be told."""
_LINE = 15.0
"""Labels stand at least so far apart."""
_LONGEST = 30
"""Longer names are cut in the figure; the cards have them whole."""


class _Scale(NamedTuple):
    levels: tuple[int, ...]

    def x(self, level: int) -> float:
        inner = _WIDTH - _LEFT - _RIGHT
        return _LEFT + inner * (self.levels.index(level) + 0.5) / len(self.levels)

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
    scale = _Scale(section.levels)
    tones = tones_of(section.rows)
    lines = [_run_line(row, number, tones[number], section, scale) for number, row in enumerate(section.rows)]
    return element(
        "svg",
        element("title", f"Rate of pictures that pass, by {section.suite.level}"),
        element("desc", _in_words(section)),
        _axes(section, scale),
        [] if section.epsilon is None else _threshold(section.epsilon, scale),
        (_published_line(row.rates, row.name, scale) for row in _drawn(section)),
        reversed(lines),  # the first run lies on top
        _labels(section, scale),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="curve",
    )


def _in_words(section: Section) -> str:
    told = (
        f"{row.name}: "
        + ", ".join(
            f"{section.suite.level} {level} {percent(rate.value)}" for level, rate in row.summary.levels.items()
        )
        for row in section.rows
    )
    return "; ".join(told)


def _axes(section: Section, scale: _Scale) -> Markup:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for tick in range(0, 101, 20):
        y = scale.y(tick / 100)
        parts.append(element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid" if tick else "axis"))
        parts.append(element("text", f"{tick} %", x=_LEFT - 8, y=y + 4, class_="tick end"))
    parts += [
        element("text", str(level), x=scale.x(level), y=bottom + 18, class_="tick middle") for level in scale.levels
    ]
    parts.append(element("text", section.suite.level, x=(_LEFT + right) / 2, y=bottom + 37, class_="tick middle name"))
    return element("g", parts, class_="axes")


def _threshold(epsilon: float, scale: _Scale) -> list[Markup]:
    y = scale.y(epsilon)
    return [
        element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="threshold"),
        element("text", f"ε = {epsilon_text(epsilon)}", x=_LEFT + 4, y=y - 5, class_="tick"),
    ]


def _run_line(row: Row, number: int, tone: str, section: Section, scale: _Scale) -> Markup:
    shift = _DODGE * (number - (len(section.rows) - 1) / 2)
    points = {
        level: (scale.x(level) + shift, rate) for level, rate in row.summary.levels.items() if rate.value is not None
    }
    held = row.summary.generalizability
    marks: list[Markup] = []
    for level, (x, rate) in points.items():
        marks.extend(_point(x, rate, scale, f"{row.name}, {section.suite.level} {level}"))
        if held is not None and held.value == level and rate.value is not None:
            marks.append(element("circle", cx=x, cy=scale.y(rate.value), r=8, class_="held"))
    return element(
        "g",
        _strokes({level: (x, rate.value or 0.0) for level, (x, rate) in points.items()}, scale),
        marks,
        class_=f"run {tone}",
    )


def _point(x: float, rate: Rate, scale: _Scale, what: str) -> Iterator[Markup]:
    if rate.value is None:
        return
    told = f"{what}: {percent(rate.value)} %, {rate.passed} of {rate.scored} scored, {rate.expected} expected"
    if rate.interval is not None:
        low, high = scale.y(rate.interval.low), scale.y(rate.interval.high)
        yield element("path", d=f"M{x:.1f} {low:.1f}V{high:.1f}", class_="whisker")
        told += f"; interval {interval_text(rate.interval)}"
    kind = "point" if rate.coverage >= 1 else "point partial"
    yield element("circle", element("title", told), cx=x, cy=scale.y(rate.value), r=3.5, class_=kind)


def _strokes(points: Mapping[int, tuple[float, float]], scale: _Scale) -> list[Markup]:
    """A line through the points, broken where a level has no figure."""
    drawn, command = "", "M"
    for level in scale.levels:
        if level in points:
            x, rate = points[level]
            drawn += f"{command}{x:.1f} {scale.y(rate):.1f}"
        command = "L" if level in points else "M"
    return [element("path", d=drawn, class_="stroke")] if drawn else []


def _drawn(section: Section) -> list[PublishedRow]:
    """The published figures by the first of their judges: lines of the same models by another would only crowd it."""
    return [row for row in section.published if row.judge == section.published[0].judge]


def _published_line(rates: Mapping[int, float], name: str, scale: _Scale) -> Markup:
    points = {level: (scale.x(level), rate) for level, rate in rates.items()}
    return element("g", element("title", f"{name} (published)"), _strokes(points, scale), class_="run published")


def _labels(section: Section, scale: _Scale) -> list[Markup]:
    """A name at the end of each line, moved apart where they would run into each other."""
    ends = [
        _Label(scale.y(end), _named(row, section), tone)
        for tone, row in zip(tones_of(section.rows), section.rows, strict=True)
        if (end := _end((level, rate.value) for level, rate in row.summary.levels.items())) is not None
    ]
    ends += [
        _Label(scale.y(end), row.name, "published")
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
            element("text", cut(label.words, _LONGEST), x=x + 12, y=height + 4),
            class_=f"label {label.tone}",
        )
        for label, height in zip(ends, heights, strict=True)
    ]


def _named(row: Row, section: Section) -> str:
    held = level_held(row.summary.generalizability)
    name = cut(row.name, _LONGEST)
    return name if section.epsilon is None or held == NOTHING else f"{name} · G {held}"


def _end(figures: Iterable[tuple[int, float | None]]) -> float | None:
    """The last figure of a line."""
    known: Sequence[float] = [value for _, value in figures if value is not None]
    return known[-1] if known else None
