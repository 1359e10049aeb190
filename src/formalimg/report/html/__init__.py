"""The report as one page."""

from formalimg.report.html.page import Gallery, html_page

__all__ = ["Gallery", "html_page"]
