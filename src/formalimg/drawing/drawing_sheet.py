"""Rendering of individual drawings, on a transparent background or on contact sheets with titles."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.drawing.icon import PixelFrame, palette
from formalimg.drawing.icon_drawing import IconDrawing

if TYPE_CHECKING:
    from PIL.Image import Image

_CELL, _MARGIN, _TITLE = 130, 10, 20
_TEXT = "#26272b"


class SheetCell(NamedTuple):
    """A drawing on a sheet: its title, its aspect ratio, and the function that draws it into a frame."""

    title: str
    aspect: float
    draw: Callable[[PixelFrame], IconDrawing]


def render_drawings(drawings: Sequence[IconDrawing], width: int, height: int) -> Image:
    """Render drawings in their own frames on a transparent background."""
    import resvg_py
    from PIL import Image

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' fill-rule="evenodd" stroke-linecap="round" stroke-linejoin="round">'
        f"<defs>{''.join(drawing.defs for drawing in drawings)}</defs>"
        f"{''.join(drawing.body for drawing in drawings)}</svg>"
    )
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))) as image:
        return image.convert("RGBA")


def drawing_sheet(cells: Sequence[SheetCell], columns: int) -> Image:
    """Render drawings in rows, each in its natural aspect ratio with its title below."""
    from PIL import Image, ImageDraw, ImageFont

    width, height = columns * _CELL, math.ceil(len(cells) / columns) * (_CELL + _TITLE)
    drawings = []
    for number, cell in enumerate(cells):
        left, top = number % columns * _CELL, number // columns * (_CELL + _TITLE)
        room = _CELL - 2 * _MARGIN
        across, down = round(room * min(1.0, cell.aspect)), round(room / max(1.0, cell.aspect))
        drawings.append(cell.draw(PixelFrame(left + (_CELL - across) // 2, top + (_CELL - down) // 2, across, down)))
    sheet = Image.new("RGBA", (width, height), palette().background)
    sheet.alpha_composite(render_drawings(drawings, width, height))
    pen = ImageDraw.Draw(sheet)
    for number, cell in enumerate(cells):
        place = (number % columns * _CELL + _CELL / 2, number // columns * (_CELL + _TITLE) + _CELL)
        pen.text(place, cell.title, fill=_TEXT, font=ImageFont.load_default(13), anchor="ma")
    return sheet.convert("RGB")
