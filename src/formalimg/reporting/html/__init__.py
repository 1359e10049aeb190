"""The report as one page, and its pieces for other pages."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.reporting.html.curve import curve
from formalimg.reporting.html.head import page_style, theme_script
from formalimg.reporting.html.image import image
from formalimg.reporting.html.more_table import more_table
from formalimg.reporting.html.table import table

if TYPE_CHECKING:
    from formalimg.reporting.html.page import Gallery, html_page

# The page shows figures for papers, which are made of the same markup as the page.
__getattr__ = lazy_exports("formalimg.reporting.html", {"page": ["Gallery", "html_page"]})

__all__ = ["Gallery", "curve", "html_page", "image", "more_table", "page_style", "table", "theme_script"]
