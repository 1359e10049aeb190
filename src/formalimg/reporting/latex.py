"""Tables for papers: LaTeX with booktabs."""

from __future__ import annotations

from formalimg.reporting.captions import caption, remarks
from formalimg.reporting.comparison import Comparison, Section
from formalimg.reporting.figures import epsilon_text
from formalimg.reporting.grid import Grid, Line, grid_of
from formalimg.reporting.latex_tables import latex_tables
from formalimg.reporting.latex_text import escaped, table_row


def latex(comparison: Comparison) -> str:
    """The tables of each suite, to be pasted into a paper that uses the package booktabs."""
    return "\n".join(
        piece
        for section in comparison.sections
        for piece in (_table(section, comparison), *(more for table in section.tables for more in latex_tables(table)))
    )


def _table(section: Section, comparison: Comparison) -> str:
    grid = grid_of(section)
    under = " ".join([caption(section, comparison, "G alone"), *remarks(section)])
    runs = [line for line in grid.lines if not line.published]
    published = [line for line in grid.lines if line.published]
    lines = [
        r"% needs \usepackage{booktabs}; \usepackage[T1]{fontenc} for quotation marks and letters beyond a to z",
        r"\begin{table*}",
        r"  \centering",
        r"  \footnotesize",
        r"  \setlength{\tabcolsep}{2.5pt}",
        rf"  \caption{{{escaped(under)}}}",
        rf"  \begin{{tabular}}{{l{'r' * len(grid.levels)}{'r' * len(grid.bands)}{'r' if grid.held else ''}r}}",
        r"    \toprule",
        *_heads(grid, section),
        r"    \midrule",
        *(_line(line, grid) for line in runs),
        *([r"    \midrule"] if published else []),
        *(_line(line, grid) for line in published),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _heads(grid: Grid, section: Section) -> list[str]:
    held = [] if section.epsilon is None else [f"$G_{{{epsilon_text(section.epsilon)}}}$"]
    cells = ["", *map(escaped, grid.levels), *map(escaped, grid.bands), *held, "scored"]
    if not grid.levels or not grid.level:
        return [table_row(cells)]
    last = 1 + len(grid.levels)
    return [
        rf"    & \multicolumn{{{len(grid.levels)}}}{{c}}{{${escaped(grid.level)}$}} \\",
        rf"    \cmidrule(lr){{2-{last}}}",
        table_row(cells),
    ]


def _line(line: Line, grid: Grid) -> str:
    return table_row(
        [*map(escaped, [line.name, *line.levels, *line.bands, *([line.held] if grid.held else []), line.scored])]
    )
