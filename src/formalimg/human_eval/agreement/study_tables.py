"""Shared parts of studies: tables, CSV rows, JSON keys, formats, and the attention of raters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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


class OwnStudy(NamedTuple):
    """The functions of a study that only some benchmarks have."""

    make: Callable[..., Any]  # makes the study
    text: Callable[[Any, StudyFormat], str]  # returns it as text
    table: Callable[[Any], ConsoleRenderable]  # returns it as something that `rich` can print
    cases: Callable[..., int] | None = None  # returns how many cases a study would have, with the same arguments
    estimate: Callable[..., Any] | None = None  # returns what it would cost, with the same arguments


def find_study(name: StudyName, suites: Iterable[str] = ()) -> OwnStudy:
    """Return the named study of the first of the suites, or else of any suite, that has it."""
    for suite_name in (*suites, *suite_names()):
        if (study := suite(suite_name).study(name)) is not None:
            return study
    raise FormalimgError(f"no benchmark has a study of this kind: {name}")


class MeanFraction(NamedTuple):
    """The mean fraction of requirements that an image satisfies."""

    value: float | None  # the mean over scored images; None if there are none
    # its normal interval, clustered by item, clipped to 0 and 1; None where the spread is unknown
    interval: Interval | None
    n: int  # how many images were scored
    left_out: int  # how many were not


StudyFormat: TypeAlias = Literal["terminal", "md", "csv", "json"]  # The output formats of studies
# The CSV columns of agreement: which figure, of what (images or questions), for whom and which part
CSV_COLUMNS = (
    *("figure", "of", "run", "first", "second", "level", "kind"),
    *("value", "low", "high", "n", "left_out", "kappa", "kappa_low", "kappa_high"),
)

_TERMINAL_WIDTH = 100
_EXPORTED_KEYS = {  # fields whose JSON keys are those of earlier versions, which scripts read
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

_OMITTED_IF_UNSET = {"cannot_tell", "excluded", "fails_missing", "graded", "problem", "ranks_of_all", "reason", "rules"}

_Part = TypeVar("_Part")
_Statistic: TypeAlias = (
    Rate | MeanFraction | Consistency | MeanConsistency | Proportion | Estimate | Correlation | Reliability
)
Row: TypeAlias = dict[str, object]  # A row of a CSV file, by column


class _Fields(dict[str, object]):
    """The fields of a record, as opposed to the keys of a mapping."""


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
    columns: tuple[Column | str, ...] = (
        "",
        Column("agree", "percent"),
        Column("kappa", "number"),
        *count_columns("n", "left out"),
    )
    rows = (
        (part, number(share), Number(share.kappa, share.kappa_interval), share.n, share.left_out)
        for part, share in parts
    )
    return build_table(title, note, columns, rows, name=name)


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
    judge_yes, truth_yes = (
        NOTHING if share.value is None else f"{100 * share.value:.1f} %"
        for share in (errors.judge_yes, errors.truth_yes)
    )
    direction = (
        f"{judge} says yes to {judge_yes}, {truth} to {truth_yes}; "
        f"sensitivity {format_percent(errors.sensitivity)}, specificity {format_percent(errors.specificity)}"
    )
    rows = [
        ("agreement", f"{format_percent(agreement)} of {count_noun(agreement.n, unit)}"),
        ("direction", direction),
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
    first, second = (NOTHING if mean is None else f"{mean:.2f}" for mean in means)
    apart = format_signed(difference.value, difference.interval)
    rows = [
        ("agreement", f"{format_percent(near)} of {count_noun(near.n, 'image')} differ by no more than {distance:g}"),
        ("direction", f"{names[0]} gives {first} on average, {names[1]} {second}: {apart}"),
        ("within levels", _describe_skill(within)),
    ]
    return build_headline(title, note, rows, table)


def build_headline(title: str, note: str, rows: Sequence[tuple[str, str]], name: str = "people") -> Table:
    """Build the headline table of a study."""
    return build_table(title, note, ("in short", ""), rows, "result", name)


def _describe_skill(within: Correlation) -> str:
    if within.value is None:
        return f"{NOTHING}: nothing to tell apart within any level"
    r = format_estimate(within, 2)
    return f"r = {r}, of {within.n:,}; 0 if all they share is how hard an item is"


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


def format_estimate(statistic: Reliability | Correlation | Estimate, digits: int = 3) -> str:
    """Format a statistic and its interval, with three decimals as in papers."""
    if statistic.value is None:
        return NOTHING
    interval = statistic.interval
    bounds = f" ({interval.low:.{digits}f} to {interval.high:.{digits}f})" if interval else ""
    return f"{statistic.value:.{digits}f}{bounds}"


def render_study(
    format: StudyFormat,  # noqa: A002  # what users call it
    tables: Callable[[], Iterable[Table]],
    csv: Callable[[], str],
    data: Callable[[], object],
) -> str:
    """Render a study as text, building only what the format needs."""
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


def figure_row(figure: str, statistic: _Statistic | float | None, /, **part: object) -> Row:
    """Build the CSV row of a statistic: its name, raters and part, then value, interval and counts."""
    row: Row = {"figure": figure, **part}
    if statistic is None or isinstance(statistic, int | float):
        return row | {"value": statistic}
    row["value"] = statistic.value
    match statistic:
        case Rate():
            row |= {"n": statistic.scored, "left_out": statistic.expected - statistic.scored}
        case MeanConsistency():
            row |= {"n": statistic.pairs, "left_out": statistic.left_out}
        case Proportion():
            row["n"] = statistic.n
        case Estimate():
            pass
        case _:
            row |= {"n": statistic.n, "left_out": statistic.left_out}
    if isinstance(statistic, Consistency):
        row["kappa"] = statistic.kappa
        row |= dict(zip(("kappa_low", "kappa_high"), statistic.kappa_interval or (), strict=False))
    return row | dict(zip(("low", "high"), statistic.interval or (), strict=False))


def figure_rows(source: object, figures: Iterable[tuple[str, str, str]], /, **part: object) -> Iterator[Row]:
    """Yield the CSV rows of statistics, given as name, attribute of `source`, and column for the keys of a mapping."""
    for figure, attribute, column in figures:
        value = getattr(source, attribute)
        if not isinstance(value, Mapping):
            yield figure_row(figure, value, **part)
            continue
        for key, statistic in value.items():
            yield figure_row(figure, statistic, **part, **{column: key})


def export_json(value: object) -> object:
    """Convert a study result to plain JSON data, with named fields and levels as keys."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = _Fields(value._asdict())
    elif is_dataclass(value) and not isinstance(value, type):
        value = _Fields({field.name: getattr(value, field.name) for field in fields(value)})
    match value:
        case _Fields():
            return {
                _EXPORTED_KEYS.get(name, name): export_json(inner)
                for name, inner in value.items()
                if inner or name not in _OMITTED_IF_UNSET
            }
        case Mapping():
            return {"all" if key is None else str(key): export_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [export_json(inner) for inner in value]
        case Path():
            return str(value)
    return value


class RaterSummary(NamedTuple):
    """Progress and attention of one rater."""

    rater: str  # the pseudonym
    finished: int  # how many tasks are finished, of how many, attention checks included
    of: int
    checks: int  # how many of the finished ones are attention checks, and how many of these were passed
    checks_passed: int
    seconds: float  # the total time of all answers
    median_seconds: float | None  # the median time of a finished task; None if there is none
    left_out: bool = False  # whether the rater's answers do not count
    cannot_tell: int = 0  # number of final answers that the rater cannot tell, without attention checks
    excluded: str = ""  # why the rater is excluded by the rules of the study; empty for those who count

    @property
    def missed(self) -> float | None:
        """The share of attention checks that the rater missed; None if there were none."""
        return 1 - self.checks_passed / self.checks if self.checks else None


class RaterAttentionSummary(NamedTuple):
    """Progress and attention of all raters of a study."""

    raters: tuple[RaterSummary, ...]  # each of them, excluded ones as well
    unfinished: int  # how many tasks, without checks and without excluded raters, are still to be finished
    # the share of missed attention checks beyond which raters were excluded; None if everybody counts
    max_missed: float | None = None
    rules: str = ""  # who is excluded by the rules that the study stated beforehand; empty if they were not applied


def exclude_inattentive(raters: Iterable[RaterSummary], max_missed: float) -> tuple[RaterSummary, ...]:
    """Exclude raters who missed a larger share of their attention checks, instead of by the study's own rules."""
    if not 0 <= max_missed <= 1:  # also refuses NaN
        raise FormalimgError(f"{max_missed:g} is not a share of attention checks: take 0 to 1, such as 0.2")
    marked = tuple(rater._replace(left_out=(rater.missed or 0) > max_missed + 1e-9, excluded="") for rater in raters)
    if not any(rater.checks for rater in marked):
        raise FormalimgError("no rater has had an attention check: leave the option out")
    if all(rater.left_out for rater in marked):
        raise FormalimgError(
            f"all raters missed more than {max_missed:g} of the attention checks: allow a larger share"
        )
    return marked


def attention_table(attention: RaterAttentionSummary) -> Table:
    """Return the table of raters: progress, missed attention checks, time, and whether their answers count."""
    raters = attention.raters
    note = "Missed: attention checks, in which the prompt beside an image is that of another one."
    excluded = [rater for rater in raters if rater.left_out]
    if attention.rules:
        reasons = "; ".join(f"{rater.rater} ({rater.excluded})" for rater in excluded) or "nobody"
        note += f" As stated before the first answer: {attention.rules} So: {reasons}."
    elif attention.max_missed is not None:
        names = ", ".join(rater.rater for rater in excluded) or "nobody"
        note += f" Excluded for missing more than {100 * attention.max_missed:g} % of theirs: {names}."
    elif any(rater.checks > rater.checks_passed for rater in raters):
        note += " All raters count, whatever they missed; --exclude-inattentive excludes raters."
    cannot_tell = any(rater.cannot_tell for rater in raters)
    if cannot_tell:
        note += " Cannot tell: answers without a rating, which count neither for nor against."
    if attention.unfinished:
        note += f" Still to be finished: {count_noun(attention.unfinished, 'task')}."
    columns = (
        *(Column(""), Column("finished", align="right"), Column("missed", align="right")),
        *(Column("median seconds", "decimal"), Column("minutes", "decimal")),
        *(count_columns("cannot tell") if cannot_tell else []),
        Column("counts"),
    )
    rows = [
        (
            *(rater.rater, f"{rater.finished}/{rater.of}"),
            f"{rater.checks - rater.checks_passed}/{rater.checks}" if rater.checks else "–",
            *(rater.median_seconds, rater.seconds / 60),
            *([rater.cannot_tell] if cannot_tell else []),
            "no" if rater.left_out else "yes",
        )
        for rater in raters
    ]
    return Table("raters", "Raters", columns, tuple(map(TableRow, rows)), (note,))


def attention_rows(attention: RaterAttentionSummary) -> Iterator[Row]:
    """Yield the CSV rows of the raters; `left out` is 1 for excluded ones."""
    for rater in attention.raters:
        figures: dict[str, tuple[float, int | None]] = {"finished": (rater.finished, rater.of)}
        if rater.checks:
            figures["attention checks passed"] = (rater.checks_passed / rater.checks, rater.checks)
        figures["seconds"] = (rater.seconds, rater.finished)
        if rater.cannot_tell:
            figures["cannot tell"] = (rater.cannot_tell, None)
        figures["left out"] = (int(rater.left_out), None)
        for figure, (value, n) in figures.items():
            yield figure_row(figure, value, of="tasks", first=rater.rater, n=n)
