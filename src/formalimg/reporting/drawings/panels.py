"""Small line figures of the same kind, side by side: one for each run, model or judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formalimg.reporting.drawings.drawing import Drawing, line_along, line_between
from formalimg.reporting.drawings.frame import HALVES, SCORES, SHARES, Frame, grid_of, scale_of_names
from formalimg.reporting.drawings.legend import hollow_sign, legend_of, stroke_sign
from formalimg.reporting.drawings.looks import mark, told
from formalimg.reporting.drawings.series import Series
from formalimg.reporting.html.labels import short_names
from formalimg.reporting.html.markup import Markup, element, join
from formalimg.stats import Interval

_ALONE, _BESIDE, _BELOW = 110.0, 84.0, 58.0
_DODGE = 1.6
_LONGEST, _LONGEST_BESIDE = 24, 14
"""Titles of so many letters have room above a panel, alone or beside a remark; longer ones are shortened."""


class LinePanel(NamedTuple):
    """One of the small figures.

    Attributes:
        title: what sets it apart from the others.
        series: its lines.
        shades: for the name of a line the range that is shaded behind it, by the names of what the figures are about.
        remark: what stands behind the title, and is never cut.
    """

    title: str
    series: tuple[Series, ...]
    shades: Mapping[str, Mapping[str, Interval]] = {}
    remark: str = ""


class Panels(NamedTuple):
    """All of the small figures, which share their axes.

    Attributes:
        title, note: what they show, and how their figures were made.
        names: what the figures are about, in order.
        panels: the small figures.
        measure, about: what stands at the axes.
        percent: are the figures written in percent?
        shaded: what a shade means, for the legend.
    """

    title: str
    note: str
    names: tuple[str, ...]
    panels: tuple[LinePanel, ...]
    measure: str
    about: str
    percent: bool = True
    shaded: str = ""


def panel_chart(name: str, panels: Panels) -> Drawing:
    """The small figures in two columns, or one large figure if there is only one."""
    alone = len(panels.panels) == 1
    looks = {one.name: one.look for panel in panels.panels for one in panel.series}
    entries = [(who, stroke_sign(look, 0, 0)) for who, look in looks.items()]
    if panels.shaded and any(panel.shades for panel in panels.panels):
        entries.append((panels.shaded, _shade_sign(panels)))
    if any(not point.is_complete for panel in panels.panels for one in panel.series for point in one.points.values()):
        entries.append(("not all scored", hollow_sign(0, 0)))
    legend = legend_of(entries)
    up = (SHARES if alone else HALVES) if panels.percent else SCORES
    grid = grid_of(
        [panel.title for panel in panels.panels],
        legend.height,
        scale_of_names(panels.names),
        up,
        columns=2,
        height=_ALONE if alone else _BESIDE if len(panels.panels) == 2 else _BELOW,
        about=panels.about,
    )
    remarks = [panel.remark for panel in panels.panels]
    titles = short_names([panel.title for panel in panels.panels], _LONGEST_BESIDE if any(remarks) else _LONGEST)
    parts = [legend.inside, grid.drawn(titles, panels.measure, panels.about, remarks)]
    for frame, panel in zip(grid.frames, panels.panels, strict=True):
        parts += [_shade(frame, panels.names, one, panel.shades.get(one.name, {})) for one in panel.series]
        runs = len(panel.series)
        parts += [
            _line(frame, panels, panel, one, _DODGE * (number - (runs - 1) / 2))
            for number, one in reversed(list(enumerate(panel.series)))
        ]
    return Drawing(name, panels.title, panels.note, grid.bottom, join(parts))


def _shade_sign(panels: Panels) -> Markup:
    shaded = next(one.look.color for panel in panels.panels for one in panel.series if panel.shades.get(one.name))
    return element("rect", x=-3, y=-3, width=9, height=6, fill=shaded, fill_opacity="0.18")


def _shade(frame: Frame, names: Sequence[str], one: Series, ranges: Mapping[str, Interval]) -> Markup:
    """The shade behind a line: one area for each stretch of neighbours that have a range."""
    parts: list[Markup] = []
    stretch: list[tuple[float, Interval]] = []
    for place, name in enumerate((*names, "")):
        if name in ranges:
            stretch.append((frame.x(place + 0.5), ranges[name]))
            continue
        if stretch:
            there = [f"{x:.2f} {frame.y(span.high):.2f}" for x, span in stretch]
            back = [f"{x:.2f} {frame.y(span.low):.2f}" for x, span in reversed(stretch)]
            # A stretch of one would have no width, and so would not be seen.
            line = (
                {"stroke": one.look.color, "stroke_width": "3", "stroke_opacity": "0.18"} if len(stretch) == 1 else {}
            )
            parts.append(
                element("path", d=f"M{'L'.join(there + back)}Z", fill=one.look.color, fill_opacity="0.18", **line)
            )
        stretch = []
    return join(parts)


def _line(frame: Frame, panels: Panels, panel: LinePanel, one: Series, shift: float) -> Markup:
    places = {name: frame.x(number + 0.5) + shift for number, name in enumerate(panels.names)}
    path = [(places[name], frame.y(one.points[name].value)) if name in one.points else None for name in panels.names]
    parts = line_along(path, one.look.color, 1.1, one.look.dash)
    for name, point in one.points.items():
        if point.interval is not None:
            ends = (places[name], frame.y(point.interval.low), places[name], frame.y(point.interval.high))
            parts.append(line_between(ends, one.look.color, 0.7, opacity=0.55))
    for name, point in one.points.items():
        where = ", ".join(filter(None, (panel.title, f"{panels.about} {name}".strip(), one.name)))
        signed = mark(one.look, places[name], frame.y(point.value), 1.8, hollow=not point.is_complete)
        parts.append(told(signed, f"{where}: {point.value:.3f}"))
    return join(parts)
