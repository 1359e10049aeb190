"""All of a comparison as plain data: JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from formalimg.reporting.captions import caption, remarks
from formalimg.reporting.cells import note_of
from formalimg.reporting.comparison import Comparison, PublishedRow, Row, Section, Tally
from formalimg.reporting.tables import Cell, Table, exported_label
from formalimg.stats import Band, Interval, Rate, Summary


def json_text(comparison: Comparison) -> str:
    """Everything the comparison holds, as JSON; rates are 0 to 1, what is not known is null."""
    data = {
        "missing": comparison.missing,
        "confidence": comparison.confidence,
        "threshold": comparison.threshold,
        "profile": comparison.profile,
        "sections": [_section(section, comparison) for section in comparison.sections],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _section(section: Section, comparison: Comparison) -> dict[str, object]:
    return {
        "suite": section.suite.name,
        "title": section.suite.title,
        "epsilon": section.epsilon,
        "caption": caption(section, comparison),
        "remarks": remarks(section),
        "runs": [_run(row) for row in section.rows],
        "published": [_published(row) for row in section.published],
        "tables": [_table(table) for table in section.tables],
    }


def _run(row: Row) -> dict[str, object]:
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
        **_summary(row.summary),
        "gated": len(row.gated),
        "unscored": dict(row.unscored),
        "unscored_details": {reason: detail._asdict() for reason, detail in row.details.items()},
        "failed_by_rule": dict(row.by_rule),
        "clauses_by_kind": _tallies(row.kinds),
        "clauses_by_predicate": _tallies(row.predicates),
        "cost": row.spent._asdict(),
    }


def _summary(summary: Summary) -> dict[str, object]:
    held = summary.generalizability
    return {
        "levels": {str(level): _rate(rate) for level, rate in summary.levels.items()},
        "bands": {name: _band(band) for name, band in summary.bands.items()},
        "overall": _rate(summary.overall),
        "generalizability": held._asdict() if held else None,
    }


def _rate(rate: Rate) -> dict[str, object]:
    counts = {"passed": rate.passed, "scored": rate.scored, "expected": rate.expected}
    return {**counts, "value": rate.value, "interval": _interval(rate.interval)}


def _band(band: Band) -> dict[str, object]:
    return {
        "levels": list(band.levels),
        "value": band.value,
        "interval": _interval(band.interval),
        "coverage": band.coverage,
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return list(interval) if interval else None


def _tallies(tallies: Mapping[str, Tally]) -> dict[str, dict[str, int]]:
    return {name: tally._asdict() for name, tally in tallies.items()}


def _table(table: Table) -> dict[str, object]:
    return {
        "name": table.name,
        "title": table.title,
        "note": note_of(table),
        "heads": [exported_label(head) for head in table.heads],
        "rows": [
            {"run": row.run or None, "published": row.published, "cells": [_cell(cell) for cell in row.cells]}
            for row in table.rows
        ],
    }


def _cell(cell: Cell) -> str | dict[str, object]:
    """A figure is told with its ± only where that is not a side of the interval."""
    return cell if isinstance(cell, str) else {**cell._asdict(), "interval": _interval(cell.interval)}


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
