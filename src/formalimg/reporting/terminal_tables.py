"""Tables besides the main one for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from formalimg.reporting.cells import cell_text, note_of, words_in_front
from formalimg.reporting.figures import listed, mark_in_front
from formalimg.reporting.tables import Figure, Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable
    from rich.table import Table as RichTable


def tables_in_words(tables: Sequence[Table]) -> str:
    """Which tables there are, and how to see them."""
    return f"There is more with --details: {listed([table.name for table in tables])}."


def terminal_tables(
    tables: Sequence[Table], console: Console, options: ConsoleOptions
) -> Iterator[ConsoleRenderable | str]:
    """The tables one after the other, each with its title and its note."""
    from rich.text import Text

    for table in tables:
        yield Text(table.title, style="bold")
        yield from _that_fits(table, console, options)
        yield Text(note_of(table), style="dim")
        yield ""


def _that_fits(table: Table, console: Console, options: ConsoleOptions) -> Iterator[ConsoleRenderable]:
    """The table as it is where there is room, else in blocks of columns, else row by row."""
    from rich.measure import Measurement

    def fits(columns: Sequence[int]) -> bool:
        wanted = Measurement.get(console, options.update(width=10_000), _grid(table, columns)).maximum
        return wanted <= options.max_width

    blocks = _blocks(table, fits)
    yield from (_grid(table, columns) for columns in blocks) if blocks else _row_by_row(table)


def _blocks(table: Table, fits: Callable[[Sequence[int]], bool]) -> list[list[int]]:
    """The columns of as few tables as will do, each with the words in front; none if there is no room for that."""
    every = range(len(table.heads))
    words = list(every[: words_in_front(table)])
    blocks = [list(words)]
    for column in every[len(words) :]:
        if fits([*blocks[-1], column]):
            blocks[-1].append(column)
        elif fits([*words, column]):
            blocks.append([*words, column])
        else:
            return []
    return blocks


def _grid(table: Table, columns: Sequence[int]) -> RichTable:
    from rich.text import Text

    grid = _empty()
    for column in columns:
        justify: Literal["left", "right"] = "left" if column < words_in_front(table) else "right"
        grid.add_column(table.heads[column], justify=justify, no_wrap=True)
    for number, row in enumerate(table.rows):
        if number and row.published and not table.rows[number - 1].published:
            grid.add_section()
        style = "dim" if row.published else ""
        grid.add_row(*(Text(_text(row.cells[column]), style=style) for column in columns))
    return grid


def _row_by_row(table: Table) -> Iterator[ConsoleRenderable]:
    """The figures of each row below each other, under its words."""
    from rich.text import Text

    for row in table.rows:
        yield Text(", ".join(cell for cell in row.cells if isinstance(cell, str) and cell))
        grid = _empty(with_heads=False)
        grid.add_column()
        grid.add_column(justify="right")
        for head, cell in zip(table.heads, row.cells, strict=True):
            if isinstance(cell, Figure):
                grid.add_row(Text(head), Text(_text(cell)))
        yield grid


def _text(cell: str | Figure) -> str:
    return mark_in_front(cell_text(cell)) if isinstance(cell, Figure) else cell


def _empty(with_heads: bool = True) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    return RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_header=with_heads)
