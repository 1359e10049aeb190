"""Export reports as data: long-format CSV with one line per run and number, and complete JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from formalimg._util.text import json_text, read_csv_cell
from formalimg.reports.comparison_model import Comparison, PublishedRow, RunRow, Section
from formalimg.reports.judge_quality import quality_data, quality_lines
from formalimg.reports.main_table import main_table
from formalimg.reports.notes import main_caption, main_remarks
from formalimg.reports.tables.format import BOUNDS_NOTE, csv_rows, csv_text, json_interval, json_number, json_table
from formalimg.reports.tables.model import is_incomplete, number_in
from formalimg.stats.observations import Interval, Rate

if TYPE_CHECKING:
    from formalimg.human_eval.agreement.studies import HumanStudy

_MANIFEST_COLUMNS = ("task", "condition", "samples", "seed", "size")

# `figure` is level, band, overall, generalizability or rank; clause kind or predicate, with the share of clauses that
# hold; dropped boxes and clause disagreements, with their shares; P(yes), over all images, by level and by kind; or the
# name of another table. `name` says which of them. `threshold` is empty for suites without a gate. `worst` and `best`
# are what the number would be if all images without a verdict failed, or all passed. `items` says whose items were run.
CSV_COLUMNS = (
    *("suite", "run", "model", "task", "condition", "judge", "samples", "seed", "size"),
    *("figure", "name", "passed", "scored", "expected", "value", "low", "high"),
    *("missing", "confidence", "profile", "threshold", "worst", "best", "items"),
)

_NAMED_FIGURES = {"level", "band", "overall", "generalizability", "p_yes"}  # In JSON under names of their own


def comparison_csv(comparison: Comparison, studies: Sequence[HumanStudy] = ()) -> str:
    """Return a comparison as CSV, one line per run and number, with rates from 0 to 1 and unknown values empty."""
    lines = [line for section in comparison.sections for line in _section_lines(section, comparison)]
    lines += [line for study in studies for line in _study_lines(study)]
    return csv_text(CSV_COLUMNS, lines)


def _section_lines(section: Section, comparison: Comparison) -> Iterator[dict[str, object]]:
    runs = {row.name: _run_fields(row, section, comparison) for row in section.rows}
    for table in (main_table(section, comparison), *section.tables):
        for cells in table.rows:
            run = None if cells.is_published else runs.get(cells.run)  # others may have published under the same name
            # Published numbers, or numbers of the items alone.
            common = run or {"suite": section.suite.name, "run": cells.run, "model": cells.model, "judge": cells.judge}
            # Files of earlier versions have generalizability after the overall rate.
            numbers = sorted(csv_rows(table, cells), key=lambda line: line["figure"] == "generalizability")
            yield from ({**common, **line} for line in numbers)
    for row in section.rows if section.suite.terms.is_code else ():  # other parts have tables of their own
        for figure, tallies in (("clause kind", row.kinds), ("predicate", row.predicates)):
            for name, tally in tallies.items():
                counts = {"passed": tally.asked - tally.failed, "scored": tally.asked, "expected": tally.asked}
                yield {**runs[row.name], "figure": figure, "name": name, **counts, "value": 1 - tally.share}
    for row in section.rows:
        yield from ({**runs[row.name], **line} for line in quality_lines(row.quality))


def _run_fields(row: RunRow, section: Section, comparison: Comparison) -> dict[str, object]:
    manifest = row.manifest
    return {
        "suite": section.suite.name,
        "run": row.name,
        "model": manifest.model.name,
        "judge": manifest.judge.name if manifest.judge else None,
        **{name: getattr(manifest, name) for name in _MANIFEST_COLUMNS},
        "missing": comparison.missing,
        "confidence": comparison.confidence,
        "profile": comparison.profile,
        "threshold": None if section.suite.gate is None else comparison.threshold,
        "items": manifest.items_label,
    }


def _study_lines(study: HumanStudy) -> Iterator[dict[str, object]]:
    """Yield one line for each number of a study of raters.

    `figure` is `people`, and `name` says which number and of what; `scored` counts the cases behind it, and `expected`
    also those that were left out.
    """
    from formalimg.human_eval.agreement.studies import human_study_text  # here, so that other reports are made faster

    values = ("value", "low", "high", "n", "left_out", "kappa", "kappa_low", "kappa_high")
    for cells in csv.DictReader(io.StringIO(human_study_text([study], "csv"))):
        line = {column: read_csv_cell(cell) for column, cell in cells.items()}
        labels = (label for column, label in line.items() if column not in (*values, "run") and label)
        n, left_out = line.get("n"), line.get("left_out")
        yield {
            "suite": study.suite,
            "figure": "people",
            "name": ", ".join(labels),
            "scored": n,
            "expected": int(n) + int(left_out) if n and left_out else None,
            **{name: line.get(name) for name in ("run", "value", "low", "high")},
            "confidence": study.confidence,
        }


# --- JSON


def comparison_json(comparison: Comparison, studies: Sequence[HumanStudy] = ()) -> str:
    """Return a comparison and its studies as JSON, with rates from 0 to 1 and unknown values as null."""
    data: dict[str, object] = {
        "missing": comparison.missing,
        "confidence": comparison.confidence,
        "threshold": comparison.threshold,
        "profile": comparison.profile,
        "sections": [_section_data(section, comparison) for section in comparison.sections],
    }
    if studies:
        from formalimg.human_eval.agreement.studies import human_study_text

        data["compared_with_people"] = json.loads(human_study_text(studies, "json"))
    return json_text(data)


def _section_data(section: Section, comparison: Comparison) -> dict[str, object]:
    table = main_table(section, comparison)
    runs = []
    for row, cells in zip(section.rows, (row for row in table.rows if not row.is_published), strict=True):
        other_numbers: dict[str, dict[str, object]] = {}
        for n, column in enumerate(table.columns):
            number = number_in(table, cells, n)
            if number is not None and column.figure not in _NAMED_FIGURES:
                figure = other_numbers.setdefault(column.figure or column.head, {})
                figure[column.name or column.head] = json_number(number, column)
        runs.append({**_run_data(row), **other_numbers})
    return {
        "suite": section.suite.name,
        "title": section.suite.title,
        "epsilon": section.epsilon,
        "caption": main_caption(section, comparison) + (f" {BOUNDS_NOTE}" if is_incomplete(table) else ""),
        "remarks": main_remarks(section),
        "runs": runs,
        "published": [_reference_data(row) for row in section.published],
        "tables": [json_table(table) for table in section.tables],
    }


def _run_data(row: RunRow) -> dict[str, object]:
    manifest, summary, general = row.manifest, row.summary, row.summary.generalizability
    general_bounds = row.bounds_of(lambda estimates: estimates.generalizability)
    bands = {
        name: {
            "levels": list(band.levels),
            "value": band.value,
            "interval": json_interval(band.interval),
            "coverage": band.coverage,
            "missing_bounds": json_interval(_bounds_at(row, "bands", name) if band.coverage < 1 else None),
        }
        for name, band in summary.bands.items()
    }
    settings = ("samples", "seed", "size", "task", "condition", "style", "prompts", "layouts", "created", "made_with")
    return {
        "name": row.name,
        "folder": str(row.folder),
        "suite_version": manifest.suite_version,
        "items_digest": manifest.items_digest,
        "items": row.items,
        "pictures_of_each": dict(zip(("fewest", "most"), row.images_of_each, strict=True)),
        "model": asdict(manifest.model),
        "judge": asdict(manifest.judge) if manifest.judge else None,
        **{name: getattr(manifest, name) for name in settings},
        "levels": {
            str(level): _rate_data(rate, _bounds_at(row, "levels", level)) for level, rate in summary.levels.items()
        },
        "bands": bands,
        "overall": _rate_data(summary.overall, row.bounds_of(lambda estimates: estimates.overall)),
        "generalizability": {**general._asdict(), "missing_bounds": json_interval(general_bounds)} if general else None,
        "gated": len(row.gated),
        "unscored": dict(row.unscored),
        "unscored_details": {reason: detail._asdict() for reason, detail in row.details.items()},
        "failed_by_rule": dict(row.by_rule),
        "clauses_by_kind": {name: tally._asdict() for name, tally in row.kinds.items()},
        "clauses_by_predicate": {name: tally._asdict() for name, tally in row.predicates.items()},
        "cost": row.spent._asdict(),
        **quality_data(row.quality),
    }


def _bounds_at(row: RunRow, numbers: Literal["levels", "bands"], key: int | str) -> Interval | None:
    return row.bounds_of(lambda estimates: getattr(estimates, numbers).get(key))


def _rate_data(rate: Rate, bounds: Interval | None) -> dict[str, object]:
    return {
        "passed": rate.passed,
        "scored": rate.scored,
        "expected": rate.expected,
        "value": rate.value,
        "interval": json_interval(rate.interval),
        "missing_bounds": json_interval(bounds if rate.scored < rate.expected else None),
    }


def _reference_data(row: PublishedRow) -> dict[str, object]:
    return {
        "name": row.name,
        "model": row.model,
        "judge": row.judge or None,
        "source": row.source,
        "levels": {str(level): rate for level, rate in row.rates.items()},
        "bands": dict(row.bands),
        "generalizability": row.generalizability,
    }
