"""The contact sheet of styles: one scene in every style."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from formalimg.drawing.ground import render_on_ground
from formalimg.drawing.icon import PixelFrame, icons, palette
from formalimg.drawing.styles import STYLES, apply

if TYPE_CHECKING:
    from PIL.Image import Image

_SAMPLE = {
    "apple": ("red", (80, 90, 330, 370)),
    "hat": ("blue", (420, 120, 700, 300)),
    "cup": ("yellow", (600, 420, 900, 660)),
    "scissors": ("purple", (110, 470, 330, 860)),
    "shoe": ("green", (430, 740, 860, 930)),
}
"""Things with outlines that are easily distinguished, in five colours, in boxes of thousandths."""

_COLUMNS, _CELL, _GAP, _TITLE = 5, 248, 8, 24


def sample_drawing(size: int) -> Image:
    """Draw five objects of Knolling on the ground, without a style."""
    tones = {**palette().colors, **palette().others}
    elements = []
    for label, (color, box) in _SAMPLE.items():
        left, top, right, bottom = (round(edge * size / 1000) for edge in box)
        frame = PixelFrame(left, top, right - left, bottom - top)
        elements.append(icons()[label].svg(frame, {**palette().accents, **tones[color]._asdict()}, size / 450))
    return render_on_ground("".join(elements), size)


def style_sheet(size: int = 768) -> Image:
    """Render the sample without a style and in every style, at `size` pixels before downscaling."""
    plain = sample_drawing(size)
    return captioned({"no style": plain, **{style: apply(plain, style, seed=3) for style in STYLES}})


def captioned(images: Mapping[str, Image]) -> Image:
    """Arrange images in rows, each with its name below."""
    from PIL import Image, ImageDraw, ImageFont

    rows = math.ceil(len(images) / _COLUMNS)
    sheet = Image.new("RGB", (_COLUMNS * (_CELL + _GAP), rows * (_CELL + _TITLE + _GAP)), "#ffffff")
    pen = ImageDraw.Draw(sheet)
    for number, (name, image) in enumerate(images.items()):
        left, top = number % _COLUMNS * (_CELL + _GAP), number // _COLUMNS * (_CELL + _TITLE + _GAP)
        sheet.paste(image.resize((_CELL, _CELL), Image.Resampling.LANCZOS), (left, top))
        place = (left + _CELL / 2, top + _CELL + 3)
        pen.text(place, name, fill="#222222", font=ImageFont.load_default(16), anchor="ma")
    return sheet
