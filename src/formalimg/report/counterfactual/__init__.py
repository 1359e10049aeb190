"""What there is to tell about runs of CF-World and its probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalimg.report.counterfactual.dimensions import by_dimension
from formalimg.report.counterfactual.fields import by_field
from formalimg.report.counterfactual.gating import raw_and_gated
from formalimg.report.counterfactual.graded import WHY_NOT_COUNTED, graded_pictures
from formalimg.report.counterfactual.probes import by_group, differences
from formalimg.report.counterfactual.summary import score_summary
from formalimg.report.counterfactual.unscored import groups_without_scores
from formalimg.report.reading import HowCounted, SeenRun
from formalimg.report.tables import Table
from formalimg.suites import TAGGED_BY_FIELD, Suite


def counterfactual_tables(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
    """All tables about these runs; some may have no rows."""
    return tuple(_tables(suite, runs, how))


def _tables(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Iterator[Table]:
    if suite.bands:
        yield raw_and_gated(suite, runs, how)
    if {one.level for run in runs for one in run.graded} == {1, 2} and not suite.bands:
        yield differences(suite, runs, how)
        yield by_group(suite, runs, how)
    if suite.name in TAGGED_BY_FIELD:
        yield by_field(suite, runs, how)
    yield by_dimension(suite, runs, how)
    yield groups_without_scores(suite, runs)


__all__ = [
    "WHY_NOT_COUNTED",
    "counterfactual_tables",
    "graded_pictures",
    "score_summary",
]
