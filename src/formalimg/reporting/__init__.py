"""Reports: runs side by side as tables, figures and one self-contained page."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.reporting.comparing import compare
    from formalimg.reporting.comparison import Comparison, PublishedRow, Row, Section, Tally
    from formalimg.reporting.drawings import (
        Drawing,
        DrawingFormat,
        drawing_formats,
        drawings_of,
        drawings_of_items,
        drawings_of_study,
        write_drawings,
    )
    from formalimg.reporting.exhibits import Exhibit
    from formalimg.reporting.exporting import Exported, export_concepts
    from formalimg.reporting.formats import Format, format_of
    from formalimg.reporting.html import curve, image, more_table, page_style, table, theme_script
    from formalimg.reporting.reference import ReferenceRow, reference_rows
    from formalimg.reporting.rendering import render
    from formalimg.reporting.tables import Figure, Table, TableRow
    from formalimg.reporting.terminal import terminal_table
    from formalimg.reporting.thumbnails import thumbnail_of
    from formalimg.reporting.words import Words, level_name, level_word, words_of
    from formalimg.reporting.writing import write_html

__getattr__ = lazy_exports(
    "formalimg.reporting",
    {
        "comparing": ["compare"],
        "comparison": ["Comparison", "PublishedRow", "Row", "Section", "Tally"],
        "drawings": [
            "Drawing",
            "DrawingFormat",
            "drawing_formats",
            "drawings_of",
            "drawings_of_items",
            "drawings_of_study",
            "write_drawings",
        ],
        "exhibits": ["Exhibit"],
        "exporting": ["Exported", "export_concepts"],
        "formats": ["Format", "format_of"],
        "html": ["curve", "more_table", "page_style", "image", "table", "theme_script"],
        "reference": ["ReferenceRow", "reference_rows"],
        "rendering": ["render"],
        "tables": ["Figure", "Table", "TableRow"],
        "terminal": ["terminal_table"],
        "thumbnails": ["thumbnail_of"],
        "words": ["Words", "level_name", "level_word", "words_of"],
        "writing": ["write_html"],
    },
)

__all__ = [
    "Comparison",
    "Drawing",
    "DrawingFormat",
    "Exhibit",
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
    "Words",
    "compare",
    "curve",
    "drawing_formats",
    "drawings_of",
    "drawings_of_items",
    "drawings_of_study",
    "export_concepts",
    "format_of",
    "image",
    "level_name",
    "level_word",
    "more_table",
    "page_style",
    "reference_rows",
    "render",
    "table",
    "terminal_table",
    "theme_script",
    "thumbnail_of",
    "words_of",
    "write_drawings",
    "write_html",
]
