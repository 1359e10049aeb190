"""Printing tables: as wide as the terminal, and at a good width where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

_WITHOUT_A_TERMINAL = 100
"""How wide tables are in files and pipes, unless COLUMNS says otherwise: enough for ten levels side by side."""


def print_table(table: RenderableType) -> None:
    """Print a table to standard output."""
    from rich.console import Console  # here, so that other commands start faster

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=_WITHOUT_A_TERMINAL)
    console.print(table)
