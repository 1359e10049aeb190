"""States that can be drawn over any icon: wet, dirty, rusty, broken, burning, melting.

States that change what a thing is made of (open, sliced, sleeping) have icons of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from formalimg.drawing import marks
from formalimg.drawing.catalog import OVERLAY_STATES, DrawnCatalog
from formalimg.drawing.damage import broken, burning, melting, scale_markup, silhouette_in
from formalimg.drawing.icon import PixelFrame
from formalimg.drawing.outline import Coverage, coverage
from formalimg.drawing.svg import IconDrawing
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    pass


def room(frame: PixelFrame, state: str) -> PixelFrame:
    """Return the part of a frame occupied by the object itself; puddles or flames take up the rest."""
    x, y, width, height = frame
    if state == "wet":
        side = round(0.05 * width)
        return PixelFrame(x + side, y, width - 2 * side, height - round(0.4 * marks.puddle_height(frame)))
    if state == "burning":
        side, above = round(0.13 * width), round(0.26 * height)
        return PixelFrame(x + side, y + above, width - 2 * side, height - above - round(0.04 * height))
    return frame


def apply(drawing: IconDrawing, state: str, key: str) -> IconDrawing:
    """Draw a state over an icon, within its frame."""
    if state not in OVERLAY_STATES:
        choices = ", ".join(OVERLAY_STATES)
        raise FormalimgError(f"{state!r} is not drawn over icons: draw a variant of the icon, or use {choices}")
    key, painted = f"{key}-{state}", coverage(drawing)
    match state:
        case "wet":
            drawn = _wet(drawing, painted, key)
        case "dirty":
            drawn = _add_marks(drawing, *marks.dirty(painted, key), "", key)
        case "rusty":
            rust, fade = marks.rusty(painted, key)
            drawn = _add_marks(drawing, rust, "", fade, key)
        case "broken":
            drawn = broken(drawing, painted, key)
        case "burning":
            drawn = burning(drawing, painted, room(drawing.frame, state), key)
        case _:
            drawn = melting(drawing, painted, key)
    return _clip(drawn, key)


def how_drawn(catalog: DrawnCatalog, label: str, state: str) -> str:
    """Return how a class is drawn in a state: `icon`, `variant`, `overlay` or `undrawable`."""
    entry, limits = catalog.classes.get(label), catalog.word("state", state)
    if entry is None or limits.always or label in limits.beside or {"", state}.intersection(entry.undrawable):
        return "undrawable"
    if state in entry.shows:
        return "icon"
    if state in entry.variants:
        return "variant"
    return "overlay" if state in OVERLAY_STATES else "undrawable"


def _wet(drawing: IconDrawing, painted: Coverage, key: str) -> IconDrawing:
    frame, space = drawing.frame, room(drawing.frame, "wet")
    drops = marks.wet(painted.moved_to(space), key)
    body = marks.puddle(frame, painted.pen, key) + scale_markup(drawing.body, frame, space) + drops
    return IconDrawing(frame, body, silhouette_in(drawing, space), drawing.defs)


def _add_marks(drawing: IconDrawing, on_it: str, over_it: str, defs: str, key: str) -> IconDrawing:
    """Add marks to a drawing: `on_it` is masked to the painted area, `over_it` may extend beyond its edge."""
    whole = f'<g id="{key}-whole">{drawing.body}</g>'
    use = f'<use href="#{key}-whole"/>'
    # Several times, as marks on glass are not themselves of glass.
    mask = f'<mask id="{key}-alpha" mask-type="alpha">{use * 4}</mask>'
    body = f'{use}<g mask="url(#{key}-alpha)">{on_it}</g>{over_it}'
    return IconDrawing(drawing.frame, body, drawing.silhouette, drawing.defs + defs + whole + mask)


def _clip(drawing: IconDrawing, key: str) -> IconDrawing:
    """Clip marks that extend beyond the frame, such as the rim of a splash."""
    x, y, width, height = drawing.frame
    clip = f'<clipPath id="{key}-frame"><rect x="{x}" y="{y}" width="{width}" height="{height}"/></clipPath>'
    return replace(drawing, body=f'<g clip-path="url(#{key}-frame)">{drawing.body}</g>', defs=drawing.defs + clip)
