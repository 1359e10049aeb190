"""Reports as data: CSV in long format, one line per run and number, and JSON with everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from formalimg._util.text import json_text
from formalimg.reports.comparison_model import Comparison, PublishedRow, RunRow, Section, Tally
from formalimg.reports.judge_quality import quality_data, quality_lines
from formalimg.reports.main_table import main_table
from formalimg.reports.notes import caption, remarks
from formalimg.reports.tables.data_formats import csv_rows, csv_text, json_number, json_table
from formalimg.reports.tables.format import BOUNDS_NOTE
from formalimg.reports.tables.model import TableRow, is_incomplete, number_in
from formalimg.stats.observations import Band, Interval, Rate
from formalimg.types import Table

CSV_COLUMNS = (
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
    "worst",
    "best",
    "items",
)
"""The columns of CSV reports. `figure` is level, band, overall, generalizability or rank; clause kind or predicate,
with the share of clauses that hold; dropped boxes and clause disagreements, with their shares; P(yes), over all
images, by level and by kind; or the name of another table. `name` says which of them. `threshold` is empty for suites
without a gate. `worst` and `best` are what the number would be if all images without a verdict failed, or all passed;
they are empty where all have one. `items` says whose items were run, in their version."""

_KNOWN = {"level", "band", "overall", "generalizability", "p_yes"}
"""Numbers of the main table that JSON reports have under names of their own."""


def comparison_csv(comparison: Comparison) -> str:
    """Return one line for each run and number, with counts and intervals; rates are 0 to 1, unknown values empty."""
    return csv_text(CSV_COLUMNS, (line for section in comparison.sections for line in _lines(section, comparison)))


def _lines(section: Section, comparison: Comparison) -> Iterator[dict[str, object]]:
    runs = {row.name: _run_fields(row, section, comparison) for row in section.rows}
    for table in (main_table(section, comparison), *section.tables):
        for row in table.rows:
            ours = None if row.is_published else runs.get(row.run)  # others may have published under the same name
            # Published numbers, or numbers of the items alone.
            common = ours or {"suite": section.suite.name, "run": row.run, "model": row.model, "judge": row.judge}
            yield from ({**common, **line} for line in _numbers(table, row))
    if section.suite.terms.is_code:  # other parts have tables of their own
        for run in section.rows:
            yield from ({**runs[run.name], **line} for line in _clause_lines(run))
    for run in section.rows:
        yield from ({**runs[run.name], **line} for line in quality_lines(run.quality))


def _numbers(table: Table, row: TableRow) -> list[dict[str, object]]:
    """Return the lines of a row; files of earlier versions have generalizability after the overall rate."""
    return sorted(csv_rows(table, row), key=lambda line: line["figure"] == "generalizability")


def _run_fields(row: RunRow, section: Section, comparison: Comparison) -> dict[str, object]:
    manifest = row.manifest
    return {
        "suite": section.suite.name,
        "run": row.name,
        "model": manifest.model.name,
        "task": manifest.task,
        "condition": manifest.condition,
        "judge": manifest.judge.name if manifest.judge else None,
        "samples": manifest.samples,
        "seed": manifest.seed,
        "size": manifest.size,
        "missing": comparison.missing,
        "confidence": comparison.confidence,
        "profile": comparison.profile,
        "threshold": None if section.suite.gate is None else comparison.threshold,
        "items": manifest.items_label,
    }


def comparison_json(comparison: Comparison, **more: object) -> str:
    """Return everything a comparison has as JSON; rates are 0 to 1, unknown values null. `more` is added at the end."""
    data = {
        "missing": comparison.missing,
        "confidence": comparison.confidence,
        "threshold": comparison.threshold,
        "profile": comparison.profile,
        "sections": [_section(section, comparison) for section in comparison.sections],
        **more,
    }
    return json_text(data)


def _section(section: Section, comparison: Comparison) -> dict[str, object]:
    table = main_table(section, comparison)
    runs = [row for row in table.rows if not row.is_published]
    return {
        "suite": section.suite.name,
        "title": section.suite.title,
        "epsilon": section.epsilon,
        "caption": caption(section, comparison) + (f" {BOUNDS_NOTE}" if is_incomplete(table) else ""),
        "remarks": remarks(section),
        "runs": [{**_run(row), **_other_numbers(table, cells)} for row, cells in zip(section.rows, runs, strict=True)],
        "published": [_published(row) for row in section.published],
        "tables": [json_table(table) for table in section.tables],
    }


def _other_numbers(table: Table, row: TableRow) -> dict[str, object]:
    """Return the numbers of the main table that `_run` does not know, by figure and name."""
    found: dict[str, dict[str, object]] = {}
    for n, column in enumerate(table.columns):
        number = number_in(table, row, n)
        if number is not None and column.figure not in _KNOWN:
            found.setdefault(column.figure or column.head, {})[column.name or column.head] = json_number(number, column)
    return dict(found)


def _run(row: RunRow) -> dict[str, object]:
    manifest = row.manifest
    return {
        "name": row.name,
        "folder": str(row.folder),
        "suite_version": manifest.suite_version,
        "items_digest": manifest.items_digest,
        "items": row.items,
        "pictures_of_each": row.images_of_each._asdict(),
        "model": asdict(manifest.model),
        "judge": asdict(manifest.judge) if manifest.judge else None,
        "samples": manifest.samples,
        "seed": manifest.seed,
        "size": manifest.size,
        "task": manifest.task,
        "condition": manifest.condition,
        "style": manifest.style,
        "prompts": manifest.prompts,
        "layouts": manifest.layouts,
        "created": manifest.created,
        "made_with": manifest.made_with,
        **_summary(row),
        "gated": len(row.gated),
        "unscored": dict(row.unscored),
        "unscored_details": {reason: detail._asdict() for reason, detail in row.details.items()},
        "failed_by_rule": dict(row.by_rule),
        "clauses_by_kind": _tallies(row.kinds),
        "clauses_by_predicate": _tallies(row.predicates),
        "cost": row.spent._asdict(),
        **quality_data(row.quality),
    }


def _summary(row: RunRow) -> dict[str, object]:
    summary, held = row.summary, row.summary.generalizability
    return {
        "levels": {str(level): _rate(rate, row.level_bounds(level)) for level, rate in summary.levels.items()},
        "bands": {name: _band(band, row.band_bounds(name)) for name, band in summary.bands.items()},
        "overall": _rate(summary.overall, row.overall_bounds()),
        "generalizability": {**held._asdict(), "missing_bounds": _interval(row.held_bounds())} if held else None,
    }


def _rate(rate: Rate, bounds: Interval | None) -> dict[str, object]:
    counts = {"passed": rate.passed, "scored": rate.scored, "expected": rate.expected}
    known = bounds if rate.scored < rate.expected else None
    return {
        **counts,
        "value": rate.value,
        "interval": _interval(rate.interval),
        "missing_bounds": _interval(known),
    }


def _band(band: Band, bounds: Interval | None) -> dict[str, object]:
    return {
        "levels": list(band.levels),
        "value": band.value,
        "interval": _interval(band.interval),
        "coverage": band.coverage,
        "missing_bounds": _interval(bounds if band.coverage < 1 else None),
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return list(interval) if interval else None


def _tallies(tallies: Mapping[str, Tally]) -> dict[str, dict[str, int]]:
    return {name: tally._asdict() for name, tally in tallies.items()}


def _published(row: PublishedRow) -> dict[str, object]:
    return {
        "name": row.name,
        "model": row.model,
        "judge": row.judge or None,
        "source": row.source,
        "levels": {str(level): rate for level, rate in row.rates.items()},
        "bands": dict(row.bands),
        "generalizability": row.generalizability,
    }


def _clause_lines(row: RunRow) -> Iterator[dict[str, object]]:
    """Yield the clauses of a run for CSV files, by kind and by predicate: how many were judged, and how many hold."""
    yield from _tally_lines("clause kind", row.kinds)
    yield from _tally_lines("predicate", row.predicates)


def _tally_lines(figure: str, tallies: Mapping[str, Tally]) -> Iterator[dict[str, object]]:
    for name, tally in tallies.items():
        counts = {"passed": tally.asked - tally.failed, "scored": tally.asked, "expected": tally.asked}
        yield {"figure": figure, "name": name, **counts, "value": 1 - tally.share}
