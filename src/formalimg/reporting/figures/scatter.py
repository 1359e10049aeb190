"""One score against another: a point for each run, or a line for each measure."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.reporting.figures.axes import HALVES, SHARES, Frame, Scale, grid_of
from formalimg.reporting.figures.series import Look, legend_of, mark, mark_sign, stroke_sign, told
from formalimg.reporting.figures.svg import QUIET, Drawing, Markup, join, line_along, line_between

_IN_A_ROW = 3
_ALONE = 120.0


class Spot(NamedTuple):
    """A point: who it is of, and where it stands."""

    name: str
    look: Look
    across: float
    up: float


class ScatterPanel(NamedTuple):
    """A small figure of points."""

    title: str
    spots: tuple[Spot, ...]


class Scatter(NamedTuple):
    """Small figures that share their axes, which both go from 0 to 1 and are written in percent."""

    title: str
    note: str
    panels: tuple[ScatterPanel, ...]
    across: str
    up: str


def scatter_chart(name: str, of: Scatter) -> Drawing:
    """A square for each panel, with a thin line where both are equal."""
    alone = len(of.panels) == 1
    looks = {spot.name: spot.look for panel in of.panels for spot in panel.spots}
    legend = legend_of([(who, mark_sign(look, 0, 0)) for who, look in looks.items()])
    scale = SHARES if alone else HALVES
    titles = [panel.title for panel in of.panels]
    grid = grid_of(
        titles, legend.height, scale, scale, columns=_IN_A_ROW, height=_ALONE if alone else None, about=of.across
    )
    parts = [legend.inside, grid.drawn(titles, of.up, of.across)]
    for frame, panel in zip(grid.frames, of.panels, strict=True):
        parts += [
            _upright(frame),
            line_between((frame.left, frame.bottom, frame.right, frame.top), QUIET, 0.5, "1 1.5"),
        ]
        for spot in panel.spots:
            words = f"{panel.title}, {spot.name}: {of.across} {spot.across:.3f}, {of.up} {spot.up:.3f}"
            parts.append(told(mark(spot.look, frame.x(spot.across), frame.y(spot.up), 2), words))
    return Drawing(name, of.title, of.note, grid.bottom, join(parts))


def _upright(frame: Frame) -> Markup:
    return join(
        [line_between((frame.x(value), frame.top, frame.x(value), frame.bottom)) for value, _ in frame.across.ticks]
    )


class Curve(NamedTuple):
    """A line through numbers: at each place on the axis across what it reaches; None where that is not defined.

    Attributes:
        name, look: what it is called, and how it looks.
        places: the corners of the line.
        points: the places with a mark.
    """

    name: str
    look: Look
    places: tuple[tuple[float, float | None], ...]
    points: tuple[tuple[float, float | None], ...] = ()


class Curves(NamedTuple):
    """Lines over one axis of numbers.

    Attributes:
        title, note: what they show, and how their numbers were made.
        curves: the lines; and marks on them.
        across, up: what stands at the axes.
        scale: the axis across.
        upright: where a dotted line stands, and what it marks.
    """

    title: str
    note: str
    curves: tuple[Curve, ...]
    across: str
    up: str
    scale: Scale
    upright: tuple[tuple[float, str], ...] = ()


def curve_chart(name: str, of: Curves) -> Drawing:
    """The lines in one frame."""
    entries = [(one.name, stroke_sign(one.look, 0, 0)) for one in of.curves]
    entries += [(words, line_between((-5, 0, 6, 0), QUIET, 0.7, "0.6 2")) for _, words in of.upright]
    legend = legend_of(entries)
    grid = grid_of([""], legend.height, of.scale, SHARES, columns=1, height=_ALONE - 10, about=of.across)
    frame = grid.frames[0]
    parts = [legend.inside, grid.drawn([""], of.up, of.across)]
    for place, words in of.upright:
        line = line_between((frame.x(place), frame.top, frame.x(place), frame.bottom), QUIET, 0.7, "0.6 2")
        parts.append(told(line, f"{words}: {place:g}"))
    for one in reversed(of.curves):
        path = [None if value is None else (frame.x(place), frame.y(value)) for place, value in one.places]
        parts += line_along(path, one.look.color, 1.1, one.look.dash)
        for place, value in one.points:
            if value is not None:
                signed = mark(one.look, frame.x(place), frame.y(value), 1.9)
                parts.append(told(signed, f"{one.name} at {place:g}: {value:.3f}"))
    return Drawing(name, of.title, of.note, grid.bottom, join(parts))
