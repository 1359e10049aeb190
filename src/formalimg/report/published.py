"""Published figures beside our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalimg.report.comparison import PublishedRow
from formalimg.stats import generalizability
from formalimg.suites import Suite


def published_rows(suite: Suite, epsilon: float | None) -> tuple[PublishedRow, ...]:
    """The published figures of a suite, summed up as runs are."""
    from formalimg.report.reference import reference_rows  # here: most reports have none

    return tuple(
        PublishedRow(
            row.model,
            row.source,
            row.rates,
            {band: _mean(row.rates, levels) for band, levels in suite.bands.items()},
            None if epsilon is None else _held(row.rates, epsilon),
        )
        for row in reference_rows(suite.name)
    )


def _mean(rates: Mapping[int, float], levels: Sequence[int]) -> float | None:
    found = [rates.get(level) for level in levels]
    known = [rate for rate in found if rate is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def _held(rates: Mapping[int, float], epsilon: float) -> int | None:
    """The generalizability; None if a level is not published."""
    complete = bool(rates) and sorted(rates) == list(range(1, max(rates) + 1))
    return generalizability(rates, epsilon) if complete else None
