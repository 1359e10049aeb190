"""SVG markup of a single icon, as passed between materials, states and the renderer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from formalimg.drawing.icon import Icon, PixelFrame

_FILLED = re.compile(r'<path d="([^"]*)" fill="(?!none)')


@dataclass(frozen=True)
class IconDrawing:
    """The markup of an icon in its frame."""

    frame: PixelFrame  # the pixels that the drawing fills, and that it never leaves
    body: str  # SVG elements, in pixels of the image
    # path data of the filled shapes, one line per shape; each is filled even-odd, their union is the outline of the
    # drawing
    silhouette: str
    defs: str = ""  # gradients, patterns and clips that `body` refers to, under ids that are unique in the image

    def clip_path(self, name: str) -> str:
        """Return a `<clipPath>` with the given id that clips to the silhouette."""
        paths = "".join(f'<path d="{line}" clip-rule="evenodd"/>' for line in self.silhouette.splitlines())
        return f'<clipPath id="{name}">{paths}</clipPath>'


def icon_drawing(icon: Icon, frame: PixelFrame, paints: Mapping[str, str], pen: float) -> IconDrawing:
    """Draw an icon into a frame, with outlines of `pen` pixels."""
    body = icon.svg(frame, paints, pen)
    return IconDrawing(frame, body, "\n".join(_FILLED.findall(body)))
