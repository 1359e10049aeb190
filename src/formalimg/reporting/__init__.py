"""Reports: runs side by side as tables, figures and one self-contained page."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.reporting.adaptive_tables import adaptive_text
    from formalimg.reporting.certificate_tables import with_certificates
    from formalimg.reporting.comparison import compare
    from formalimg.reporting.conceptmix_export import export_conceptmix
    from formalimg.reporting.corrected_tables import is_corrected
    from formalimg.reporting.examples import ExampleImage
    from formalimg.reporting.figures.curve import curve_svg
    from formalimg.reporting.figures.differences import differences_svg
    from formalimg.reporting.figures.files import FigureFormat, parse_figure_formats, write_figures
    from formalimg.reporting.figures.image_grid import image_grids
    from formalimg.reporting.figures.items import item_figures
    from formalimg.reporting.figures.runs import comparison_figures
    from formalimg.reporting.figures.studies import study_figures
    from formalimg.reporting.figures.svg import Figure
    from formalimg.reporting.formats import Format, format_of
    from formalimg.reporting.gallery import image_html
    from formalimg.reporting.images import make_thumbnail
    from formalimg.reporting.judge_quality import WORRYING_SHARE, JudgeQuality
    from formalimg.reporting.labels import level_name, level_word
    from formalimg.reporting.model import Comparison, PublishedRow, RunRow, Section, Tally
    from formalimg.reporting.page import main_table_html, page_style, table_html, theme_script
    from formalimg.reporting.paired_runs import is_same_item, same_items
    from formalimg.reporting.plain_captions import is_whole, plain_caption, plain_main_table
    from formalimg.reporting.reference import ReferenceRow, reference_rows
    from formalimg.reporting.report import plain_table, render, terminal_table, write_html, write_page
    from formalimg.reporting.run_export import ExportedRun, export_run
    from formalimg.reporting.run_numbers import RunFigures, headline_difference, run_figures

__getattr__ = lazy_exports(
    "formalimg.reporting",
    {
        "adaptive_tables": ["adaptive_text"],
        "comparison": ["compare"],
        "conceptmix_export": ["export_conceptmix"],
        "corrected_tables": ["is_corrected"],
        "examples": ["ExampleImage"],
        "figures.curve": ["curve_svg"],
        "figures.differences": ["differences_svg"],
        "figures.files": ["FigureFormat", "parse_figure_formats", "write_figures"],
        "figures.image_grid": ["image_grids"],
        "figures.items": ["item_figures"],
        "figures.runs": ["comparison_figures"],
        "figures.studies": ["study_figures"],
        "figures.svg": ["Figure"],
        "formats": ["Format", "format_of"],
        "gallery": ["image_html"],
        "images": ["make_thumbnail"],
        "judge_quality": ["WORRYING_SHARE", "JudgeQuality"],
        "labels": ["level_name", "level_word"],
        "model": ["Comparison", "PublishedRow", "RunRow", "Section", "Tally"],
        "paired_runs": ["is_same_item", "same_items"],
        "plain_captions": ["is_whole", "plain_caption", "plain_main_table"],
        "page": ["table_html", "page_style", "main_table_html", "theme_script"],
        "reference": ["ReferenceRow", "reference_rows"],
        "certificate_tables": ["with_certificates"],
        "report": ["plain_table", "render", "terminal_table", "write_html", "write_page"],
        "run_export": ["ExportedRun", "export_run"],
        "run_numbers": ["RunFigures", "headline_difference", "run_figures"],
    },
)

__all__ = [
    "WORRYING_SHARE",
    "Comparison",
    "ExampleImage",
    "ExportedRun",
    "Figure",
    "FigureFormat",
    "Format",
    "JudgeQuality",
    "PublishedRow",
    "ReferenceRow",
    "RunFigures",
    "RunRow",
    "Section",
    "Tally",
    "adaptive_text",
    "compare",
    "comparison_figures",
    "curve_svg",
    "differences_svg",
    "export_conceptmix",
    "export_run",
    "format_of",
    "headline_difference",
    "image_grids",
    "image_html",
    "is_corrected",
    "is_same_item",
    "is_whole",
    "item_figures",
    "level_name",
    "level_word",
    "main_table_html",
    "make_thumbnail",
    "page_style",
    "parse_figure_formats",
    "plain_caption",
    "plain_main_table",
    "plain_table",
    "reference_rows",
    "render",
    "run_figures",
    "same_items",
    "study_figures",
    "table_html",
    "terminal_table",
    "theme_script",
    "with_certificates",
    "write_figures",
    "write_html",
    "write_page",
]
