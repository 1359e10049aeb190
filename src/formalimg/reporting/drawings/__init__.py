"""Figures for papers, one file each: pure drawings from a comparison, written as SVG, PNG or PDF."""

from formalimg.reporting.drawings.choosing import drawings_of
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.files import DrawingFormat, drawing_formats, write_drawings
from formalimg.reporting.drawings.of_items import drawings_of_items
from formalimg.reporting.drawings.of_studies import drawings_of_study

__all__ = [
    "Drawing",
    "DrawingFormat",
    "drawing_formats",
    "drawings_of",
    "drawings_of_items",
    "drawings_of_study",
    "write_drawings",
]
