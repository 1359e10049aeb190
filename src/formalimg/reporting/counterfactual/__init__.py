"""What there is to tell about runs of CF-World and its probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from formalimg.reporting.counterfactual.dimensions import by_dimension
from formalimg.reporting.counterfactual.fields import by_field
from formalimg.reporting.counterfactual.gating import raw_and_gated
from formalimg.reporting.counterfactual.graded import WHY_NOT_COUNTED, graded_images
from formalimg.reporting.counterfactual.probes import by_group, differences
from formalimg.reporting.counterfactual.summary import score_summary
from formalimg.reporting.counterfactual.unscored import groups_without_scores
from formalimg.reporting.reading import HowCounted, SeenRun
from formalimg.reporting.tables import Table
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
    "graded_images",
    "score_summary",
]
