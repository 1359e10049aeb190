"""Scatter plots of one score against another, and curves over a numeric axis."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.reports.figures.axes import HALVES, SHARES, Axis, PlotArea, plot_grid
from formalimg.reports.figures.series import SeriesStyle, legend_from, line_key, marker, marker_key, with_title
from formalimg.reports.figures.svg import QUIET, Figure, Markup, draw_line, join, polyline

_IN_A_ROW = 3
_ALONE = 120.0


class Spot(NamedTuple):
    """A point: its name, style and coordinates."""

    name: str
    style: SeriesStyle
    across: float
    up: float


class ScatterPanel(NamedTuple):
    """One panel of points."""

    title: str
    spots: tuple[Spot, ...]


class Scatter(NamedTuple):
    """Panels that share their axes, which both go from 0 to 1 and are written in percent."""

    title: str
    note: str
    panels: tuple[ScatterPanel, ...]
    across: str
    up: str


def scatter_chart(name: str, of: Scatter) -> Figure:
    """Return a square for each panel, with a thin line where both scores are equal."""
    alone = len(of.panels) == 1
    styles = {spot.name: spot.style for panel in of.panels for spot in panel.spots}
    legend = legend_from([(who, marker_key(style, 0, 0)) for who, style in styles.items()])
    scale = SHARES if alone else HALVES
    titles = [panel.title for panel in of.panels]
    grid = plot_grid(
        titles, legend.height, scale, scale, columns=_IN_A_ROW, height=_ALONE if alone else None, about=of.across
    )
    parts = [legend.inside, grid.drawn(titles, of.up, of.across)]
    for frame, panel in zip(grid.frames, of.panels, strict=True):
        parts += [
            _upright(frame),
            draw_line((frame.left, frame.bottom, frame.right, frame.top), QUIET, 0.5, "1 1.5"),
        ]
        for spot in panel.spots:
            text = f"{panel.title}, {spot.name}: {of.across} {spot.across:.3f}, {of.up} {spot.up:.3f}"
            parts.append(with_title(marker(spot.style, frame.x(spot.across), frame.y(spot.up), 2), text))
    return Figure(name, of.title, of.note, grid.bottom, join(parts))


def _upright(frame: PlotArea) -> Markup:
    return join(
        [draw_line((frame.x(value), frame.top, frame.x(value), frame.bottom)) for value, _ in frame.across.ticks]
    )


class Curve(NamedTuple):
    """A line: at each x its y; None where that is not defined."""

    name: str  # what it is called, and how it styles
    style: SeriesStyle
    places: tuple[tuple[float, float | None], ...]  # the corners of the line
    points: tuple[tuple[float, float | None], ...] = ()  # the places with a mark


class Curves(NamedTuple):
    """Lines over one numeric axis."""

    title: str  # what they show, and how their numbers were made
    note: str
    curves: tuple[Curve, ...]  # the lines; and marks on them
    across: str  # what stands at the axes
    up: str
    scale: Axis  # the axis across
    upright: tuple[tuple[float, str], ...] = ()  # where a dotted line stands, and what it marks


def curve_chart(name: str, of: Curves) -> Figure:
    """Return the lines in one plot area."""
    entries = [(one.name, line_key(one.style, 0, 0)) for one in of.curves]
    entries += [(text, draw_line((-5, 0, 6, 0), QUIET, 0.7, "0.6 2")) for _, text in of.upright]
    legend = legend_from(entries)
    grid = plot_grid([""], legend.height, of.scale, SHARES, columns=1, height=_ALONE - 10, about=of.across)
    frame = grid.frames[0]
    parts = [legend.inside, grid.drawn([""], of.up, of.across)]
    for place, text in of.upright:
        line = draw_line((frame.x(place), frame.top, frame.x(place), frame.bottom), QUIET, 0.7, "0.6 2")
        parts.append(with_title(line, f"{text}: {place:g}"))
    for one in reversed(of.curves):
        path = [None if value is None else (frame.x(place), frame.y(value)) for place, value in one.places]
        parts += polyline(path, one.style.color, 1.1, one.style.dash)
        for place, value in one.points:
            if value is not None:
                signed = marker(one.style, frame.x(place), frame.y(value), 1.9)
                parts.append(with_title(signed, f"{one.name} at {place:g}: {value:.3f}"))
    return Figure(name, of.title, of.note, grid.bottom, join(parts))
