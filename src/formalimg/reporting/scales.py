"""How the figures of each kind of suite are written: rates in percent, or mean scores from 0 to 1."""

from __future__ import annotations

from math import ceil, floor
from typing import NamedTuple

from formalimg.reporting.figures import NOTHING, incomplete
from formalimg.stats import Band, Interval, Rate
from formalimg.suites import Suite


class Scale(NamedTuple):
    """A way to write figures that are 0 to 1.

    Attributes:
        times: what they are multiplied by.
        decimals: how many decimals they have.
        unit: what stands behind a figure in a sentence.
        head: what the column of figures is called.
    """

    times: int
    decimals: int
    unit: str
    head: str

    def text(self, value: float | None) -> str:
        """The figure, such as 86.5 or 0.87."""
        return NOTHING if value is None else f"{self.times * value:.{self.decimals}f}"

    def marked(self, figure: Rate | Band | None) -> str:
        """The figure, marked if some of its images were not scored."""
        return self.text(None if figure is None else figure.value) + incomplete(figure)

    def interval(self, interval: Interval | None) -> str:
        """An interval, such as 81.0–90.6 or 0.81–0.91; empty if there is none."""
        return "" if interval is None else f"{self.text(interval.low)}–{self.text(interval.high)}"

    def short_interval(self, interval: Interval | None) -> str:
        """The interval where there is little room: percents without decimals, widened rather than narrowed."""
        if interval is None or self.times == 1:
            return self.interval(interval)  # as all tables have it: the same digits must not be two intervals
        return f"{floor(self.times * interval.low)}–{ceil(self.times * interval.high)}"

    def tick(self, value: float) -> str:
        """A figure at an axis: 20 %, or 0.2."""
        return f"{value:.1f}" if self.times == 1 else f"{self.times * value:.0f}{self.unit}"


PERCENT = Scale(100, 1, " %", "rate")
SCORE = Scale(1, 2, "", "score")


def scale_of(suite: Suite) -> Scale:
    """How the figures of a suite are written."""
    return SCORE if suite.kind == "counterfactual" else PERCENT
