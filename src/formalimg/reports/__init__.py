"""Reports: a comparison of runs as tables, figures and a self-contained HTML page."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.reports.comparison import compare
    from formalimg.reports.figures.charts import item_figures
    from formalimg.reports.figures.runs import comparison_figures
    from formalimg.reports.figures.studies import study_figures
    from formalimg.reports.figures.svg import write_figures
    from formalimg.reports.published import reference_rows
    from formalimg.reports.report import render, write_html

__all__ = [
    "compare",
    "comparison_figures",
    "item_figures",
    "reference_rows",
    "render",
    "study_figures",
    "write_figures",
    "write_html",
]

__getattr__, __dir__ = lazy_exports(__name__)
