"""Tables besides the main one for papers: LaTeX with booktabs."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.reporting.cells import cell_text, note_of
from formalimg.reporting.columns import holds_words
from formalimg.reporting.latex_text import escaped, table_row
from formalimg.reporting.tables import Table

_LONGEST = 50
"""So many rows fit on a page; longer tables are continued in another."""


def latex_tables(table: Table) -> Iterator[str]:
    """The table as LaTeX, in as many pieces as it takes."""
    for start in range(0, len(table.rows), _LONGEST):
        caption = f"{table.title}. {note_of(table)}" if start == 0 else f"{table.title}, continued."
        yield _piece(table._replace(rows=table.rows[start : start + _LONGEST]), caption, table)


def _piece(piece: Table, caption: str, whole: Table) -> str:
    columns = "".join("l" if holds_words(whole, column) else "r" for column, _ in enumerate(whole.heads))
    lines = [
        r"\begin{table*}",
        r"  \centering",
        r"  \footnotesize",
        rf"  \caption{{{escaped(caption)}}}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        table_row(map(escaped, whole.heads)),
        r"    \midrule",
        *_body(piece),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _body(piece: Table) -> Iterator[str]:
    for number, row in enumerate(piece.rows):
        if number and row.published and not piece.rows[number - 1].published:
            yield r"    \midrule"
        yield table_row(escaped(cell_text(cell)) for cell in row.cells)
