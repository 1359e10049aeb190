"""The comparison of runs in a terminal: one table that fits its width, with at most two lines of caveats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from formalimg._util.text import visible
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.failures import failure_sentences
from formalimg.reports.comparison_model import BY_PEOPLE, Comparison, Section
from formalimg.reports.examples import telling_failures
from formalimg.reports.main_table import main_table
from formalimg.reports.notes import caveats, short_caption
from formalimg.reports.tables.format import level_name
from formalimg.reports.tables.model import Column, baselines_last
from formalimg.reports.tables.terminal import grid_width, render_terminal
from formalimg.types import RunRecord, Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult

_MAX_CAVEATS = 2
_MIN_NAME = 18
"""Longer names of runs are shortened in the middle before columns are left out."""

_WIDE = 120
"""From this width on levels are shown before all else; else they are the first to be left out."""

_WITH_LEVELS = (("rank", "overall", "p_yes"), ("rank", "overall", "p_yes", "band"))
_DROPPED = (
    ("p_yes", "level"),
    ("p_yes", "level", "rank"),
    ("p_yes", "level", "rank", "overall"),
    ("p_yes", "level", "rank", "overall", "band"),
    ("p_yes", "level", "rank", "overall", "band", "generalizability"),
)
"""Which columns are left out of a table that does not fit, one after the other, until it does."""


def terminal_table(comparison: Comparison, *, details: bool = False, has_claims: bool = True) -> ConsoleRenderable:
    """Return the comparison as something that rich can print, in a layout that fits the width it is printed at."""
    return _TerminalReport(comparison, details, has_claims)


class _TerminalReport(NamedTuple):
    comparison: Comparison
    details: bool
    has_claims: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        for section in self.comparison.sections:
            claims = _claims(section, self.comparison) if self.has_claims else []
            if claims:
                yield Text(f"{visible(claims[0], one_line=True)}\n", style="bold")
            people = [table for table in section.shown_tables if table.name == BY_PEOPLE]
            if not self.details:
                yield render_terminal(people)
                yield _ComparisonTable(section, self.comparison)
                continue
            others = [table for table in section.shown_tables if table not in people]
            yield render_terminal([*people, main_table(section, self.comparison), *others], compact=True)
            for claim in claims[1:]:
                yield Text(f"{visible(claim, one_line=True)}\n")


class _ComparisonTable(NamedTuple):
    """The main table of a section without the columns that do not fit, and the most important caveats."""

    section: Section
    comparison: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text(visible(short_caption(self.section, self.comparison), one_line=True), style="bold")
        table = baselines_last(_with_few_intervals(main_table(self.section, self.comparison)))
        fitted = _fitted(table, console, options)
        yield render_terminal([fitted], compact=True)
        for row, whole in zip(fitted.rows, table.rows, strict=True):
            if row.cells[0] != whole.cells[0]:
                yield Text(visible(f"{row.cells[0]} = {whole.cells[0]}", one_line=True), style="dim")
        for caveat in list(caveats(self.section))[:_MAX_CAVEATS]:
            yield Text(_cut(visible(caveat, one_line=True), options.max_width), style="dim")
        yield ""


class FailureExamples(NamedTuple):
    """The most telling failures of a run in words, for a terminal."""

    run: RunRecord
    most: int = 3

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        suite = suite_of(self.run.manifest.suite)
        for _, judged in telling_failures({0: self.run}, self.most):
            item = self.run.items[judged.outcome.item]
            first, *others = failure_sentences(judged.verdict, suite, item.formula)
            prompt = f"{level_name(suite, item.level)}, item {item.id}: {item.prompt}"
            yield Text(_cut(visible(prompt, one_line=True), options.max_width))
            yield Text(visible(f"  ✗ {first.text}{f', and {len(others)} more' if others else ''}", one_line=True))


def _with_few_intervals(table: Table) -> Table:
    """Return the main table without title and notes, and with intervals for the numbers that stand for a run alone."""

    def narrowed(column: Column) -> Column:
        if column.type not in ("percent", "score"):
            return column
        return column._replace(interval="none" if column.interval == "compact" else "compact")

    return replace(table, title="", notes=(), interval_note="", columns=tuple(map(narrowed, table.columns)))


def _fitted(table: Table, console: Console, options: ConsoleOptions) -> Table:
    """Return the table with as many columns as fit, and with names of runs that are as long as there is room for."""
    longest = max(len(str(row.cells[0])) for row in table.rows)
    shortest = min(longest, _MIN_NAME)
    shown = table
    for shown in _narrower(table, options.max_width):
        free = options.max_width - grid_width(_with_names(shown, shortest), console, options)
        if free >= 0:
            return _with_names(shown, shortest + free)
    return _with_names(shown, shortest)


def _narrower(table: Table, width: int) -> Iterator[Table]:
    """Yield the table with ever fewer columns; numbers that stand for a run are never left out."""
    for dropped in ((), *(_WITH_LEVELS if width >= _WIDE else ()), *_DROPPED):
        kept = [
            n for n, column in enumerate(table.columns) if column.figure not in dropped or column.interval == "compact"
        ]
        yield replace(
            table,
            columns=tuple(table.columns[n] for n in kept),
            rows=tuple(row._replace(cells=tuple(row.cells[n] for n in kept)) for row in table.rows),
        )


def _with_names(table: Table, length: int) -> Table:
    """Return the table with names of runs of limited length, shortened in the middle such that they stay different."""
    names = [str(row.cells[0]) for row in table.rows]
    short = [_shortened(name, length) for name in names]
    if len(set(short)) < len(set(names)):
        short = [
            name if len(name) <= length else _shortened(name, length - 4) + f" ({number})"
            for number, name in enumerate(names, 1)
        ]
    rows = (row._replace(cells=(name, *row.cells[1:])) for name, row in zip(short, table.rows, strict=True))
    return replace(table, rows=tuple(rows))


def _cut(line: str, length: int) -> str:
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def _shortened(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[-tail:]}"


def _claims(section: Section, comparison: Comparison) -> list[str]:
    """Return what is found in words, the headline first; nothing for a run that nobody labelled."""
    if not section.pairs and not section.corrected:
        return []
    from formalimg.reports.findings import claims  # here, so that the table after a run is made faster

    return claims(section, comparison)
