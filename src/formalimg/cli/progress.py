"""Progress bar on standard error, for commands other than runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from formalimg._util.text import visible


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
