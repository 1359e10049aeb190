"""States that can be drawn over any icon: wet, dirty, rusty, broken, burning, melting.

States that change what a thing is made of (open, sliced, sleeping) have icons of their own.
"""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.scenes.drawn import marks
from formalimg.scenes.drawn.coverage import coverage
from formalimg.scenes.drawn.damage import broken, burning, melting, scaled, silhouette_in
from formalimg.scenes.drawn.icon_drawing import IconDrawing
from formalimg.scenes.icon import PixelFrame

OVERLAYS = ("wet", "dirty", "rusty", "broken", "burning", "melting")
"""The states that are drawn over any icon."""


def room(frame: PixelFrame, state: str) -> PixelFrame:
    """Return the part of a frame in which the thing itself is drawn in a state; the rest is puddle or flames."""
    left, top, width, height = frame
    if state == "wet":
        side = round(0.05 * width)
        return PixelFrame(left + side, top, width - 2 * side, height - round(0.4 * marks.puddle_height(frame)))
    if state == "burning":
        side, above = round(0.13 * width), round(0.26 * height)
        return PixelFrame(left + side, top + above, width - 2 * side, height - above - round(0.04 * height))
    return frame


def apply(drawing: IconDrawing, state: str, key: str) -> IconDrawing:
    """Draw a state over an icon, inside its frame.

    Args:
        drawing: the icon, in whatever colour, material and shape.
        state: one of `OVERLAYS`.
        key: what makes ids unique in the image, such as the number of the object; also the seed of random marks.

    Raises:
        FormalimgError: if the state is no overlay.
    """
    key = f"{key}-{state}"
    match state:
        case "wet":
            return _wet(drawing, key)
        case "dirty":
            return _marked(drawing, *marks.dirty(drawing, key), "", key)
        case "rusty":
            rust, fade = marks.rusty(drawing, key)
            return _marked(drawing, rust, "", fade, key)
        case "broken":
            return broken(drawing, key)
        case "burning":
            return burning(drawing, room(drawing.frame, state), key)
        case "melting":
            return melting(drawing, key)
    raise FormalimgError(f"{state!r} is not drawn over icons: draw a variant of the icon, or use {', '.join(OVERLAYS)}")


def _wet(drawing: IconDrawing, key: str) -> IconDrawing:
    frame, pen = drawing.frame, coverage(drawing).pen
    space = room(frame, "wet")
    moved = IconDrawing(space, scaled(drawing.body, frame, space), silhouette_in(drawing, space), drawing.defs)
    body = marks.puddle(frame, pen, key) + moved.body + marks.wet(moved, key)
    return IconDrawing(frame, body, moved.silhouette, drawing.defs)


def _marked(drawing: IconDrawing, on_it: str, over_it: str, defs: str, key: str) -> IconDrawing:
    """Add marks: some only where the drawing is painted, some that may reach over its edge but not its frame's."""
    left, top, width, height = drawing.frame
    whole = f'<g id="{key}-whole">{drawing.body}</g>'
    mask = f'<mask id="{key}-alpha" mask-type="alpha"><use href="#{key}-whole"/></mask>'
    clip = f'<clipPath id="{key}-frame"><rect x="{left}" y="{top}" width="{width}" height="{height}"/></clipPath>'
    body = (
        f'<use href="#{key}-whole"/><g mask="url(#{key}-alpha)">{on_it}</g>'
        f'<g clip-path="url(#{key}-frame)">{over_it}</g>'
    )
    return IconDrawing(drawing.frame, body, drawing.silhouette, drawing.defs + defs + whole + mask + clip)
