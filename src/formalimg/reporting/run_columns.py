"""The column that says which run a row is about: there only where there are several."""

from __future__ import annotations

from collections.abc import Sequence, Sized

from formalimg.reporting.tables import Figure, TableRow


def run_head(runs: Sized) -> tuple[str, ...]:
    """The head of the column, if there is one."""
    return ("run",) if len(runs) > 1 else ()


def run_cell(name: str, runs: Sized) -> tuple[str, ...]:
    """The cell of the column, if there is one."""
    return (name,) if len(runs) > 1 else ()


def with_figures(rows: Sequence[TableRow]) -> tuple[TableRow, ...]:
    """The rows, if any of them has a rate or a mean; counts alone tell nothing."""
    cells = (cell for row in rows for cell in row.cells if isinstance(cell, Figure))
    there = any(cell.form in ("percent", "score") and cell.value is not None for cell in cells)
    return tuple(rows) if there else ()
