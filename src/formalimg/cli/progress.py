"""Showing how far something is, on standard error, and only to people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_of(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar that is shown from the first step on; what is given back is called with the steps done so far."""
    from rich.console import Console  # here, so that other commands start faster
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done: None
        return
    with Progress(transient=True, console=console) as progress:
        task = progress.add_task(title, total=total, visible=False)
        yield lambda done: progress.update(task, completed=done, visible=True)
