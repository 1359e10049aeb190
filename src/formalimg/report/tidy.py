"""The figures one by one, for spreadsheets and plotting: CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from formalimg.report.comparison import Comparison, PublishedRow, Row, Section
from formalimg.stats import Band, Interval, Rate

COLUMNS = (
    "suite",
    "run",
    "model",
    "task",
    "condition",
    "judge",
    "samples",
    "seed",
    "size",
    "figure",
    "name",
    "passed",
    "scored",
    "expected",
    "value",
    "low",
    "high",
    "missing",
    "confidence",
)
"""What each line tells. `figure` is level, band, overall or generalizability; `name` says which of them."""


def tidy_csv(comparison: Comparison) -> str:
    """One line for each run and figure, with counts and intervals; rates are 0 to 1, what is not known is empty."""
    page = io.StringIO()
    table = csv.DictWriter(page, COLUMNS, lineterminator="\n")
    table.writeheader()
    for section in comparison.sections:
        for row in section.rows:
            common = {
                "suite": section.suite.name,
                "run": row.name,
                "model": row.card.model.name,
                "task": row.card.task,
                "condition": row.card.condition,
                "judge": row.card.judge.name if row.card.judge else None,
                "samples": row.card.samples,
                "seed": row.card.seed,
                "size": row.card.size,
                "missing": comparison.missing,
                "confidence": comparison.confidence,
            }
            table.writerows({**common, **figure} for figure in _figures_of_run(row))
        for published in section.published:
            common = {"suite": section.suite.name, "run": published.name, "model": published.name}
            table.writerows({**common, **figure} for figure in _figures_published(published, section))
    return page.getvalue()


def _figures_of_run(row: Row) -> Iterator[dict[str, object]]:
    summary = row.summary
    for level, rate in summary.levels.items():
        yield _rate("level", str(level), rate)
    for name, band in summary.bands.items():
        yield _band(name, band, row)
    yield _rate("overall", "all pictures", summary.overall)
    held = summary.generalizability
    if held is not None:
        bounds = {"value": held.value, "low": held.low, "high": held.high}
        yield {"figure": "generalizability", "name": f"{held.epsilon:g}", **bounds}


def _rate(figure: str, name: str, rate: Rate) -> dict[str, object]:
    counts = {"passed": rate.passed, "scored": rate.scored, "expected": rate.expected}
    return {"figure": figure, "name": name, **counts, "value": rate.value, **_bounds(rate.interval)}


def _band(name: str, band: Band, row: Row) -> dict[str, object]:
    rates = [row.summary.levels[level] for level in band.levels if level in row.summary.levels]
    counts = {
        "passed": sum(rate.passed for rate in rates),
        "scored": sum(rate.scored for rate in rates),
        "expected": sum(rate.expected for rate in rates),
    }
    return {"figure": "band", "name": name, **counts, "value": band.value, **_bounds(band.interval)}


def _bounds(interval: Interval | None) -> dict[str, object]:
    return {"low": interval.low, "high": interval.high} if interval else {}


def _figures_published(row: PublishedRow, section: Section) -> Iterator[dict[str, object]]:
    for level, rate in row.rates.items():
        yield {"figure": "level", "name": str(level), "value": rate}
    for name, mean in row.bands.items():
        yield {"figure": "band", "name": name, "value": mean}
    if section.epsilon is not None:
        yield {"figure": "generalizability", "name": f"{section.epsilon:g}", "value": row.generalizability}
