"""The report as one page, and its pieces for other pages."""

from formalimg.report.html.curve import curve
from formalimg.report.html.more_table import more_table
from formalimg.report.html.page import Gallery, html_page, page_style, theme_script
from formalimg.report.html.picture import picture
from formalimg.report.html.table import table

__all__ = ["Gallery", "curve", "html_page", "more_table", "page_style", "picture", "table", "theme_script"]
