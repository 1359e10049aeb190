"""Reports: runs side by side as tables, figures and one self-contained page."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily

if TYPE_CHECKING:
    from formalimg.report.comparing import compare
    from formalimg.report.comparison import Comparison, PublishedRow, Row, Section, Tally
    from formalimg.report.drawings import (
        Drawing,
        DrawingFormat,
        drawing_formats,
        drawings_of,
        drawings_of_items,
        drawings_of_study,
        write_drawings,
    )
    from formalimg.report.exhibits import Exhibit
    from formalimg.report.exporting import Exported, export_concepts
    from formalimg.report.formats import Format, format_of
    from formalimg.report.html import curve, more_table, page_style, picture, table, theme_script
    from formalimg.report.reference import ReferenceRow, reference_rows
    from formalimg.report.rendering import render
    from formalimg.report.tables import Figure, Table, TableRow
    from formalimg.report.terminal import terminal_table
    from formalimg.report.thumbnails import thumbnail_of
    from formalimg.report.words import Words, level_name, level_word, words_of
    from formalimg.report.writing import write_html

__getattr__ = lazily(
    "formalimg.report",
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
        "html": ["curve", "more_table", "page_style", "picture", "table", "theme_script"],
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
    "level_name",
    "level_word",
    "more_table",
    "page_style",
    "picture",
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
