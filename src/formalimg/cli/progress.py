"""Showing how far something is, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from formalimg.runs import Progress

_BETWEEN_LINES = 15
"""Seconds between lines where standard error is no terminal, as in a log file."""


@contextmanager
def progress_of(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar that is shown from the first step on; what is given back is called with the steps done so far."""
    from rich.console import Console  # here, so that other commands start faster
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done: None
        return
    with Bar(transient=True, console=console) as progress:
        task = progress.add_task(title, total=total, visible=False)
        yield lambda done: progress.update(task, completed=done, visible=True)


@contextmanager
def run_progress(title: str, workers: Callable[[], str] = lambda: "") -> Iterator[Callable[[Progress], None]]:
    """A bar with rate, time left and coverage for people, and a line now and then for log files.

    Args:
        title: what goes on.
        workers: says how fast each worker is; nothing if there are none but this process.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(title, workers)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Bar(*columns, transient=True, console=console) as shown:
        task = shown.add_task(title, total=None, told="", visible=False)

        def told(progress: Progress) -> None:
            told = _told(progress, workers())
            shown.update(task, completed=progress.done, total=progress.steps, told=told, visible=True)

        yield told


class _Lines:
    """Prints a line now and then."""

    def __init__(self, title: str, workers: Callable[[], str]) -> None:
        self._title = title
        self._workers = workers
        self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self._last >= _BETWEEN_LINES:
            self._last = time.monotonic()
            print(f"{self._title}: {_told(progress, self._workers())}", file=sys.stderr, flush=True)


def _told(progress: Progress, workers: str) -> str:
    parts = []
    if progress.pictures:
        parts.append(f"{progress.made:,}/{progress.pictures:,} made")
    if progress.verdicts:
        parts.append(f"{progress.judged:,} judged")
    parts.append(f"{progress.rate:.1f}/s")
    left = progress.remaining_seconds
    if left is not None:
        parts.append(f"{_duration(left)} left")
    if progress.coverage is not None and progress.verdicts:
        parts.append(f"{progress.coverage:.0%} scored")
    return ", ".join(parts) + (f"; {workers}" if workers else "")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
