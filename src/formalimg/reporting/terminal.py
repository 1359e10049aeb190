"""Tables for the terminal, as wide as there is room."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.reporting.captions import WithInterval, caption, remarks
from formalimg.reporting.comparison import Comparison, Row, Section
from formalimg.reporting.figures import (
    NOTHING,
    bounds_held,
    level_held,
    mark_in_front,
    percent,
    scored_text,
)
from formalimg.reporting.grid import Grid, grid_of
from formalimg.reporting.scales import scale_of
from formalimg.reporting.terminal_tables import tables_in_words, terminal_tables
from formalimg.reporting.words import level_head

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
    from rich.table import Table

_USUAL_WIDTH = 100


def terminal_table(comparison: Comparison, *, details: bool = False) -> ConsoleRenderable:
    """The comparison as something that `rich` can print, in a layout that fits the width it is printed at.

    Args:
        comparison: what `compare` gave back.
        details: whether the tables besides the main one are shown too.
    """
    return _Page(comparison, details)


class _Page(NamedTuple):
    comparison: Comparison
    details: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        for section in self.comparison.sections:
            yield Text(section.suite.title, style="bold")
            tables, with_interval = _tables_that_fit(section, console, options)
            yield from tables
            for sentence in [caption(section, self.comparison, with_interval), *remarks(section)]:
                yield Text(sentence, style="dim")
            if section.tables and not self.details:
                yield Text(tables_in_words(section.tables), style="dim")
            yield ""
            if self.details:
                yield from terminal_tables(section.tables, console, options)


def terminal_text(comparison: Comparison, width: int | None = None, *, details: bool = False) -> str:
    """The comparison as plain text; as wide as the terminal unless a width is given."""
    from rich.console import Console

    columns = width or shutil.get_terminal_size((_USUAL_WIDTH, 24)).columns
    page = io.StringIO()
    console = Console(file=page, width=columns, color_system=None, force_terminal=False)
    console.print(terminal_table(comparison, details=details))
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines()) + "\n"


def _tables_that_fit(section: Section, console: Console, options: ConsoleOptions) -> tuple[list[Table], WithInterval]:
    from rich.measure import Measurement

    grid = grid_of(section)
    for tables in ([_whole(grid)], [_summed_up(grid), _by_level(grid)]):
        # A table is as wide as it wants to be, or it would break names and figures into several lines.
        wanted = [Measurement.get(console, options.update(width=10_000), table).maximum for table in tables]
        if max(wanted) <= options.max_width:
            return tables, "G alone"
    return list(_run_by_run(section)), "every figure"


def _level_heads(grid: Grid) -> list[str]:
    """The word for the levels stands before the first of them."""
    return [f"{grid.level} {level}".strip() if number == 0 else level for number, level in enumerate(grid.levels)]


def _whole(grid: Grid) -> Table:
    table = _table("run", [*_level_heads(grid), *grid.bands, *_held(grid), "scored"])
    _fill(table, grid, [[*line.levels, *line.bands, *_held(grid, line.held), line.scored] for line in grid.lines])
    return table


def _summed_up(grid: Grid) -> Table:
    table = _table("run", [*grid.bands, *_held(grid), "scored"])
    _fill(table, grid, [[*line.bands, *_held(grid, line.held), line.scored] for line in grid.lines])
    return table


def _by_level(grid: Grid) -> Table:
    table = _table("run", _level_heads(grid))
    _fill(table, grid, [line.levels for line in grid.lines])
    return table


def _run_by_run(section: Section) -> Iterator[Table]:
    scale = scale_of(section.suite)
    for row in section.rows:
        table = _table(section.suite.level, [scale.head, "interval", "scored"], title=row.name)
        for level, rate in row.summary.levels.items():
            figures = [mark_in_front(scale.marked(rate)), scale.interval(rate.interval), scored_text(rate)]
            table.add_row(level_head(section.suite, level), *figures)
        table.add_section()
        for name, band in row.summary.bands.items():
            whole = all(level in row.summary.levels for level in band.levels)  # or its share would be of other images
            scored = f"{percent(band.coverage)} %" if whole else NOTHING
            table.add_row(name, mark_in_front(scale.marked(band)), scale.interval(band.interval), scored)
        yield _with_held(table, section, row)
    for published in section.published:
        table = _table(section.suite.level, [scale.head], title=f"{published.name} (published)")
        for level, value in published.rates.items():
            table.add_row(level_head(section.suite, level), scale.text(value))
        table.add_section()
        for name, mean in published.bands.items():
            table.add_row(name, scale.text(mean))
        yield table


def _with_held(table: Table, section: Section, row: Row) -> Table:
    held = row.summary.generalizability
    if held is not None:
        table.add_row(grid_of(section).held, level_held(held), bounds_held(held), "")
    return table


def _held(grid: Grid, value: str | None = None) -> list[str]:
    """The heading or a cell of the generalizability, where the suite has one."""
    return [grid.held if value is None else value] if grid.held else []


def _fill(table: Table, grid: Grid, cells: Sequence[Sequence[str]]) -> None:
    from rich.text import Text

    for number, (line, figures) in enumerate(zip(grid.lines, cells, strict=True)):
        if line.published and number and not grid.lines[number - 1].published:
            table.add_section()
        style = "dim" if line.published else ""
        table.add_row(*(Text(text, style=style) for text in [line.name, *map(mark_in_front, figures)]))


def _table(first: str, others: Sequence[str], title: str | None = None) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=None if title is None else Text(title),
        title_justify="left",
        title_style="bold",
    )
    table.add_column(first, no_wrap=True)
    for other in others:
        table.add_column(other, justify="right", no_wrap=True)
    return table
