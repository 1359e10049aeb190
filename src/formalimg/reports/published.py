"""Published numbers beside runs: the tables that belong to their task and condition, as they were printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalimg.reports.comparison_model import PublishedRow
from formalimg.reports.reference import ReferenceRow, reference_rows
from formalimg.reports.tables.format import epsilon_text
from formalimg.runs.manifest import RunManifest
from formalimg.stats.summary import generalizability, mean_of_levels
from formalimg.types import Benchmark


def published_rows(
    suite: Benchmark, manifests: Sequence[RunManifest], epsilon: float | None
) -> tuple[PublishedRow, ...]:
    """Return the published numbers that belong to runs of a suite, each table once.

    Means and G are as they were printed, which may differ in the last digit from what the rates give. What was not
    printed is computed from the rates, and said to be.
    """
    found = dict.fromkeys((manifest.task, manifest.condition) for manifest in manifests)  # in the order of the runs
    rows: dict[int, ReferenceRow] = {}
    for task, condition in found:
        rows.update((id(row), row) for row in reference_rows(suite.name, task=task, condition=condition))
    return tuple(_published(row, suite, epsilon) for row in rows.values())


def _published(row: ReferenceRow, suite: Benchmark, epsilon: float | None) -> PublishedRow:
    bands: dict[str, float | None] = {}
    computed = []
    for band, levels in suite.bands.items():
        value = row.printed.get(band)
        if value is None and not suite.has_scores:  # bands of scores are ratios of the unrounded means
            value = mean_of_levels(levels, row.rates)
            computed += [band] if value is not None else []
        bands[band] = value
    held = None
    if epsilon is not None:
        held = row.held if epsilon == suite.epsilon else None
        if held is None and _is_complete(row.rates):
            held = generalizability(row.rates, epsilon)
            computed.append(f"G{epsilon_text(epsilon)}")
    return PublishedRow(
        row.model,
        row.source,
        row.rates,
        bands,
        held,
        row.judge,
        row.task,
        row.condition,
        tuple(computed),
        row.digits,
    )


def _is_complete(rates: Mapping[int, float]) -> bool:
    return bool(rates) and sorted(rates) == list(range(1, max(rates) + 1))
