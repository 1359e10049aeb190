"""Reports: runs side by side as tables, figures and one self-contained page."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.reporting.comparison import compare
    from formalimg.reporting.conceptmix_export import Exported, export_concepts
    from formalimg.reporting.examples import Exhibit
    from formalimg.reporting.figures.curve import curve
    from formalimg.reporting.figures.files import DrawingFormat, drawing_formats, write_drawings
    from formalimg.reporting.figures.items import drawings_of_items
    from formalimg.reporting.figures.runs import drawings_of
    from formalimg.reporting.figures.studies import drawings_of_study
    from formalimg.reporting.figures.svg import Drawing
    from formalimg.reporting.formats import Format, format_of
    from formalimg.reporting.gallery import image
    from formalimg.reporting.images import thumbnail_of
    from formalimg.reporting.labels import Words, level_name, level_word, words_of
    from formalimg.reporting.model import Comparison, PublishedRow, Row, Section, Tally
    from formalimg.reporting.page import more_table, page_style, table, theme_script
    from formalimg.reporting.reference import ReferenceRow, reference_rows
    from formalimg.reporting.report import render, terminal_table, write_html

__getattr__ = lazy_exports(
    "formalimg.reporting",
    {
        "comparison": ["compare"],
        "conceptmix_export": ["Exported", "export_concepts"],
        "examples": ["Exhibit"],
        "figures.curve": ["curve"],
        "figures.files": ["DrawingFormat", "drawing_formats", "write_drawings"],
        "figures.items": ["drawings_of_items"],
        "figures.runs": ["drawings_of"],
        "figures.studies": ["drawings_of_study"],
        "figures.svg": ["Drawing"],
        "formats": ["Format", "format_of"],
        "gallery": ["image"],
        "images": ["thumbnail_of"],
        "labels": ["Words", "level_name", "level_word", "words_of"],
        "model": ["Comparison", "PublishedRow", "Row", "Section", "Tally"],
        "page": ["more_table", "page_style", "table", "theme_script"],
        "reference": ["ReferenceRow", "reference_rows"],
        "report": ["render", "terminal_table", "write_html"],
    },
)

__all__ = [
    "Comparison",
    "Drawing",
    "DrawingFormat",
    "Exhibit",
    "Exported",
    "Format",
    "PublishedRow",
    "ReferenceRow",
    "Row",
    "Section",
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
