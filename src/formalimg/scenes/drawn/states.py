"""States that can be drawn over any icon: wet, dirty, rusty, broken, burning, melting, and lying as a quarter turn.

States that change what a thing is made of (open, sliced, sleeping) have icons of their own.
"""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.scenes.drawn import marks
from formalimg.scenes.drawn.coverage import coverage
from formalimg.scenes.drawn.damage import broken, burning, lying, melting, scaled, silhouette_in
from formalimg.scenes.drawn.icon_drawing import IconDrawing
from formalimg.scenes.icon import PixelFrame

OVERLAYS = ("wet", "dirty", "rusty", "broken", "burning", "melting")
"""The states that are drawn over any icon."""

_ROOMS = {"wet": (0.06, 0.0, 0.94, 0.92), "burning": (0.14, 0.26, 0.86, 0.97)}
"""The part of the frame in which the icon itself is drawn, as fractions: the rest is for the puddle and the flames."""


def room(state: str) -> tuple[float, float, float, float]:
    """Return the part of a box (left, top, right, bottom as fractions) that the thing keeps in a state."""
    return _ROOMS.get(state, (0.0, 0.0, 1.0, 1.0))


def apply(drawing: IconDrawing, state: str, key: str) -> IconDrawing:
    """Draw a state over an icon, inside its frame.

    Args:
        drawing: the icon, in whatever colour, material and shape.
        state: one of `OVERLAYS`, or `lying`, which turns the frame too: a drawing of 40 by 90 becomes one of 90 by 40.
        key: what makes ids unique in the image, such as the number of the object; also the seed of random marks.

    Raises:
        FormalimgError: if the state is no overlay.
    """
    key = f"{key}-{state}"
    match state:
        case "wet":
            return _wet(drawing, key)
        case "dirty":
            return _marked(drawing, marks.dirty(drawing, key), "", key)
        case "rusty":
            return _rusty(drawing, key)
        case "broken":
            return broken(drawing, key)
        case "burning":
            return burning(drawing, _room_in(drawing.frame, state), key)
        case "melting":
            return melting(drawing, key)
        case "lying":
            return lying(drawing)
    raise FormalimgError(f"{state!r} is not drawn over icons: draw a variant of the icon, or use {', '.join(OVERLAYS)}")


def _room_in(frame: PixelFrame, state: str) -> PixelFrame:
    left, top, right, bottom = room(state)
    return PixelFrame(
        frame.left + round(left * frame.width),
        frame.top + round(top * frame.height),
        round((right - left) * frame.width),
        round((bottom - top) * frame.height),
    )


def _wet(drawing: IconDrawing, key: str) -> IconDrawing:
    frame, pen = drawing.frame, coverage(drawing).pen
    space = _room_in(frame, "wet")
    top = frame.top + frame.height - min(0.2 * frame.height, 0.36 * frame.width)
    moved = IconDrawing(space, scaled(drawing.body, frame, space), silhouette_in(drawing, space), drawing.defs)
    body = marks.puddle(frame, top, pen, key) + moved.body + marks.wet(moved, key)
    return IconDrawing(frame, body, moved.silhouette, drawing.defs)


def _marked(drawing: IconDrawing, marked: str, defs: str, key: str) -> IconDrawing:
    """Add marks that may reach over the edge of the drawing, but not of its frame."""
    left, top, width, height = drawing.frame
    clip = f'<clipPath id="{key}-frame"><rect x="{left}" y="{top}" width="{width}" height="{height}"/></clipPath>'
    body = f'{drawing.body}<g clip-path="url(#{key}-frame)">{marked}</g>'
    return IconDrawing(drawing.frame, body, drawing.silhouette, drawing.defs + defs + clip)


def _rusty(drawing: IconDrawing, key: str) -> IconDrawing:
    """Add marks that only what is painted can have."""
    marked, defs = marks.rusty(drawing, key)
    whole = f'<g id="{key}-whole">{drawing.body}</g>'
    mask = f'<mask id="{key}-alpha" mask-type="alpha"><use href="#{key}-whole"/></mask>'
    body = f'<use href="#{key}-whole"/><g mask="url(#{key}-alpha)">{marked}</g>'
    return IconDrawing(drawing.frame, body, drawing.silhouette, drawing.defs + defs + whole + mask)
