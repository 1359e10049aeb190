"""Drawings of text, for what reads it."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from formalimg.judges.base import LoadedImage


def draw_text(*lines: str, size: int = 56) -> LoadedImage:
    """Draw lines of text below each other, on a background that is not one flat colour."""
    drawing = Image.new("RGB", (448, 448), "#eeddcc")
    pen = ImageDraw.Draw(drawing)
    pen.rectangle((20, 20, 428, 428), fill="#f8f4e8")
    for number, line in enumerate(lines):
        pen.text((50, 60 + 85 * number), line, "black", ImageFont.load_default(size))
    data = io.BytesIO()
    drawing.save(data, "PNG")
    return LoadedImage(data.getvalue(), drawing)
