"""Which colour a run has throughout a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from formalimg.reporting.figures.svg import (
    QUIET,
    WIDTH,
    Markup,
    breadth,
    element,
    fitting,
    join,
    line_between,
    words_at,
)
from formalimg.reporting.model import Row, Tally
from formalimg.stats import Band, Interval, Rate
from formalimg.tables import Number

FLOOR, CEILING = "builtin/scatter", "builtin/oracle"
"""Models that mark what chance gives and what is possible: they stand back in figures."""

_TONES = 6


def tones_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """For each run the class by which the page's style colours it; the first one has the accent."""
    found: list[str] = []
    for row in rows:
        if row.manifest.model.name in (FLOOR, CEILING):
            found.append("bound")
        else:
            found.append(f"tone-{sum(tone != 'bound' for tone in found) % _TONES}")
    return tuple(found)


_COLORS = ("#1d5ba6", "#ad4c22", "#2f7247", "#76488f", "#7c610c", "#14747b")
"""The tones of the page, in its light form."""

_PALE = "#94979c"
_SHAPES = ("circle", "square", "diamond", "up", "down", "bar")

_OUTLINES = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "up": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "down": ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    "bar": ((-0.55, -1.3), (0.55, -1.3), (0.55, 1.3), (-0.55, 1.3)),
}
"""Corners around the middle, for a mark of the size 1."""


class Look(NamedTuple):
    """The colour of a run, the shape of its points (none if empty) and how its line is broken (empty if it is not)."""

    color: str
    shape: str = ""
    dash: str = ""

    @property
    def is_run(self) -> bool:
        """Is it a run, and not published figures?"""
        return self != PUBLISHED


PUBLISHED = Look("#b4b6b9")
PLAIN = Look(QUIET, "circle")


def looks_of(rows: Sequence[Row]) -> tuple[Look, ...]:
    """For each run how it looks; floor and ceiling are grey and dashed."""
    found: list[Look] = []
    for row, tone in zip(rows, tones_of(rows), strict=True):
        if tone == "bound":
            is_ceiling = row.manifest.model.name == CEILING
            found.append(Look(QUIET, dash="3.5 1.5") if is_ceiling else Look(_PALE, dash="1 1.5"))
            continue
        found.append(numbered_look(sum(not look.dash for look in found)))
    return tuple(found)


