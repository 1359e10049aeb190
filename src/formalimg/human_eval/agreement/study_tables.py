"""Shared parts of studies: suite-specific studies, tables and notes, CSV rows, JSON keys and formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from formalimg._util.text import json_text
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.reports.tables.format import NOTHING, count_noun, csv_text, export_label
from formalimg.reports.tables.markup import render_markdown
from formalimg.reports.tables.model import Cell, Column, Number, Placement, TableRow
from formalimg.reports.tables.terminal import render_terminal, terminal_plain_text
from formalimg.stats.agreement import Consistency, MeanConsistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import Interval, Rate
from formalimg.stats.precision_recall import Proportion, SensitivitySpecificity
from formalimg.stats.reliability import Reliability
from formalimg.types import Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

StudyName: TypeAlias = Literal["calibrate", "captions", "diagnose", "human scores", "judge scores"]
"""Studies that few benchmarks have: those behind commands of their own, and those of `agree` for scores: of people, and
of two judges."""


class OwnStudy(NamedTuple):
    """The functions of a study provided by only some benchmarks."""

    make: Callable[..., Any]  # makes the study
    text: Callable[[Any, StudyFormat], str]  # returns it as text
    table: Callable[[Any], ConsoleRenderable]  # returns it as something that `rich` can print
    cases: Callable[..., int] | None = None  # returns how many cases a study would have, with the same arguments
    estimate: Callable[..., Any] | None = None  # returns what it would cost, with the same arguments


def find_study(name: StudyName, suites: Iterable[str] = ()) -> OwnStudy:
    """Return the study with the given name from the given suites, or else from the first suite that provides it."""
    for suite_name in (*suites, *suite_names()):
        study = suite(suite_name).study(name)
        if study is not None:
            return study
    raise FormalimgError(f"no benchmark has a study of this kind: {name}")


class MeanFraction(NamedTuple):
    """The mean fraction of requirements that an image satisfies."""

    value: float | None  # the mean over scored images; None if there are none
    # its normal interval, clustered by item, clipped to 0 and 1; None where the spread is unknown
    interval: Interval | None
    n: int  # how many images were scored
    left_out: int  # how many were not


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
    "excluded": "reason",
    "expected_ratings": "wanted",
    "human": "people",
    "human_of_both": "people_of_both",
    "images": "pictures",
    "max_missed": "most_missed",
    "objects": "things",
    "without_image": "without_picture",
}
"""Exported JSON keeps the keys of earlier versions, so that scripts that read it go on."""

_OMITTED_IF_UNSET = {"cannot_tell", "excluded", "fails_missing", "graded", "problem", "ranks_of_all", "reason", "rules"}
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
    """Build a table; columns passed as plain headings hold text."""
    typed = tuple(Column(column) if isinstance(column, str) else column for column in columns)
    return Table(name, title, typed, tuple(TableRow(tuple(cells)) for cells in rows), (note,), placement)


def number(statistic: _Statistic | None) -> Number:
    """Return a statistic as a number with its interval, without the mark for incomplete coverage."""
    return Number(None) if statistic is None else Number(statistic.value, statistic.interval)


def count_columns(*heads: str) -> list[Column]:
    """Return count columns with the given headings."""
    return [Column(head, "count") for head in heads]


def build_agreement_table(
    title: str, note: str, parts: Iterable[tuple[str, Consistency]], *, name: str = "people"
) -> Table:
    """Build a table of agreement rates, kappa values, and numbers of included and excluded cases."""
    columns: list[Column | str] = ["", Column("agree", "percent"), Column("kappa", "number")]
    rows = (
        (part, number(share), Number(share.kappa, share.kappa_interval), share.n, share.left_out)
        for part, share in parts
    )
    return build_table(title, note, [*columns, *count_columns("n", "left out")], rows, name=name)


def interval_note(confidence: float) -> str:
    """Return the note on confidence intervals, such as `with 95 % intervals`."""
    return f"with {100 * confidence:g} % intervals"


def by_level(parts: Mapping[int, _Part], level: str) -> list[tuple[str, _Part]]:
    """Return values by level, each with its level name."""
    return [(f"{level} {at}", part) for at, part in parts.items()]


def similar_names_note(raters: Sequence[str]) -> str:
    """Return a warning with a leading space if rater names differ only in case, else an empty string."""
    by_letters: dict[str, list[str]] = {}
    for rater in sorted(raters):
        by_letters.setdefault(rater.casefold(), []).append(rater)
    similar = [" and ".join(names) for names in by_letters.values() if len(names) > 1]
    return f" Names that differ only in case are taken for different raters: {', '.join(similar)}." if similar else ""


def answers_headline(
    title: str,
    note: str,
    agreement: Consistency,
    errors: SensitivitySpecificity,
    within: Correlation,
    *,
    names: tuple[str, str],
    unit: str,
    table: str = "people",
) -> Table:
    """Return the three headline rows of a comparison of yes/no answers: agreement, direction and skill."""
    judge, truth = names
    rows = [
        ("agreement", f"{format_percent(agreement)} of {count_noun(agreement.n, unit)}"),
        (
            "direction",
            f"{judge} says yes to {_format_share(errors.judge_yes)}, {truth} to {_format_share(errors.truth_yes)}; "
            f"sensitivity {format_percent(errors.sensitivity)}, specificity {format_percent(errors.specificity)}",
        ),
        ("within levels", _describe_skill(within)),
    ]
    note += f" Sensitivity: yes of {judge} where {truth} says yes; specificity: no where {truth} says no."
    return build_headline(title, note, rows, table)


def scores_headline(
    title: str,
    note: str,
    near: Proportion,
    means: tuple[float | None, float | None],
    difference: Estimate,
    within: Correlation,
    *,
    names: tuple[str, str],
    distance: float,
    table: str = "people",
) -> Table:
    """Return the three headline rows of a comparison of scores."""
    scores = [NOTHING if mean is None else f"{mean:.2f}" for mean in means]
    apart = format_signed(difference.value, difference.interval)
    rows = [
        ("agreement", f"{format_percent(near)} of {count_noun(near.n, 'image')} differ by no more than {distance:g}"),
        ("direction", f"{names[0]} gives {scores[0]} on average, {names[1]} {scores[1]}: {apart}"),
        ("within levels", _describe_skill(within)),
    ]
    return build_headline(title, note, rows, table)


def build_headline(title: str, note: str, rows: Sequence[tuple[str, str]], name: str = "people") -> Table:
    """Build the headline table of a study."""
    return build_table(title, note, ("in short", ""), rows, "result", name)


def _describe_skill(within: Correlation) -> str:
    if within.value is None:
        return f"{NOTHING}: nothing to tell apart within any level"
    bounds = f" ({within.interval.low:.2f} to {within.interval.high:.2f})" if within.interval else ""
    return f"r = {within.value:.2f}{bounds}, of {within.n:,}; 0 if all they share is how hard an item is"


def _format_share(share: Proportion) -> str:
    return NOTHING if share.value is None else f"{100 * share.value:.1f} %"


def format_percent(share: Consistency | MeanConsistency | Proportion | Estimate) -> str:
    """Format a share as a percentage with its interval."""
    if share.value is None:
        return NOTHING
    bounds = f" ({100 * share.interval.low:.1f}–{100 * share.interval.high:.1f})" if share.interval else ""
    return f"{100 * share.value:.1f} %{bounds}"


def format_signed(value: float | None, interval: Interval | None) -> str:
    """Format a difference with its sign and its interval."""
    bounds = f" ({interval.low:+.2f} to {interval.high:+.2f})" if interval else ""
    return NOTHING if value is None else f"{value:+.2f}{bounds}"


def format_thousandths(statistic: Reliability | Correlation | Estimate) -> str:
    """Format a statistic with three decimals, as in papers, and its interval."""
    if statistic.value is None:
        return NOTHING
    bounds = f" ({statistic.interval.low:.3f} to {statistic.interval.high:.3f})" if statistic.interval else ""
    return f"{statistic.value:.3f}{bounds}"


def render_study(
    format: StudyFormat,  # noqa: A002  # what users call it
    tables: Callable[[], Iterable[Table]],
    csv: Callable[[], str],
    data: Callable[[], object],
) -> str:
    """Render a study as text, building only the parts that the format needs."""
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
    """Return rows as CSV; the column `of` uses the labels of earlier versions."""
    return csv_text(columns, ({**row, "of": export_label(str(row["of"]))} if "of" in row else row for row in rows))


def figure_row(figure: str, statistic: _Statistic | MeanConsistency, /, **part: object) -> dict[str, object]:
    """Build the CSV row of a statistic: its name, raters and part, then value, interval and counts."""
    row: dict[str, object] = {"figure": figure, **part, "value": statistic.value}
    match statistic:
        case Rate():
            row |= {"n": statistic.scored, "left_out": statistic.expected - statistic.scored}
        case MeanConsistency():
            row |= {"n": statistic.pairs, "left_out": statistic.left_out}
        case Proportion():
            row |= {"n": statistic.n}
        case Estimate():
            pass
        case _:
            row |= {"n": statistic.n, "left_out": statistic.left_out}
    if isinstance(statistic, Consistency):
        row["kappa"] = statistic.kappa
        if statistic.kappa_interval is not None:
            row |= dict(zip(("kappa_low", "kappa_high"), statistic.kappa_interval, strict=True))
    if statistic.interval is not None:
        row |= {"low": statistic.interval.low, "high": statistic.interval.high}
    return row


def export_json(value: object) -> object:
    """Convert a study result to plain JSON data, with named fields and levels as keys."""
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


def _export_fields(values: Iterable[tuple[str, object]]) -> dict[str, object]:
    return {
        _EXPORTED_KEYS.get(name, name): export_json(value)
        for name, value in values
        if value or name not in _OMITTED_IF_UNSET
    }
