"""Reports: runs side by side as tables, figures and one self-contained page."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily

if TYPE_CHECKING:
    from formalimg.report.comparing import compare
    from formalimg.report.comparison import Comparison, PublishedRow, Row, Section, Tally
    from formalimg.report.drawings import Drawing, DrawingFormat, drawing_formats, drawings_of, write_drawings
    from formalimg.report.exporting import Exported, export_concepts
    from formalimg.report.formats import Format, format_of
    from formalimg.report.reference import ReferenceRow, reference_rows
    from formalimg.report.rendering import render
    from formalimg.report.tables import Figure, Table, TableRow
    from formalimg.report.terminal import terminal_table
    from formalimg.report.writing import write_html

__getattr__ = lazily(
    "formalimg.report",
    {
        "comparing": ["compare"],
        "comparison": ["Comparison", "PublishedRow", "Row", "Section", "Tally"],
        "drawings": ["Drawing", "DrawingFormat", "drawing_formats", "drawings_of", "write_drawings"],
        "exporting": ["Exported", "export_concepts"],
        "formats": ["Format", "format_of"],
        "reference": ["ReferenceRow", "reference_rows"],
        "rendering": ["render"],
        "tables": ["Figure", "Table", "TableRow"],
        "terminal": ["terminal_table"],
        "writing": ["write_html"],
    },
)

__all__ = [
    "Comparison",
    "Drawing",
    "DrawingFormat",
    "Exported",
    "Figure",
    "Format",
    "PublishedRow",
    "ReferenceRow",
    "Row",
    "Section",
    "Table",
    "TableRow",
    "Tally",
    "compare",
    "drawing_formats",
    "drawings_of",
    "export_concepts",
    "format_of",
    "reference_rows",
    "render",
    "terminal_table",
    "write_drawings",
    "write_html",
]
