"""Columns that the tables of CF-World have in common."""

from __future__ import annotations

from collections.abc import Iterable

from formalimg.reporting.reading import HowCounted, SeenRun
from formalimg.reporting.tables import Cell, Figure
from formalimg.reporting.words import level_name
from formalimg.stats import MeanScore, ScoreSummary
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


def ratio_figures(suite: Suite, summary: ScoreSummary) -> tuple[Cell, ...]:
    """PRR and RRR, where the suite has them, with the counts of the two levels that each is made of."""
    ratios = {"PRR": summary.prr, "RRR": summary.rrr}
    return tuple(
        Figure(
            ratios[name].value,
            "score",
            ratios[name].interval,
            scored=sum(summary.levels[level].scored for level in levels if level in summary.levels),
            expected=sum(summary.levels[level].expected for level in levels if level in summary.levels),
        )
        for name, levels in suite.bands.items()
    )


def intervals_told(how: HowCounted) -> str:
    """What stands behind the figures."""
    return f"With the {100 * how.confidence:g} % interval, over groups"