def numbered_look(number: int) -> Look:
    """The look of the first, second … of those that are told apart; from 0."""
    # From the seventh on the colours come again, with other shapes.
    shape = _SHAPES[(number + number // len(_COLORS)) % len(_SHAPES)]
    return Look(_COLORS[number % len(_COLORS)], shape)


def mark(look: Look, x: float, y: float, size: float, *, hollow: bool = False) -> Markup:
    """A point. A hollow one stands for a figure for which not all images were scored."""
    paint = {"fill": "#ffffff" if hollow else look.color, "stroke": look.color, "stroke_width": "0.8"}
    if look.shape not in _OUTLINES:
        return element("circle", cx=f"{x:.2f}", cy=f"{y:.2f}", r=f"{size:g}", **paint)
    corners = "L".join(f"{x + size * across:.2f} {y + size * down:.2f}" for across, down in _OUTLINES[look.shape])
    return element("path", d=f"M{corners}Z", **paint)


def told(sign: Markup, words: str) -> Markup:
    """A sign that says what it stands for when it is pointed at."""
    return element("g", element("title", words), sign)


class Point(NamedTuple):
    """A figure from 0 to 1 that is there, with its interval if it has one, and whether all images went into it."""

    value: float
    interval: Interval | None = None
    is_complete: bool = True


class Series(NamedTuple):
    """The figures of one run, by the names of what they are about; what is not known is not there."""

    name: str
    look: Look
    points: Mapping[str, Point]


class Chart(NamedTuple):
    """All that a figure shows.

    Attributes:
        title: what it shows.
        note: how its figures were made.
        names: what the figures are about, in order; some run has a figure for each.
        series: the runs.
        measure: what stands at the axis of the figures.
        percent: are they written in percent?
        about: what stands at the other axis; empty if the names speak for themselves.
    """

    title: str
    note: str
    names: tuple[str, ...]
    series: tuple[Series, ...]
    measure: str
    percent: bool
    about: str = ""

    def tick(self, value: float) -> str:
        """A figure at its axis."""
        return f"{100 * value:g}" if self.percent else f"{value:.1f}"

    @property
    def top(self) -> float:
        """Where the axis ends, so that all figures and their intervals are below."""
        highest = max(
            point.interval.high if point.interval else point.value
            for one in self.series
            for point in one.points.values()
        )
        return next((end for end in (0.1, 0.2, 0.5, 1.0, 1.5) if highest <= end), ceil(highest))

    @property
    def is_complete(self) -> bool:
        """Did all images go into all figures?"""
        return all(point.is_complete for one in self.series for point in one.points.values())


def known_points(points: Mapping[str, Point | None]) -> dict[str, Point]:
    """Those that are there."""
    return {name: point for name, point in points.items() if point is not None}


def point_of_rate(rate: Rate | Band) -> Point | None:
    """A rate or a mean as a point; None if it has no value."""
    return None if rate.value is None else Point(rate.value, rate.interval, rate.coverage >= 1)


def point_of_number(number: Number | None) -> Point | None:
    """Return a number of a table as a point; None if it has no value."""
    if number is None or number.value is None:
        return None
    return Point(number.value, number.interval, not number.is_incomplete)


def point_of_tally(tally: Tally) -> Point | None:
    """The share that failed as a point; None if nothing was asked."""
    return Point(tally.share) if tally.asked else None


_LINE, _SIGN, _GAP = 9.5, 14.0, 9.0
"""The height of a line, the room of a sign, and the room between two entries."""

Sign = Callable[[Look, float, float], Markup]


class Legend(NamedTuple):
    """The signs of the runs and their names, at the top of a figure, and how much room they take."""

    inside: Markup
    height: float


def legend(chart: Chart, sign: Sign) -> Legend:
    """The runs of a chart, and what hollow signs mean if there are any; nothing for one run that needs no telling."""
    shown = {one.name: one.look for one in chart.series if one.look.is_run}
    entries = [(name, sign(look, 0, 0)) for name, look in shown.items() if name]
    if any(not one.look.is_run for one in chart.series):
        entries.append(("published", stroke_sign(PUBLISHED, 0, 0)))
    if not chart.is_complete:
        entries.append(("not all scored", hollow_sign(0, 0) if sign is not block_sign else pale_sign(0, 0)))
    return legend_of(entries)


def legend_of(entries: Sequence[tuple[str, Markup]]) -> Legend:
    """Names with their signs, which stand around (0, 0), in as many lines as they need."""
    if not entries:
        return Legend(Markup(""), 3)
    x, y, parts = 2.0, 8.0, []
    for name, sign in entries:
        words = fitting(name, WIDTH - _SIGN - 6)
        room = _SIGN + breadth(words)
        if x > 2 and x + room > WIDTH - 2:
            x, y = 2.0, y + _LINE
        parts.append(element("g", sign, transform=f"translate({x + 5:.1f} {y - 2.5:.1f})"))
        parts.append(words_at(words, x + _SIGN, y))
        x += room + _GAP
    return Legend(join(parts), y + 4)


def stroke_sign(look: Look, x: float, y: float) -> Markup:
    """A piece of a run's line with its mark."""
    line = line_between((x - 5, y, x + 6, y), look.color, 1.1, look.dash)
    return join(line, mark(look, x + 0.5, y, 1.9)) if look.shape else line


def mark_sign(look: Look, x: float, y: float) -> Markup:
    """A run's mark alone."""
    return mark(look, x + 2, y, 2.1)


def block_sign(look: Look, x: float, y: float) -> Markup:
    """A piece of a run's bar."""
    return element("rect", x=x - 3, y=y - 2.5, width=9.0, height=5.0, fill=look.color, stroke=look.color)


def hollow_sign(x: float, y: float) -> Markup:
    """A point for which not all images were scored."""
    return mark(PLAIN, x + 2, y, 1.9, hollow=True)


def pale_sign(x: float, y: float) -> Markup:
    """A bar for which not all images were scored."""
    return element("rect", x=x - 3, y=y - 2.5, width=9.0, height=5.0, fill="#ffffff", stroke=PLAIN.color)
