"""Shared parts of the tables, CSV rows and JSON of studies: columns, notes, exported keys, and the choice of format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from formalimg._util.text import json_text
from formalimg.human_eval.agreement.judge_agreement import MeanFraction
from formalimg.reports.tables.data_formats import csv_text, export_label
from formalimg.reports.tables.markdown import render_markdown
from formalimg.reports.tables.model import Cell, Column, Number, Placement, TableRow
from formalimg.reports.tables.terminal import render_terminal, terminal_plain_text
from formalimg.stats.agreement import Consistency, MeanConsistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import Rate
from formalimg.stats.precision_recall import Proportion
from formalimg.stats.reliability import Reliability
from formalimg.types import Table

StudyFormat: TypeAlias = Literal["terminal", "md", "csv", "json"]
"""The output formats of studies."""

CSV_COLUMNS = (
    *("figure", "of", "run", "first", "second", "level", "kind"),
    *("value", "low", "high", "n", "left_out", "kappa", "kappa_low", "kappa_high"),
)
"""The CSV columns of agreement: which figure, of what (images or questions), for whom and which part."""

_TERMINAL_WIDTH = 100
_EXPORTED_KEYS = {
    "attention": "conduct",
    "case_answers": "told",
    "expected_ratings": "wanted",
    "human": "people",
    "human_of_both": "people_of_both",
    "images": "pictures",
    "max_missed": "most_missed",
    "objects": "things",
    "without_image": "without_picture",
}
"""Exported JSON keeps the keys of earlier versions, so that scripts that read it go on."""

_OMITTED_IF_UNSET = {"cannot_tell", "fails_missing", "graded", "problem", "ranks_of_all", "reason", "rules"}
"""Fields that are exported only where they say something: most studies do without."""

_Part = TypeVar("_Part")
_Statistic: TypeAlias = Rate | MeanFraction | Consistency | Proportion | Estimate | Correlation | Reliability


def build_table(
    title: str,
    note: str,
    columns: Iterable[Column | str],
    rows: Iterable[Sequence[Cell]],
    placement: Placement = "more",
    name: str = "people",
) -> Table:
    """Return a table; a column that is only a heading holds texts."""
    typed = tuple(Column(column) if isinstance(column, str) else column for column in columns)
    return Table(name, title, typed, tuple(TableRow(tuple(cells)) for cells in rows), (note,), placement)


def number(statistic: _Statistic | None) -> Number:
    """Return a statistic as a number with its interval, without a mark for incomplete coverage: tables have counts."""
    return Number(None) if statistic is None else Number(statistic.value, statistic.interval)


def count_columns(*heads: str) -> list[Column]:
    """Return columns of counts with these headings."""
    return [Column(head, "count") for head in heads]


def build_agreement_table(
    title: str, note: str, parts: Iterable[tuple[str, Consistency]], *, name: str = "people"
) -> Table:
    """Return a table of agreements, with kappa and with how many cases went in and how many did not."""
    columns: list[Column | str] = ["", Column("agree", "percent"), Column("kappa", "number")]
    rows = ((part, number(it), Number(it.kappa, it.kappa_interval), it.n, it.left_out) for part, it in parts)
    return build_table(title, note, [*columns, *count_columns("n", "left out")], rows, name=name)


def interval_note(confidence: float) -> str:
    """Return the note on intervals: `with 95 % intervals`."""
    return f"with {100 * confidence:g} % intervals"


def by_level(parts: Mapping[int, _Part], level: str) -> list[tuple[str, _Part]]:
    """Return values by level, with the names of their levels."""
    return [(f"{level} {at}", part) for at, part in parts.items()]


def similar_names_note(raters: Sequence[str]) -> str:
    """Return a warning, with a leading blank, if names of raters differ only in case; else an empty text."""
    by_letters: dict[str, list[str]] = {}
    for rater in sorted(raters):
        by_letters.setdefault(rater.casefold(), []).append(rater)
    similar = [" and ".join(names) for names in by_letters.values() if len(names) > 1]
    return f" Names that differ only in case are taken for different raters: {', '.join(similar)}." if similar else ""


def render_study(
    format: StudyFormat,  # noqa: A002  # what users call it
    tables: Callable[[], Iterable[Table]],
    csv: Callable[[], str],
    data: Callable[[], object],
) -> str:
    """Return a study as text; only what the format needs is built."""
    match format:
        case "md":
            return "\n".join(map(render_markdown, tables()))
        case "csv":
            return csv()
        case "json":
            return json_text(data())
        case "terminal":
            return terminal_plain_text(render_terminal(tables()), _TERMINAL_WIDTH)


def study_csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as CSV; the column `of` keeps the labels of earlier versions."""
    return csv_text(columns, ({**row, "of": export_label(str(row["of"]))} if "of" in row else row for row in rows))


def estimate_columns(statistic: _Statistic | MeanConsistency) -> dict[str, object]:
    """Return value, interval and counts of a statistic, by CSV column."""
    found: dict[str, object] = {"value": statistic.value}
    match statistic:
        case Rate():
            found |= {"n": statistic.scored, "left_out": statistic.expected - statistic.scored}
        case MeanConsistency():
            found |= {"n": statistic.pairs, "left_out": statistic.left_out}
        case Proportion():
            found |= {"n": statistic.n}
        case Estimate():
            pass
        case _:
            found |= {"n": statistic.n, "left_out": statistic.left_out}
    if isinstance(statistic, Consistency):
        found["kappa"] = statistic.kappa
        if statistic.kappa_interval is not None:
            found |= dict(zip(("kappa_low", "kappa_high"), statistic.kappa_interval, strict=True))
    if statistic.interval is not None:
        found |= {"low": statistic.interval.low, "high": statistic.interval.high}
    return found


def export_json(value: object) -> object:
    """Return any result of a study as plain data for JSON: named fields become keys, and so do levels."""
    if is_dataclass(value) and not isinstance(value, type):
        return _export_fields((field.name, getattr(value, field.name)) for field in fields(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _export_fields(value._asdict().items())
    if isinstance(value, Mapping):
        return {"all" if key is None else str(key): export_json(inner) for key, inner in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [export_json(inner) for inner in value]
    return value


def _export_fields(named: Iterable[tuple[str, object]]) -> dict[str, object]:
    said = ((name, value) for name, value in named if value or name not in _OMITTED_IF_UNSET)
    return {_EXPORTED_KEYS.get(name, name): export_json(value) for name, value in said}
