"""Tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from formalimg.tables.format import cell_text, notes_of
from formalimg.tables.model import Table


def render_markdown(table: Table, heading: int = 2) -> str:
    """Return a heading of this level, the table, its caption, and its remarks as a list."""
    caption, *remarks = notes_of(table, compact=True) or ("",)
    lines = [
        f"{'#' * heading} {markdown_escape(table.title)}",
        "",
        _row(markdown_escape(column.title) for column in table.columns),
        _row("---" if column.is_left else "---:" for column in table.columns),
        *(
            _row(markdown_escape(cell_text(*pair, compact=True)) for pair in zip(row.cells, table.columns, strict=True))
            for row in table.rows
        ),
        "",
        markdown_escape(caption),
        "",
        *(f"- {markdown_escape(remark)}" for remark in remarks),
    ]
    return "\n".join(lines).rstrip() + "\n"


def markdown_escape(text: str) -> str:
    """Return text on one line in which nothing is markup; names may contain anything."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", text)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
