"""The ground of drawings: a plain light wall and floor with a soft horizon, which makes "on the ground" visible."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

HORIZON = 0.6  # Where the wall meets the floor, as a fraction of the height
_SOFTNESS = 0.03  # Half of the height over which wall and floor blend
_WALL, _FLOOR = ("#eae8e3", "#e6e2da"), ("#d9d0c0", "#cfc4b1")


def ground_svg(size: int, key: str = "ground") -> str:
    """Return SVG elements that paint the ground of a square image, using `key` as the gradient id.

    No tone of the ground is a tone of a colour, so a white thing on it still has a body of its own.
    """
    stops = [(0, _WALL[0]), (HORIZON - _SOFTNESS, _WALL[1]), (HORIZON + _SOFTNESS, _FLOOR[0]), (1, _FLOOR[1])]
    gradient = "".join(f'<stop offset="{at:.3f}" stop-color="{tone}"/>' for at, tone in stops)
    return (
        f'<defs><linearGradient id="{key}" x1="0" y1="0" x2="0" y2="1">{gradient}</linearGradient></defs>'
        f'<rect width="{size}" height="{size}" fill="url(#{key})"/>'
    )


@lru_cache(maxsize=4)
def ground(size: int) -> Image:
    """Return the empty ground as a square image; it is cached, so copy it before painting on it."""
    return render_on_ground("", size)


def render_on_ground(elements: str, size: int) -> Image:
    """Render SVG elements, in pixel coordinates, on the ground."""
    import resvg_py
    from PIL import Image

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}"'
        f' fill-rule="evenodd" stroke-linecap="round" stroke-linejoin="round">{ground_svg(size)}{elements}</svg>'
    )
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))) as painted:
        return painted.convert("RGB")
