"""Axes and plot areas: coordinates of numbers and categories, and grids of several plots in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from formalimg.reports.figures.svg import (
    INK,
    RULE,
    WIDTH,
    Markup,
    draw_line,
    fit_text,
    join,
    text_at,
    text_width,
    vertical_text,
)

_LEFT, _RIGHT, _GAP = 30.0, 7.0, 14.0
_TITLE, _NUMBERS = 12.0, 12.0


class Axis(NamedTuple):
    """An axis with its range and tick labels."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


SHARES = Axis(0, 1, ((0, "0"), (0.2, "20"), (0.4, "40"), (0.6, "60"), (0.8, "80"), (1, "100")))
HALVES = Axis(0, 1, ((0, "0"), (0.5, "50"), (1, "100")))
SCORES = Axis(0, 1, ((0, "0"), (0.5, "0.5"), (1, "1")))
"""Axes of shares in percent, with many numbers or with few, and of scores."""


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

    @property
    def right(self) -> float:
        """The right edge of the plot area."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower edge of the plot area."""
        return self.top + self.height

    def draw_axes(self, title: str = "", remark: str = "", *, left: bool = True, below: bool = True) -> Markup:
        """Draw the axes and tick labels with a title above, labelling the left and lower sides only where requested.

        A remark stands behind the title; only the title is cut where both have no room.
        """
        parts = []
        for value, label in self.up.ticks:
            y, is_ground = self.y(value), value == self.up.low
            parts.append(draw_line((self.left, y, self.right, y), INK if is_ground else RULE, 0.6))
            if left:
                parts.append(text_at(label, self.left - 3, y + 2.4, "end"))
        for value, label in self.across.ticks if below else ():
            parts.append(text_at(label, self.x(value), self.bottom + 8.5, "middle"))
        if title or remark:
            behind = f", {remark}" if title and remark else remark
            text = fit_text(title, self.width - text_width(behind)) + behind
            parts.append(text_at(text, self.left, self.top - 4))
        return join(parts)


class PlotGrid(NamedTuple):
    """Plot areas of equal size in rows and columns, with titles if there are several."""

    areas: tuple[PlotArea, ...]
    columns: int
    bottom: float

    def draw(self, titles: Sequence[str], measure: str, about: str, remarks: Sequence[str] = ()) -> Markup:
        """Draw all axes with their names, and the remark on each plot area, if any."""
        last = len(self.areas) - self.columns
        texts = zip(self.areas, titles, remarks or [""] * len(titles), strict=True)
        parts = [
            area.draw_axes(title, remark, left=number % self.columns == 0, below=number >= last)
            for number, (area, title, remark) in enumerate(texts)
        ]
        first, end = self.areas[0], self.areas[-1]
        parts.append(vertical_text(measure, 8, (first.top + end.bottom) / 2))
        if about:
            widest = self.areas[min(self.columns, len(self.areas)) - 1].right
            parts.append(text_at(about, (first.left + widest) / 2, self.bottom - 3, "middle"))
        return join(parts)


def plot_grid(
    titles: Sequence[str],
    top: float,
    across: Axis,
    up: Axis,
    *,
    columns: int,
    height: float | None = None,
    about: str = "",
) -> PlotGrid:
    """Build a grid of plot areas below `top`, one for each title, which are square unless `height` is set."""
    columns = min(columns, len(titles))
    width = (WIDTH - _LEFT - _RIGHT - _GAP * (columns - 1)) / columns
    height = width if height is None else height
    above = _TITLE if any(titles) else 4.0
    areas = []
    for number in range(len(titles)):
        row, column = divmod(number, columns)
        left = _LEFT + (width + _GAP) * column
        areas.append(PlotArea(left, top + above + (height + above + 3) * row, width, height, across, up))
    return PlotGrid(tuple(areas), columns, areas[-1].bottom + _NUMBERS + (10 if about else 0))
