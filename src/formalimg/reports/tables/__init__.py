"""Tables of numbers with intervals, and one renderer per format: terminal, Markdown, LaTeX, CSV, JSON and HTML."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.reports.tables.markup import render_markdown
    from formalimg.reports.tables.model import Column, Number, TableRow
    from formalimg.types import Table

__all__ = [
    "Column",
    "Number",
    "Table",
    "TableRow",
    "render_markdown",
]

__getattr__, __dir__ = lazy_exports(__name__)
