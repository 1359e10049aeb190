"""Standard streams: safe printing of messages, data and tables, and replacement of closed streams.

Run folders, items, answers of models and file names may come from anyone. Commands print through `echo`, so that none
of them can move the cursor, colour or hide text, or set the title of a window.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import TYPE_CHECKING, TextIO

from formalimg._util.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

_DEFAULT_WIDTH = 100  # Width of tables in files and pipes, unless COLUMNS is set: enough for ten levels side by side


def echo(message: object = "", *, err: bool = False) -> None:
    """Print a message, with control characters escaped."""
    print(visible(str(message)), file=sys.stderr if err else sys.stdout, flush=True)


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
    sys.stdout = _prepared(sys.stdout)
    sys.stderr = _prepared(sys.stderr)


def _prepared(stream: TextIO | None) -> TextIO:
    if stream is None:  # closed, as by `>&-`; what is printed to None goes to standard output
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  # until the process ends
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")  # a terminal without ✓ shows a ? instead of failing
    return stream


def print_next(words: str, folders: Sequence[Path], options: str = "") -> None:
    """Print a suggested next command, such as `next: formalimg report runs/* --details`."""
    echo(f"next: {' '.join(filter(None, ['formalimg', words, _in_short(folders), options]))}")


def _in_short(folders: Sequence[Path]) -> str:
    """Return folders as shell arguments, abbreviated with a wildcard if possible."""
    import glob  # these here, because most commands print no folders
    import shlex
    from itertools import takewhile

    (parent, *others) = dict.fromkeys(folder.parent for folder in folders)
    names = [folder.name for folder in folders]
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    start = "".join(letters[0] for letters in alike)
    if len(names) > 1 and not others and {path.name for path in parent.glob(f"{glob.escape(start)}*")} == set(names):
        return f"{shlex.quote(str(parent / start) if start else f'{parent}/')}*"
    return shlex.join(map(str, dict.fromkeys(folders)))
