"""The cells of tables as they are written."""

from __future__ import annotations

from formalimg.reporting.figures import INCOMPLETE, NOTHING
from formalimg.reporting.scales import PERCENT, SCORE
from formalimg.reporting.tables import Cell, Figure, Table


def cell_text(cell: Cell) -> str:
    """A cell in words, with what belongs to it: an interval, a ±, the mark of figures that lack images."""
    if isinstance(cell, str):
        return cell
    text = figure_text(cell) + (INCOMPLETE if cell.is_incomplete else "")
    bounds = bounds_text(cell)
    return f"{text} ({bounds})" if bounds else text


def figure_text(figure: Figure) -> str:
    """The figure without interval and mark."""
    value = figure.value
    if value is None:
        return NOTHING
    match figure.form:
        case "percent":
            return PERCENT.text(value)
        case "score":
            return SCORE.text(value)
        case "difference":
            return _signed(value)
        case "share":
            return _share(value) if figure.margin is None else f"{_share(value)} ± {_share(figure.margin)}"
        case "decimal":
            return f"{value:,.1f}"
        case "dollars":
            return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"
        case "count":
            return f"{value:,.0f}"


def bounds_text(figure: Figure) -> str:
    """The interval of a figure, written as the figure is; empty for figures that have none beside them."""
    if figure.value is None or figure.interval is None:
        return ""
    match figure.form:
        case "percent":
            return PERCENT.interval(figure.interval)
        case "score":
            return SCORE.interval(figure.interval)
        case "difference":
            return f"{_signed(figure.interval.low)} to {_signed(figure.interval.high)}"
    return ""


def note_of(table: Table) -> str:
    """What stands under the table: how its figures were made, and what their marks mean."""
    marked = any(isinstance(cell, Figure) and cell.is_incomplete for row in table.rows for cell in row.cells)
    return f"{table.note} {INCOMPLETE} not all images were scored." if marked else table.note


def words_in_front(table: Table) -> int:
    """How many columns say what the figures behind them are about."""
    return next(
        (n for n, _ in enumerate(table.heads) if any(isinstance(row.cells[n], Figure) for row in table.rows)),
        len(table.heads),
    )


def _signed(value: float) -> str:
    """A difference of scores: +0.07, −0.12, 0.00."""
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text in ("+0.00", "−0.00") else text


def _share(value: float) -> str:
    """A share with two decimals and no zero in front: .52."""
    text = f"{value:.2f}"
    return text.removeprefix("0") if text.startswith("0.") else text
