"""Rendering of drawn scenes: icons in their materials, shapes and states, in depth order, in the style of the image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formalimg.scenes.drawn.catalog import DrawnCatalog
from formalimg.scenes.drawn.scene import DrawnScene

if TYPE_CHECKING:
    from PIL.Image import Image


def draw_scene(drawn: DrawnScene, size: int = 1024, catalog: DrawnCatalog | None = None) -> Image:
    """Render a drawn scene as a square image of `size` pixels."""
    raise NotImplementedError
