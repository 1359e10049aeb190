"""Tables of numbers with intervals, and one renderer per format: terminal, Markdown, LaTeX, CSV, JSON and HTML."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.tables.export import csv_rows, csv_text, export_label, json_number, json_table
    from formalimg.tables.format import (
        BOUNDS_NOTE,
        INCOMPLETE,
        INCOMPLETE_NOTE,
        NOTHING,
        cell_text,
        count_noun,
        format_interval,
        format_value,
        join_names,
        notes_of,
    )
    from formalimg.tables.html import render_html
    from formalimg.tables.latex import latex_escape, render_latex
    from formalimg.tables.markdown import markdown_code, markdown_escape, render_markdown
    from formalimg.tables.model import Cell, Column, ColumnType, Number, Placement, Table, TableRow
    from formalimg.tables.terminal import render_terminal, terminal_plain_text

__getattr__ = lazy_exports(
    "formalimg.tables",
    {
        "export": ["csv_rows", "csv_text", "export_label", "json_number", "json_table"],
        "format": [
            "BOUNDS_NOTE",
            "INCOMPLETE",
            "INCOMPLETE_NOTE",
            "NOTHING",
            "cell_text",
            "count_noun",
            "format_interval",
            "format_value",
            "join_names",
            "notes_of",
        ],
        "html": ["render_html"],
        "latex": ["latex_escape", "render_latex"],
        "markdown": ["markdown_code", "markdown_escape", "render_markdown"],
        "model": ["Cell", "Column", "ColumnType", "Number", "Placement", "Table", "TableRow"],
        "terminal": ["render_terminal", "terminal_plain_text"],
    },
)

__all__ = [
    "BOUNDS_NOTE",
    "INCOMPLETE",
    "INCOMPLETE_NOTE",
    "NOTHING",
    "Cell",
    "Column",
    "ColumnType",
    "Number",
    "Placement",
    "Table",
    "TableRow",
    "cell_text",
    "count_noun",
    "csv_rows",
    "csv_text",
    "export_label",
    "format_interval",
    "format_value",
    "join_names",
    "json_number",
    "json_table",
    "latex_escape",
    "markdown_code",
    "markdown_escape",
    "notes_of",
    "render_html",
    "render_latex",
    "render_markdown",
    "render_terminal",
    "terminal_plain_text",
]
