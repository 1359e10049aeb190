"""Standard streams: safe printing of messages, data, tables and progress, and replacement of closed streams.

Run folders, items, answers of models and file names may come from anyone. Commands print through these functions, so
that no text can move the cursor, hide other text, or set the title of a window.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TextIO

from formalimg._util.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType

_DEFAULT_WIDTH = 100  # of tables in files and pipes unless COLUMNS is set: enough for ten levels


def echo(message: object = "", *, err: bool = False) -> None:
    """Print a message, with control characters escaped."""
    print(visible(str(message)), file=sys.stderr if err else sys.stdout, flush=True)


warn = partial(echo, err=True)  # prints a line on standard error


def print_json(data: object) -> None:
    """Print data as indented JSON, with control characters escaped."""
    print_data(f"{json.dumps(data, indent=2, ensure_ascii=False, default=dict)}\n")


def print_data(text: str) -> None:
    """Print file content such as JSON, CSV or Markdown, with control characters escaped."""
    sys.stdout.write(visible(text))


def print_table(table: RenderableType) -> None:
    """Print a table to standard output."""
    from rich.console import Console  # here, so that other commands start faster

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=_DEFAULT_WIDTH)
    console.print(table)


class VisibleFormatter(logging.Formatter):
    """Log formatter that escapes control characters and removes API keys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted record."""
        from formalimg.models.secrets import redact  # here, so that commands start faster

        return visible(redact(super().format(record)))


def prepare_streams() -> None:
    """Make standard output and error safe to write to, even if closed or limited to few characters."""
    # The next files that are opened would take the places of closed streams, and get what is meant for those.
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
    sys.stdout = _safe_stream(sys.stdout)
    sys.stderr = _safe_stream(sys.stderr)


def _safe_stream(stream: TextIO | None) -> TextIO:
    if stream is None:  # closed, as by `>&-`; what is printed to None goes to standard output
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  # until the process ends
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")  # a terminal without ✓ shows a ? instead of failing
    return stream


def print_next(words: str, folders: Sequence[Path], options: str = "") -> None:
    """Print a suggested next command, such as `next: formalimg report runs/* --details`."""
    echo(f"next: {' '.join(filter(None, ['formalimg', words, _abbreviate(folders), options]))}")


def _abbreviate(folders: Sequence[Path]) -> str:
    """Return folders as shell arguments, abbreviated with a wildcard if possible."""
    import glob  # these here, because most commands print no folders
    import shlex

    parents = {folder.parent for folder in folders}
    names = {folder.name for folder in folders}
    start = os.path.commonprefix([*names])  # noqa: RUF071  # by character, as meant
    parent = folders[0].parent
    if len(names) > 1 and len(parents) == 1 and {path.name for path in parent.glob(f"{glob.escape(start)}*")} == names:
        return f"{shlex.quote(str(parent / start) if start else f'{parent}/')}*"
    return shlex.join(map(str, dict.fromkeys(folders)))


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar and yield a callback that sets the completed and total numbers of steps."""
    from rich.console import Console  # here, so that other commands start faster
    from rich.markup import escape
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total=None: None
        return
    with Bar(transient=True, console=console) as progress:
        task = progress.add_task(escape(visible(title, one_line=True)), total=total, visible=False)
        yield lambda done, total=None: progress.update(task, completed=done, total=total, visible=True)
