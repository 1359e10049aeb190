"""Where objects stand in figures with two axes of numbers, and how several of them share one drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from formalimg.reporting.figures.svg import (
    INK,
    RULE,
    WIDTH,
    Markup,
    breadth,
    fitting,
    join,
    line_between,
    words_at,
    words_upwards,
)

_LEFT, _RIGHT, _GAP = 30.0, 7.0, 14.0
_TITLE, _NUMBERS = 12.0, 12.0


class Scale(NamedTuple):
    """An axis: from where to where, and what is written at which places."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


SHARES = Scale(0, 1, ((0, "0"), (0.2, "20"), (0.4, "40"), (0.6, "60"), (0.8, "80"), (1, "100")))
HALVES = Scale(0, 1, ((0, "0"), (0.5, "50"), (1, "100")))
SCORES = Scale(0, 1, ((0, "0"), (0.5, "0.5"), (1, "1")))
"""Axes of shares in percent, with many numbers or with few, and of scores."""


def scale_of_names(names: Sequence[str]) -> Scale:
    """An axis on which names stand at equal distances, the first around 0.5; where they are many, not all are told."""
    each = -(-len(names) // 12)
    return Scale(0, len(names), tuple((n + 0.5, name) for n, name in enumerate(names) if n % each == 0))


def counting_scale(most: int) -> Scale:
    """An axis for counts, from 0 to a round number that is not below the largest."""
    step = next(
        round(part * 10**power)
        for power in range(12)
        for part in (1, 2, 2.5, 5)
        if part * 10**power == round(part * 10**power) and 5 * part * 10**power >= most
    )
    steps = max(1, -(-most // step))
    return Scale(0, step * steps, tuple((step * number, f"{step * number:,}") for number in range(steps + 1)))


class Frame(NamedTuple):
    """A rectangle of a drawing, with its axes."""

    left: float
    top: float
    width: float
    height: float
    across: Scale
    up: Scale

    def x(self, value: float) -> float:
        """Where a number stands on the axis across."""
        return self.left + self.width * (value - self.across.low) / (self.across.high - self.across.low)

    def y(self, value: float) -> float:
        """Where a number stands on the axis up."""
        return self.top + self.height * (self.up.high - value) / (self.up.high - self.up.low)

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    def axes(self, title: str = "", remark: str = "", *, left: bool = True, below: bool = True) -> Markup:
        """Rules and numbers, with a title above; numbers on the left and below only where they are asked for.

        A remark stands behind the title; only the title is cut where both have no room.
        """
        parts = []
        for value, told in self.up.ticks:
            y, is_ground = self.y(value), value == self.up.low
            parts.append(line_between((self.left, y, self.right, y), INK if is_ground else RULE, 0.6))
            if left:
                parts.append(words_at(told, self.left - 3, y + 2.4, "end"))
        for value, told in self.across.ticks if below else ():
            parts.append(words_at(told, self.x(value), self.bottom + 8.5, "middle"))
        if title or remark:
            behind = f", {remark}" if title and remark else remark
            words = fitting(title, self.width - breadth(behind)) + behind
            parts.append(words_at(words, self.left, self.top - 4))
        return join(parts)


class Grid(NamedTuple):
    """Frames of one size side by side and below each other; titles above them where there are several."""

    frames: tuple[Frame, ...]
    columns: int
    bottom: float

    def drawn(self, titles: Sequence[str], measure: str, about: str, remarks: Sequence[str] = ()) -> Markup:
        """All axes, and what is measured on them; with what is remarked on each, if anything is."""
        last = len(self.frames) - self.columns
        parts = [
            frame.axes(title, remark, left=number % self.columns == 0, below=number >= last)
            for number, (frame, title, remark) in enumerate(
                zip(self.frames, titles, remarks or [""] * len(titles), strict=True)
            )
        ]
        first, end = self.frames[0], self.frames[-1]
        parts.append(words_upwards(measure, 8, (first.top + end.bottom) / 2))
        if about:
            widest = self.frames[min(self.columns, len(self.frames)) - 1].right
            parts.append(words_at(about, (first.left + widest) / 2, self.bottom - 3, "middle"))
        return join(parts)


def grid_of(
    titles: Sequence[str],
    top: float,
    across: Scale,
    up: Scale,
    *,
    columns: int,
    height: float | None = None,
    about: str = "",
) -> Grid:
    """Frames below `top`, one for each title; as high as broad if no height is given."""
    columns = min(columns, len(titles))
    broad = (WIDTH - _LEFT - _RIGHT - _GAP * (columns - 1)) / columns
    high = broad if height is None else height
    above = _TITLE if any(titles) else 4.0

    def frames() -> Iterator[Frame]:
        for number in range(len(titles)):
            row, column = divmod(number, columns)
            left = _LEFT + (broad + _GAP) * column
            yield Frame(left, top + above + (high + above + 3) * row, broad, high, across, up)

    found = tuple(frames())
    return Grid(found, columns, found[-1].bottom + _NUMBERS + (10 if about else 0))
