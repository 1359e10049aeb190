"""Drawings of text, for what reads it, and a reader that always reads the same."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from formalimg.judges.base import LoadedImage, TextLine, TextReading
from formalimg.scenes.objects import Box
from formalimg.types import Unscored


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


class FixedReader:
    """A reader that always reads the same."""

    name = "ocr/fixed"
    settings = {"kind": "fixed"}  # noqa: RUF012
    concurrency = 1

    def __init__(self, *lines: str, unscored: Unscored | None = None) -> None:
        boxes = [Box(0, 100 * row, 500, 100 * row + 60) for row in range(len(lines))]
        self.lines = tuple(map(TextLine, lines, boxes))
        self.unscored = unscored

    async def read(self, image: LoadedImage) -> TextReading | Unscored:
        return self.unscored or TextReading(self.lines)
