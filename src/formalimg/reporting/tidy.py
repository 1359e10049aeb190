"""The figures one by one, for spreadsheets and plotting: CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from formalimg.reporting.cells import words_in_front
from formalimg.reporting.comparison import Comparison, PublishedRow, Row, Section
from formalimg.reporting.counterfactual.graded import has_gate
from formalimg.reporting.tables import Figure, Table, TableRow, exported_label
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
    "profile",
    "threshold",
)
"""What each line tells. `figure` is level, band, overall or generalizability, or the name of another table; `name` says
which of them. `threshold` is empty for suites without a gate."""


def tidy_csv(comparison: Comparison) -> str:
    """One line for each run and figure, with counts and intervals; rates are 0 to 1, what is not known is empty."""
    page = io.StringIO()
    table = csv.DictWriter(page, COLUMNS, lineterminator="\n")
    table.writeheader()
    for section in comparison.sections:
        runs = {row.name: _about_run(row, section, comparison) for row in section.rows}
        for row in section.rows:
            table.writerows({**runs[row.name], **figure} for figure in _figures_of_run(row))
        for published in section.published:
            common = _about_published(published.name, published.model, published.judge, section)
            table.writerows({**common, **figure} for figure in _figures_published(published, section))
        for more in section.tables:
            for line in more.rows:
                ours = None if line.published else runs.get(line.run)  # others may have published under the same name
                common = ours or _about_published(line.run, line.model, line.judge, section)
                table.writerows({**common, **figure} for figure in _figures_of_line(line, more))
    return page.getvalue()


def _about_run(row: Row, section: Section, comparison: Comparison) -> dict[str, object]:
    return {
        "suite": section.suite.name,
        "run": row.name,
        "model": row.manifest.model.name,
        "task": row.manifest.task,
        "condition": row.manifest.condition,
        "judge": row.manifest.judge.name if row.manifest.judge else None,
        "samples": row.manifest.samples,
        "seed": row.manifest.seed,
        "size": row.manifest.size,
        "missing": comparison.missing,
        "confidence": comparison.confidence,
        "profile": comparison.profile,
        "threshold": comparison.threshold if has_gate(section.suite) else None,
    }


def _about_published(name: str, model: str, judge: str, section: Section) -> dict[str, object]:
    """What is known of the figures of others; nothing but the suite where figures are about the items alone."""
    return {"suite": section.suite.name, "run": name, "model": model, "judge": judge}


def _figures_of_line(line: TableRow, table: Table) -> Iterator[dict[str, object]]:
    """One line for each figure of a table, named by the words in front of it and the head over it."""
    front = line.cells[: words_in_front(table)]
    words = [cell for cell in front if isinstance(cell, str) and cell not in ("", line.run)]
    for head, cell in zip(table.heads, line.cells, strict=True):
        if isinstance(cell, Figure):
            counts = {"passed": cell.passed, "scored": cell.scored, "expected": cell.expected}
            name = exported_label(", ".join([*words, head]))
            yield {"figure": table.name, "name": name, **counts, "value": cell.value, **_bounds(cell.interval)}


def _figures_of_run(row: Row) -> Iterator[dict[str, object]]:
    summary = row.summary
    for level, rate in summary.levels.items():
        yield _rate("level", str(level), rate)
    for name, band in summary.bands.items():
        yield _band(name, band, row)
    yield _rate("overall", exported_label("all images"), summary.overall)
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
