"""Tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from formalimg._util.text import visible
from formalimg.reports.tables.format import cell_text, notes_of
from formalimg.types import Table

_MARKUP = re.compile(r"[\\`*_\[\]|~]|\$(?!\d)")  # What is markup anywhere in a line; a dollar before an amount is none
_BLOCK = re.compile(r"^(?:\d{1,9}(?=[.)](?:\s|$))|(?=#{1,6}(?:\s|$)|>|[+-](?:\s|$)|--|=+$))")
"""The beginning of a line, up to what makes it a heading, a list, a quotation or a rule."""


def render_markdown(table: Table, heading: int = 2) -> str:
    """Return a table as Markdown: a heading of the given level, the table, its caption, and its remarks as a list."""
    caption, *remarks = notes_of(table, compact=True) or ("",)
    lines = [
        f"{'#' * heading} {markdown_escape(table.title)}",
        "",
        _table_row(markdown_escape(column.title) for column in table.columns),
        _table_row("---" if column.is_left else "---:" for column in table.columns),
        *(
            _table_row(
                markdown_escape(cell_text(*pair, compact=True)) for pair in zip(row.cells, table.columns, strict=True)
            )
            for row in table.rows
        ),
        "",
        markdown_escape(caption),
        "",
        *(f"- {markdown_escape(remark)}" for remark in remarks),
    ]
    return "\n".join(lines).rstrip() + "\n"


def markdown_escape(text: str) -> str:
    """Escape text for Markdown, on one line and without any markup."""
    text = visible(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
    return _BLOCK.sub(r"\g<0>\\", _MARKUP.sub(r"\\\g<0>", text))


def markdown_code(lines: Iterable[str], language: str) -> str:
    """Return a fenced code block that its lines cannot end early, with control characters escaped."""
    code = [visible(line, one_line=True) for line in lines]
    longest = max((len(run) for line in code for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *code, fence, ""])


def _table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
