"""Render tables in the terminal with rich, using the available width."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from formalimg._util.text import visible
from formalimg.reports.tables.format import (
    NOTHING,
    bounds_text,
    cell_text,
    incomplete_mark,
    interval_text,
    notes_of,
    number_text,
)
from formalimg.reports.tables.model import Column, Number, count_front_columns, number_in, starts_part
from formalimg.types import Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
    from rich.table import Table as RichTable

_DEFAULT_WIDTH = 100


def render_terminal(tables: Iterable[Table], *, compact: bool = False) -> ConsoleRenderable:
    """Return tables as a rich renderable that adapts its layout to the width."""
    return _TerminalTables(tuple(tables), compact)


def grid_width(table: Table, console: Console, options: ConsoleOptions) -> int:
    """Return the width of a table with compact intervals as a single grid."""
    return _grid_width(_build_grid(table, range(len(table.columns)), compact=True), console, options)


def _grid_width(grid: RichTable, console: Console, options: ConsoleOptions) -> int:
    from rich.measure import Measurement

    # At its full width, or names and numbers would be broken into several lines.
    return Measurement.get(console, options.update(width=10_000), grid).maximum


def terminal_plain_text(shown: ConsoleRenderable | str, width: int | None = None) -> str:
    """Return a rich renderable as plain text, as wide as the terminal by default."""
    from rich.console import Console

    columns = width or shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    page = io.StringIO()
    Console(file=page, width=columns, color_system=None, force_terminal=False).print(shown)
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines()) + "\n"


class _TerminalTables(NamedTuple):
    tables: tuple[Table, ...]
    compact: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        for table in self.tables:
            if table.title:
                yield Text(_visible_text(table.title), style="bold")
            grids = list(_layout_grids(table, console, options, compact=self.compact))
            yield from grids or _row_by_row(table)
            has_intervals, has_bounds = self.compact or not grids, not (grids and _is_main(table))
            for note in notes_of(table, compact=has_intervals, bounds=has_bounds) if table.notes else ():
                yield Text(_visible_text(note), style="dim")
            if table.title:
                yield ""


def _layout_grids(
    table: Table, console: Console, options: ConsoleOptions, *, compact: bool
) -> Iterator[ConsoleRenderable]:
    """Yield the table as one grid or as blocks of columns, or nothing if a number does not fit the width.

    A table without numbers is wrapped instead, because its last columns are sentences.
    """

    def fits(columns: Sequence[int]) -> bool:
        return _grid_width(_build_grid(table, columns, compact=compact), console, options) <= options.max_width

    numbers = range(len(table.columns))
    if all(column.is_text for column in table.columns) and not fits(numbers):
        yield _build_grid(table, numbers, compact=compact, wrap=True)
        return
    yield from (_build_grid(table, columns, compact=compact) for columns in _split_columns(table, fits))


def _split_columns(table: Table, fits: Callable[[Sequence[int]], bool]) -> list[list[int]]:
    """Split columns into as few tables as possible, repeating the leading text columns; empty if impossible.

    Columns that belong together stay together where they fit.
    """
    front = list(range(count_front_columns(table)))
    groups: list[list[int]] = []
    for n in range(len(front), len(table.columns)):
        if groups and not table.columns[n].starts:
            groups[-1].append(n)
        else:
            groups.append([n])
    blocks = [list(front)]
    for group in groups:
        for columns in (group,) if fits([*front, *group]) else ([column] for column in group):
            if fits([*blocks[-1], *columns]):
                blocks[-1] += columns
            elif fits([*front, *columns]):
                blocks.append([*front, *columns])
            else:
                return []
    return blocks


def _build_grid(table: Table, columns: Sequence[int], *, compact: bool, wrap: bool = False) -> RichTable:
    from rich.text import Text

    grid = _empty_grid()
    group = ""
    for number in columns:
        column = table.columns[number]
        # The heading of a group stands before the first of its columns.
        head = column.short if column.needs_group and column.group == group else column.title
        group = column.group
        justify: Literal["left", "right"] = "left" if column.is_left else "right"
        # Names that are cut off look all the same, so they go on in the next line.
        width = max(map(len, head.split()), default=None) if wrap else None
        grid.add_column(Text(_visible_text(head)), justify=justify, no_wrap=not wrap, overflow="fold", min_width=width)
    for n, row in enumerate(table.rows):
        if starts_part(table, n):
            grid.add_section()
        style = "dim" if row.is_published or row.is_baseline else ""
        shown = partial(cell_text, mark_first=True, compact=compact, bounds=not _is_main(table))
        cells = (shown(row.cells[number], table.columns[number]) for number in columns)
        grid.add_row(*(Text(_visible_text(cell), style=style) for cell in cells))
    return grid


def _is_main(table: Table) -> bool:
    """Return whether a table is the main table of a report, which shows bounds in its notes."""
    return any(column.figure for column in table.columns)


def _row_by_row(table: Table) -> Iterator[ConsoleRenderable]:
    """Yield each row as its texts followed by its numbers, one per line with intervals and counts."""
    from rich.text import Text

    for row in table.rows:
        cells = list(zip(row.cells, table.columns, strict=True))
        texts = ", ".join(str(cell) for cell, column in cells if column.is_text and cell)
        yield Text(_visible_text(texts), style="bold")
        lines = [
            _number_line(column, number)
            for n, column in enumerate(table.columns)
            if (number := number_in(table, row, n)) is not None and (number.value is not None or not row.is_published)
        ]
        used = [n for n in range(4) if n < 2 or any(line[n] for line in lines)]
        grid = _empty_grid(with_heads=False)
        for n in used:
            grid.add_column(justify="right" if n else "left")
        for line in lines:
            grid.add_row(*(Text("\n".join(map(_visible_text, line[n].split("\n")))) for n in used))
        yield grid


def _visible_text(text: str) -> str:
    """Return text on one line without terminal control sequences, as names in tables are untrusted."""
    return visible(text, one_line=True)


def _number_line(column: Column, number: Number) -> tuple[str, str, str, str]:
    counts = "" if number.scored is None or column.type in ("scored", "count") else f"{number.scored}/{number.expected}"
    if number.coverage is not None:
        counts = NOTHING if number.value is None else f"{100 * number.coverage:.1f} %"
    below = filter(None, [interval_text(number, column), bounds_text(number, column)])
    return column.title, incomplete_mark(number, column) + number_text(number, column), "\n".join(below), counts


def _empty_grid(with_heads: bool = True) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    return RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_header=with_heads)
