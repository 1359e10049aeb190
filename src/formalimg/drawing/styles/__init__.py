"""Styles: renderings of a whole drawing that depend only on its pixels, the style name and a seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.drawing.styles.flat import FlatDrawing

STYLES = (
    "cartoon",
    "cubism",
    "cyberpunk",
    "expressionism",
    "graffiti",
    "impressionism",
    "ink",
    "manga",
    "oil painting",
    "pixel art",
    "pop art",
    "sketch",
    "watercolor",
)
"""The styles that can be drawn; `catalog.d/styles.toml` says why the others cannot."""


def apply(image: Image, style: str, seed: int) -> Image:
    """Render the drawing in a style, deterministically for a given seed."""
    from formalimg.drawing.styles.flat import FlatDrawing

    renderer = _renderers().get(style)
    if renderer is None:
        raise FormalimgError(f"the style {style!r} cannot be drawn: use one of {', '.join(STYLES)}")
    if image.width != image.height:
        raise FormalimgError(f"a style needs a square image, not {image.width} × {image.height}: draw the scene first")
    return renderer(FlatDrawing(image.convert("RGB"), seed))


@cache
def _renderers() -> dict[str, Callable[[FlatDrawing], Image]]:
    from formalimg.drawing.styles import graphic, linework, painting

    return {
        style: getattr(module, style.replace(" ", "_"))
        for style in STYLES
        for module in (graphic, linework, painting)
        if hasattr(module, style.replace(" ", "_"))
    }
