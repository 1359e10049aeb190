"""Terminal report of a comparison: a single table that fits the width, with at most two lines of caveats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from formalimg._util.text import visible
from formalimg.benchmarks.registry import suite as find_suite
from formalimg.judges.failures import failure_sentences
from formalimg.reports.comparison_model import BY_PEOPLE, Comparison, Section
from formalimg.reports.main_table import main_table
from formalimg.reports.notes import list_caveats, short_caption
from formalimg.reports.tables.format import level_name
from formalimg.reports.tables.model import baselines_last
from formalimg.reports.tables.terminal import grid_width, render_terminal
from formalimg.reports.telling_failures import telling_failures
from formalimg.types import RunRecord, Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult

_MAX_CAVEATS = 2
_MIN_NAME = 18  # Longer names of runs are shortened in the middle before columns are left out
_WIDE = 120  # From this width on levels are shown before all else; else they are the first to be left out
_DROPPED_FIRST = ("p_yes", "level", "rank", "overall", "band", "generalizability")
_DROPPED_FROM_WIDE = (("rank", "overall", "p_yes"), ("rank", "overall", "p_yes", "band"))
"""Which columns are left out of a table that does not fit, one after the other, until it does."""


def terminal_table(comparison: Comparison, *, details: bool = False, has_claims: bool = True) -> ConsoleRenderable:
    """Return the comparison as a rich renderable that adapts its layout to the width."""
    return _TerminalReport(comparison, details, has_claims)


class _TerminalReport(NamedTuple):
    comparison: Comparison
    details: bool
    has_claims: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        for section in self.comparison.sections:
            claims: list[str] = []
            if self.has_claims and (section.pairs or section.corrected):  # else nothing that nobody labelled
                from formalimg.reports.findings import list_claims as find_claims  # here: the table is made faster

                claims = find_claims(section, self.comparison)
                yield Text(f"{visible(claims[0], one_line=True)}\n", style="bold")
            people = [table for table in section.shown_tables if table.name == BY_PEOPLE]
            if not self.details:
                yield render_terminal(people)
                yield _ComparisonTable(section, self.comparison)
                continue
            tables = [table for table in section.shown_tables if table not in people]
            yield render_terminal([*people, main_table(section, self.comparison), *tables], compact=True)
            for claim in claims[1:]:
                yield Text(f"{visible(claim, one_line=True)}\n")


class _ComparisonTable(NamedTuple):
    """The main table of a section, limited to the columns that fit, and its most important caveats."""

    section: Section
    comparison: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text(visible(short_caption(self.section, self.comparison), one_line=True), style="bold")
        table = baselines_last(_with_few_intervals(main_table(self.section, self.comparison)))
        fitting = _fit_width(table, console, options)
        yield render_terminal([fitting], compact=True)
        for row, whole in zip(fitting.rows, table.rows, strict=True):
            if row.cells[0] != whole.cells[0]:
                yield Text(visible(f"{row.cells[0]} = {whole.cells[0]}", one_line=True), style="dim")
        for caveat in list(list_caveats(self.section))[:_MAX_CAVEATS]:
            yield Text(_cut_line(caveat, options.max_width), style="dim")
        yield ""


class FailureExamples(NamedTuple):
    """Descriptions of the most telling failures of a run for a terminal."""

    run: RunRecord
    max_count: int = 3

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        suite = find_suite(self.run.manifest.suite)
        for _, judged in telling_failures({0: self.run}, self.max_count):
            item = self.run.items[judged.outcome.item]
            first, *more = failure_sentences(judged.verdict, suite, item.formula)
            yield Text(_cut_line(f"{level_name(suite, item.level)}, item {item.id}: {item.prompt}", options.max_width))
            yield Text(visible(f"  ✗ {first.text}{f', and {len(more)} more' if more else ''}", one_line=True))


def _with_few_intervals(table: Table) -> Table:
    """Return the main table without title and notes, with intervals only for headline numbers."""
    columns = tuple(
        column._replace(interval="none" if column.interval == "compact" else "compact")
        if column.type in ("percent", "score")
        else column
        for column in table.columns
    )
    return replace(table, title="", notes=(), interval_note="", columns=columns)


def _fit_width(table: Table, console: Console, options: ConsoleOptions) -> Table:
    """Return the table with as many columns, and as much of each run name, as the width allows."""
    shortest = min(_MIN_NAME, max(len(str(row.cells[0])) for row in table.rows))
    narrow = table
    for narrow in _drop_columns(table, options.max_width):
        free = options.max_width - grid_width(_with_names(narrow, shortest), console, options)
        if free >= 0:
            return _with_names(narrow, shortest + free)
    return _with_names(narrow, shortest)


def _drop_columns(table: Table, width: int) -> Iterator[Table]:
    """Yield the table with fewer and fewer columns, always including headline numbers."""
    steps = (_DROPPED_FIRST[:count] for count in range(2, len(_DROPPED_FIRST) + 1))
    for dropped in ((), *(_DROPPED_FROM_WIDE if width >= _WIDE else ()), *steps):
        numbers = [
            n for n, column in enumerate(table.columns) if column.figure not in dropped or column.interval == "compact"
        ]
        rows = tuple(row._replace(cells=tuple(row.cells[n] for n in numbers)) for row in table.rows)
        yield replace(table, columns=tuple(table.columns[n] for n in numbers), rows=rows)


def _with_names(table: Table, length: int) -> Table:
    """Return the table with run names shortened in the middle, still distinct from each other."""
    names = [str(row.cells[0]) for row in table.rows]
    short = [_shorten_middle(name, length) for name in names]
    if len(set(short)) < len(set(names)):
        short = [
            name if len(name) <= length else _shorten_middle(name, length - 4) + f" ({number})"
            for number, name in enumerate(names, 1)
        ]
    rows = (row._replace(cells=(name, *row.cells[1:])) for name, row in zip(short, table.rows, strict=True))
    return replace(table, rows=tuple(rows))


def _cut_line(text: str, length: int) -> str:
    line = visible(text, one_line=True)
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def _shorten_middle(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[-tail:]}"
