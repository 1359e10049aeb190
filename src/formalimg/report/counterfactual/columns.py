"""Columns that the tables of CF-World have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formalimg.report.reading import HowCounted, SeenRun
from formalimg.report.tables import Cell, Figure, TableRow
from formalimg.report.words import level_name
from formalimg.stats import MeanScore, ScoreRatio, ScoreSummary
from formalimg.suites import Suite


def levels_of(runs: Iterable[SeenRun]) -> list[int]:
    """The levels of these runs, in order."""
    return sorted({one.level for run in runs for one in run.graded})


def level_heads(suite: Suite, levels: Iterable[int]) -> tuple[str, ...]:
    """What the levels are called over a column."""
    return tuple(level_name(suite, level) for level in levels)


def mean_figure(mean: MeanScore | None) -> Figure:
    """A mean score as a figure."""
    if mean is None:
        return Figure(None, "score")
    return Figure(mean.value, "score", mean.interval, scored=mean.scored, expected=mean.expected)


def mean_figures(summary: ScoreSummary, levels: Iterable[int]) -> tuple[Cell, ...]:
    """The means of these levels as figures."""
    return tuple(mean_figure(summary.levels.get(level)) for level in levels)


def ratio_figure(ratio: ScoreRatio) -> Figure:
    """PRR or RRR as a figure."""
    return Figure(ratio.value, "score", ratio.interval)


def run_head(runs: Sequence[SeenRun]) -> tuple[str, ...]:
    """A column for the run, where there are several."""
    return ("run",) if len(runs) > 1 else ()


def named(run: SeenRun, runs: Sequence[SeenRun]) -> tuple[str, ...]:
    """The cell of that column."""
    return (run.name,) if len(runs) > 1 else ()


def with_figures(rows: Sequence[TableRow]) -> tuple[TableRow, ...]:
    """The rows, if any of them has a mean."""
    cells = (cell for row in rows for cell in row.cells)
    there = any(isinstance(cell, Figure) and cell.form == "score" and cell.value is not None for cell in cells)
    return tuple(rows) if there else ()


def intervals_told(how: HowCounted) -> str:
    """What stands behind the figures."""
    return f"With the {100 * how.confidence:g} % interval, over groups"
