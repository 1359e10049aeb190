"""Tables in LaTeX, for papers that use the package booktabs, in Markdown, and as HTML fragments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple
from unicodedata import normalize

from formalimg._util.text import render_template, visible
from formalimg.reports.tables.format import (
    INCOMPLETE,
    NOTHING,
    bounds_text,
    caption_text,
    cell_text,
    incomplete_mark,
    interval_text,
    notes_of,
    number_text,
)
from formalimg.reports.tables.model import Column, Number, TableRow, number_in, starts_published
from formalimg.types import Table

_MAX_LINES = 50  # The number of lines that fit on a page; longer tables are continued in another
_PACKAGES = r"% needs \usepackage{booktabs}; \usepackage[T1]{fontenc} for quotation marks and letters beyond a to z"

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    INCOMPLETE: r"\textdagger{}",
    NOTHING: "--",
    "ε": r"$\varepsilon$",
    "±": r"$\pm$",
    "√": r"$\surd$",
    "−": "$-$",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
}

_LETTERS = (set(map(chr, range(0xA1, 0x180))) - set("ĦħĸĿŀŉŦŧſ")) | set("—‘’“”…•€™")
"""What LaTeX has letters for besides ASCII, in the encoding T1 and with any of its engines."""

_LIGATURES = {"--", "``", "''", ",,", "!`", "?`"}  # Two characters that LaTeX takes for one: dashes and quotation marks


def render_latex(table: Table) -> Iterator[str]:
    """Yield a table as `table*` environments, continuing long tables on the next page."""
    for numbers in _split_pages(table):
        note = caption_text(table)
        # A caption that begins with the title does not repeat it.
        first = note if note.startswith(table.title) else f"{table.title}. {note}"
        yield _page_table(table, numbers, first if numbers.start == 0 else f"{table.title}, continued.")


def _split_pages(table: Table) -> Iterator[range]:
    """Yield the rows of each page, counting two lines for rows with compact intervals and three with bounds."""
    start = lines = 0
    for number, row in enumerate(table.rows):
        height = 1 + len(_lines_below(table, row))
        if lines + height > _MAX_LINES:
            yield range(start, number)
            start, lines = number, 0
        lines += height
    if table.rows:
        yield range(start, len(table.rows))


def latex_escape(text: str) -> str:
    """Escape text for LaTeX, replacing characters that fonts may lack with their code, such as U+6A21."""
    line = " ".join(normalize("NFC", text).split())
    pairs = zip(line, f"{line[1:]} ", strict=False)
    return "".join(_escape_character(first) + "{}" * (first + second in _LIGATURES) for first, second in pairs)


def latex_row(cells: Iterable[str]) -> str:
    """Join escaped cells into a table row."""
    row = " & ".join(cells)
    # LaTeX would take either for an option of what ends the row before.
    guard = "{}" if row.startswith(("[", "*")) else ""
    return rf"    {guard}{row} \\"


def _page_table(table: Table, numbers: range, caption: str) -> str:
    lines = [
        *([_PACKAGES] if table.placement == "result" else []),
        r"\begin{table*}",
        r"  \centering",
        r"  \footnotesize",
        r"  \setlength{\tabcolsep}{2.5pt}",
        rf"  \caption{{{latex_escape(caption)}}}",
        rf"  \begin{{tabular}}{{{''.join('l' if column.is_left else 'r' for column in table.columns)}}}",
        r"    \toprule",
        *_head_rows(table),
        r"    \midrule",
        *_body_rows(table, numbers),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _head_rows(table: Table) -> Iterator[str]:
    grouped = any(column.needs_group for column in table.columns)
    if grouped:
        cells, rules, at = [], [], 1
        for group, columns in groupby(table.columns, lambda column: column.group if column.needs_group else ""):
            width = len(list(columns))
            # A letter is a variable of the paper, anything else a word.
            head = f"${group}$" if len(group) == 1 and group.isalpha() else latex_escape(group)
            cells += [rf"\multicolumn{{{width}}}{{c}}{{{head}}}"] if group else [""] * width
            rules += [rf"    \cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
            at += width
        while cells[-1] == "":
            cells.pop()
        yield latex_row(cells)
        yield from rules
    yield latex_row(map(_column_head, table.columns))


def _column_head(column: Column) -> str:
    if column.subscript:
        return f"${column.head}_{{{latex_escape(column.subscript)}}}$"
    return latex_escape(column.short if column.needs_group else column.title)


def _body_rows(table: Table, numbers: range) -> Iterator[str]:
    for number in numbers:
        row = table.rows[number]
        if number > numbers.start and starts_published(table, number):
            yield r"    \midrule"
        yield latex_row(_first_lines(table, row))
        # Compact intervals stand below their numbers, as there would be no room beside them.
        for texts in _lines_below(table, row):
            yield latex_row(rf"{{\scriptsize {latex_escape(text)}}}" if text else "" for text in texts)


def _first_lines(table: Table, row: TableRow) -> Iterator[str]:
    for n, (cell, column) in enumerate(zip(row.cells, table.columns, strict=True)):
        number = number_in(table, row, n)
        if number is None or column.interval == "full":
            yield latex_escape(cell_text(cell, column))
        else:
            yield latex_escape(f"{number_text(number, column)}{incomplete_mark(number, column)}")


def _lines_below(table: Table, row: TableRow) -> list[list[str]]:
    """Return the small lines below the numbers of a row: compact intervals, then bounds, if any."""
    numbers = [
        number_in(table, row, n) if column.interval == "compact" else None for n, column in enumerate(table.columns)
    ]
    pairs = list(zip(numbers, table.columns, strict=True))
    intervals = ["" if number is None else interval_text(number, column, compact=True) for number, column in pairs]
    bounds = ["" if number is None else bounds_text(number, column) for number, column in pairs]
    return [texts for texts in (intervals, bounds) if any(texts)]


def _escape_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    is_known = character in _LETTERS or (character.isascii() and character.isprintable())
    return character if is_known else f"U+{ord(character):04X}"


# --- Markdown

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


_MAX_ROWS = 30  # Longer tables are collapsed, unless their placement says otherwise


def render_html(table: Table, tones: Mapping[str, str] | None = None, *, heading: bool = True) -> str:
    """Return a table as an HTML fragment of heading, table, caption and remarks, with all texts escaped."""
    columns = []
    for n, column in enumerate(table.columns):
        numbers = (number_in(table, row, n) for row in table.rows)
        has_intervals = any(number is not None and interval_text(number, column) for number in numbers)
        columns.append(_HtmlColumn(column, heading, has_intervals))
    bodies: dict[str, list[dict[str, object]]] = {"": [], "bound": [], "published": []}
    for row in table.rows:
        body = "published" if row.is_published else "bound" if row.is_baseline else ""
        kind = "" if row.is_published else (tones or {}).get(row.run, "")
        cells = [_build_cell(table, row, n, column) for n, column in enumerate(columns)]
        bodies[body].append({"cells": cells, "kind": kind, "title": row.title})
    # Headings over groups of columns; rates and scores without a group have an empty one of their own.
    groups = groupby(table.columns, lambda column: (column.group, column.type in ("percent", "score")))
    is_long = len(table.rows) > _MAX_ROWS if table.placement == "more" else table.placement == "detail"
    return render_template(
        "formalimg.reports.tables",
        "table.html",
        table=table,
        notes=notes_of(table, compact=True),
        heading=heading,
        columns=columns,
        groups=[] if heading else [{"head": head, "width": len(list(group))} for (head, _), group in groups],
        bodies=[(kind, rows) for kind, rows in bodies.items() if rows],
        is_collapsed=heading and is_long,
    )


class _HtmlColumn(NamedTuple):
    column: Column
    is_detail: bool
    has_intervals: bool

    @property
    def kind(self) -> str:
        """The CSS class of the heading, which aligns it with the numbers of the column rather than their intervals."""
        if self.column.is_left and self.is_detail:
            return "words"
        if self.column.starts:
            return "first"
        return "ranged" if self.is_detail and self.has_intervals else ""

    @property
    def head(self) -> str:
        return self.column.short if self.column.needs_group else self.column.head


def _build_cell(table: Table, row: TableRow, n: int, html_column: _HtmlColumn) -> dict[str, object]:
    """Return the data of a cell, whose `interval` is None if the column has none and empty if the number has none."""
    column, number = html_column.column, number_in(table, row, n)
    kind = "" if html_column.kind == "ranged" else html_column.kind
    if number is None:
        text = str(row.cells[n])
        swatch = bool(text) and text == row.run and not row.is_published
        return {"text": text, "mark": "", "interval": None, "title": "", "kind": kind, "bounds": "", "swatch": swatch}
    interval: str | None = interval_text(number, column, compact=column.interval == "compact")
    # In a table with headings a number without an interval stands below those that have one.
    if not interval and not (html_column.is_detail and html_column.has_intervals):
        interval = None
    return {
        "text": number_text(number, column),
        "mark": incomplete_mark(number, column),
        "interval": interval,
        "title": _counts_title(number, column),
        "kind": kind,
        "bounds": bounds_text(number, column),
        "swatch": False,
    }


def _counts_title(number: Number, column: Column) -> str:
    """Return the counts behind a number, and its exact interval if it is shown rounded."""
    if number.value is None:
        return ""
    counts = []
    if number.coverage is not None:
        counts.append(f"{100 * number.coverage:.1f} % scored")
    elif column.type != "scored":
        if number.passed is not None:
            counts.append(f"{number.passed:,} passed")
        if number.scored is not None:
            counts.append(f"{number.scored:,} of {number.expected or 0:,} scored")
    interval = interval_text(number, column) if column.interval == "compact" else ""
    return "; ".join(filter(None, [interval, ", ".join(counts)]))
