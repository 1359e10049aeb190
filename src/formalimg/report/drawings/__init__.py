"""Figures for papers, one file each: pure drawings from a comparison, written as SVG, PNG or PDF."""

from formalimg.report.drawings.choosing import drawings_of
from formalimg.report.drawings.drawing import Drawing
from formalimg.report.drawings.files import DrawingFormat, drawing_formats, write_drawings

__all__ = ["Drawing", "DrawingFormat", "drawing_formats", "drawings_of", "write_drawings"]
