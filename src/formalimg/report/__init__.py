"""Reports: runs side by side as tables, figures and one self-contained page."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily

if TYPE_CHECKING:
    from formalimg.report.comparing import compare
    from formalimg.report.comparison import Comparison, PublishedRow, Row, Section, Tally
    from formalimg.report.formats import Format, format_of
    from formalimg.report.reference import ReferenceRow, reference_rows
    from formalimg.report.rendering import render
    from formalimg.report.terminal import terminal_table
    from formalimg.report.writing import write_html

__getattr__ = lazily(
    "formalimg.report",
    {
        "comparing": ["compare"],
        "comparison": ["Comparison", "PublishedRow", "Row", "Section", "Tally"],
        "formats": ["Format", "format_of"],
        "reference": ["ReferenceRow", "reference_rows"],
        "rendering": ["render"],
        "terminal": ["terminal_table"],
        "writing": ["write_html"],
    },
)

__all__ = [
    "Comparison",
    "Format",
    "PublishedRow",
    "ReferenceRow",
    "Row",
    "Section",
    "Tally",
    "compare",
    "format_of",
    "reference_rows",
    "render",
    "terminal_table",
    "write_html",
]
