"""What is drawn: for each run a figure for each level, category or word."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from formalimg.reporting.comparison import Tally
from formalimg.reporting.drawings.looks import Look
from formalimg.reporting.tables import Figure
from formalimg.stats import Band, Interval, Rate


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


def point_of_figure(figure: Figure) -> Point | None:
    """A figure of a table as a point; None if it has no value."""
    return None if figure.value is None else Point(figure.value, figure.interval, not figure.is_incomplete)


def point_of_tally(tally: Tally) -> Point | None:
    """The share that failed as a point; None if nothing was asked."""
    return Point(tally.share) if tally.asked else None
