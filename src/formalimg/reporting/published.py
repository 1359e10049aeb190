"""Published figures beside our own."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.reporting.comparison import PublishedRow
from formalimg.reporting.figures import epsilon_text
from formalimg.stats import generalizability, mean_of_levels
from formalimg.suites import Suite


def published_rows(suite: Suite, epsilon: float | None) -> tuple[PublishedRow, ...]:
    """The published figures of a suite, summed up as runs are."""
    from formalimg.reporting.reference import reference_rows  # here: most reports have none

    return tuple(
        PublishedRow(
            row.model,
            row.source,
            row.rates,
            row.ratios or {band: mean_of_levels(levels, row.rates) for band, levels in suite.bands.items()},
            None if epsilon is None else _held(row.rates, epsilon),
            row.judge,
        )
        for row in reference_rows(suite.name)
    )


def worked_out(suite: Suite, epsilon: float | None) -> list[str]:
    """The figures beside published ones that nobody published in this form: we worked them out from the others."""
    bands = [] if suite.kind == "counterfactual" else list(suite.bands)  # PRR and RRR are as printed
    return bands if epsilon is None else [*bands, f"G{epsilon_text(epsilon)}"]


def _held(rates: Mapping[int, float], epsilon: float) -> int | None:
    """The generalizability; None if a level is not published."""
    complete = bool(rates) and sorted(rates) == list(range(1, max(rates) + 1))
    return generalizability(rates, epsilon) if complete else None
