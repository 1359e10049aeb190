"""What the gate takes: scores as the judge gave them beside those that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalimg.reporting.counterfactual.captions import scoring_rules
from formalimg.reporting.counterfactual.columns import intervals_told, levels_of, mean_figure
from formalimg.reporting.counterfactual.graded import WHY_NOT_COUNTED
from formalimg.reporting.counterfactual.summary import gated_means, means
from formalimg.reporting.reading import HowCounted, SeenRun
from formalimg.reporting.run_columns import with_figures
from formalimg.reporting.tables import Figure, Table, TableRow
from formalimg.reporting.words import level_name
from formalimg.suites import Suite


def raw_and_gated(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """Raw and gated means by level, and for how many images the gate is closed or not known."""
    rules = ". ".join(scoring_rules(suite, how.missing, how.threshold, how.profile, with_ratios=False))
    return Table(
        "raw and gated",
        "Scores as the judge gave them, and as they count",
        f"raw: without the gate. {intervals_told(how)}. closed: images that count as 0, and their share of all that "
        f"count, in percent. unknown: images whose gate nobody knows. {rules}.",
        ("run", "level", "raw", "gated", "closed", "share closed", "unknown"),
        with_figures([row for run in runs for row in _rows(suite, run, runs, how)]),
    )


def _rows(suite: Suite, run: SeenRun, runs: Sequence[SeenRun], how: HowCounted) -> Iterator[TableRow]:
    raw = means((one._replace(counting=one.score) for one in run.graded), how)
    gated = gated_means(run.graded, suite, how)
    for level in levels_of(runs):
        here = [one for one in run.graded if one.level == level]
        counting = sum(one.counting is not None for one in here)
        closed = sum(one.is_gated for one in here)
        yield TableRow(
            run.name,
            (
                run.name,
                level_name(suite, level),
                mean_figure((gated if level == 1 else raw).levels.get(level)),  # the factual level has no gate
                mean_figure(gated.levels.get(level)),
                Figure(closed, "count"),
                Figure(closed / counting if counting and level > 1 else None, "percent"),
                Figure(sum(one.reason in WHY_NOT_COUNTED for one in here), "count"),
            ),
        )
