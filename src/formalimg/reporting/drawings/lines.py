"""Figures over levels, as lines with intervals."""

from __future__ import annotations

from formalimg.reporting.drawings.drawing import (
    INK,
    QUIET,
    WIDTH,
    Drawing,
    line_along,
    line_between,
    words_at,
    words_upwards,
)
from formalimg.reporting.drawings.legend import legend, stroke_sign
from formalimg.reporting.drawings.looks import mark
from formalimg.reporting.drawings.series import Chart, Series
from formalimg.reporting.html.markup import Markup, join

_LEFT, _RIGHT, _PLOT, _BELOW = 30.0, 4.0, 116.0, 24.0
_DODGE = 2.4
"""Points of several runs at one level stand so far apart, so that their intervals can be told."""


def line_chart(name: str, chart: Chart, held: float | None = None) -> Drawing:
    """A line for each run over the levels; a dotted line marks the rate to be held."""
    told = legend(chart, stroke_sign)
    plot = _Plot(chart, told.height + 2)
    below = plot.top + _PLOT + _BELOW if chart.about else plot.top + _PLOT + _BELOW - 9
    runs = [one for one in chart.series if one.look.is_run]
    parts = [
        told.inside,
        plot.axes(),
        *([] if held is None else plot.held(held)),
        *(plot.line(one, 0) for one in chart.series if not one.look.is_run),
        # The first run lies on top.
        *reversed([plot.line(one, plot.shift(number, len(runs))) for number, one in enumerate(runs)]),
    ]
    return Drawing(name, chart.title, chart.note, below, join(parts))


class _Plot:
    """Where objects stand."""

    def __init__(self, chart: Chart, top: float) -> None:
        self.chart, self.top = chart, top
        self.step = (WIDTH - _LEFT - _RIGHT) / len(chart.names)

    def x(self, name: str) -> float:
        return _LEFT + self.step * (self.chart.names.index(name) + 0.5)

    def y(self, value: float) -> float:
        return self.top + _PLOT * (1 - value)

    def shift(self, number: int, runs: int) -> float:
        return min(_DODGE, 0.6 * self.step / max(1, runs)) * (number - (runs - 1) / 2)

    def axes(self) -> Markup:
        chart, bottom, right = self.chart, self.y(0), WIDTH - _RIGHT
        parts = []
        for tick in (0, 0.2, 0.4, 0.6, 0.8, 1.0):
            y = self.y(tick)
            parts.append(line_between((_LEFT, y, right, y)) if tick else line_between((_LEFT, y, right, y), INK, 0.6))
            parts.append(words_at(chart.tick(tick), _LEFT - 3, y + 2.4, "end"))
        parts += [words_at(name, self.x(name), bottom + 9, "middle") for name in chart.names]
        parts.append(words_upwards(chart.measure, 8, self.top + _PLOT / 2))
        if chart.about:
            parts.append(words_at(chart.about, (_LEFT + right) / 2, bottom + 19, "middle"))
        return join(parts)

    def held(self, rate: float) -> list[Markup]:
        return [line_between((_LEFT, self.y(rate), WIDTH - _RIGHT, self.y(rate)), QUIET, 0.6, "0.6 2")]

    def line(self, one: Series, shift: float) -> Markup:
        there = {name: (self.x(name) + shift, point) for name, point in one.points.items()}
        is_published = not one.look.is_run
        path = [(there[name][0], self.y(there[name][1].value)) if name in there else None for name in self.chart.names]
        parts = line_along(path, one.look.color, 0.7 if is_published else 1.1, one.look.dash)
        if is_published:
            return join(parts)
        for x, point in there.values():
            if point.interval is not None:
                ends = (x, self.y(point.interval.low), x, self.y(point.interval.high))
                parts.append(line_between(ends, one.look.color, 0.7, opacity=0.55))
        for x, point in there.values():
            if one.look.shape or not point.is_complete:
                parts.append(mark(one.look, x, self.y(point.value), 1.9, hollow=not point.is_complete))
        return join(parts)
