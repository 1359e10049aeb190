"""One door to all formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from formalimg.errors import FormalimgError
from formalimg.report.comparison import Comparison
from formalimg.report.data import json_text
from formalimg.report.formats import Format
from formalimg.report.html import html_page
from formalimg.report.latex import latex
from formalimg.report.markdown import markdown
from formalimg.report.terminal import terminal_text
from formalimg.report.tidy import tidy_csv

_WRITERS: Mapping[str, Callable[[Comparison], str]] = {
    "terminal": terminal_text,
    "md": markdown,
    "latex": latex,
    "csv": tidy_csv,
    "json": json_text,
    "html": html_page,
}


def render(
    comparison: Comparison,
    format: Format,  # noqa: A002  # what users call it
    *,
    details: bool = False,
) -> str:
    """The comparison as text in a format.

    Args:
        comparison: what `compare` gave back.
        format: `terminal` (as wide as the terminal), `md`, `latex` (booktabs), `csv` (one line per run and figure),
            `json` (everything), or `html` (one page, without pictures; `write_html` adds them).
        details: whether a terminal shows the tables besides the main one too; the other formats always have them.
    """
    if format not in _WRITERS:
        raise FormalimgError(f"unknown format {format!r}: use one of {', '.join(get_args(Format))}")
    return terminal_text(comparison, details=details) if format == "terminal" else _WRITERS[format](comparison)
