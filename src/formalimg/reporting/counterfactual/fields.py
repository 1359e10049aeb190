"""Which fields of knowledge are hard: scores by discipline and branch."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.reporting.counterfactual.captions import scoring_rules
from formalimg.reporting.counterfactual.columns import (
    intervals_told,
    level_heads,
    levels_of,
    mean_figures,
    ratio_figures,
)
from formalimg.reporting.counterfactual.summary import gated_means
from formalimg.reporting.reading import HowCounted, SeenRun
from formalimg.reporting.run_columns import run_cell, run_head, with_figures
from formalimg.reporting.tables import Figure, Table, TableRow
from formalimg.suites import Suite


def by_field(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """Means by discipline and, below those that have branches, by branch."""
    levels = levels_of(runs)
    rows = []
    for field in _fields(runs):
        for run in runs:
            here = [one for one in run.graded if one.tags[: len(field)] == field]
            if here:
                summary = gated_means(here, suite, how)
                groups = Figure(len({one.group for one in here}), "count")
                words = (field[0], " ".join(field[1:]), *run_cell(run.name, runs))
                figures = (*mean_figures(summary, levels), *ratio_figures(suite, summary))
                rows.append(TableRow(run.name, (*words, groups, *figures)))
    return Table(
        "disciplines",
        "Scores by discipline and branch",
        f"{intervals_told(how)}. {'. '.join(scoring_rules(suite, how.missing, how.threshold, how.profile))}.",
        (
            *("discipline", "branch"),
            *run_head(runs),
            "groups",
            *level_heads(suite, levels),
            *suite.bands,
        ),
        with_figures(rows),
    )


def _fields(runs: Sequence[SeenRun]) -> list[tuple[str, ...]]:
    """Each discipline, followed by its branches."""
    tags = {one.tags for run in runs for one in run.graded if one.tags}
    return sorted({field for each in tags for field in (each[:1], each[:2])})
