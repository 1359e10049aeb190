"""Progress bars and progress lines, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from formalimg._util.text import visible

if TYPE_CHECKING:
    from formalimg.runs import Progress

_BETWEEN_LINES = 15
"""Seconds between lines where standard error is not a terminal, as in a log file."""


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar from the first step on; yield a callback for the number of steps done."""
    from rich.console import Console  # here, so that other commands start faster
    from rich.markup import escape
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done: None
        return
    with Bar(transient=True, console=console) as progress:
        task = progress.add_task(escape(visible(title, one_line=True)), total=total, visible=False)
        yield lambda done: progress.update(task, completed=done, visible=True)


@contextmanager
def run_progress(title: str, workers: Callable[[], str] = lambda: "") -> Iterator[Callable[[Progress], None]]:
    """Show a bar with rate, time left and coverage on a terminal, or a line now and then in log files.

    Args:
        title: what is running.
        workers: returns the speed of each worker; empty if this process is the only one.
    """
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _ProgressLines(title, workers)
        return
    bar = Bar(TextColumn("{task.description}", markup=False), BarColumn(), console=console)
    task = bar.add_task(visible(title, one_line=True), total=None, visible=False)
    figures = ending = ""

    def render() -> Group:
        # Below, where there is room for it: beside the bar it would be cut off.
        return Group(bar, *[Text(visible(line)) for line in (figures, workers(), ending) if line])

    def update(progress: Progress) -> None:
        nonlocal figures, ending
        figures, ending = _progress_text(progress), _ending(progress)
        bar.update(task, completed=progress.done, total=progress.steps, visible=True)

    with Live(get_renderable=render, transient=True, console=console, refresh_per_second=4):
        yield update


class _ProgressLines:
    """Progress callback that prints a line now and then."""

    def __init__(self, title: str, workers: Callable[[], str]) -> None:
        self._title = title
        self._workers = workers
        self._last = time.monotonic()
        self._ending = ""

    def __call__(self, progress: Progress) -> None:
        ending = _ending(progress)
        if ending != self._ending or time.monotonic() - self._last >= _BETWEEN_LINES:
            self._last, self._ending = time.monotonic(), ending
            line = "; ".join(filter(None, [_progress_text(progress), self._workers(), ending]))
            print(visible(f"{self._title}: {line}", one_line=True), file=sys.stderr, flush=True)


def _progress_text(progress: Progress) -> str:
    parts = []
    if progress.images:
        parts.append(f"{progress.made:,}/{progress.images:,} made")
    if progress.verdicts:
        parts.append(f"{progress.judged:,} judged")
    parts.append(f"{progress.rate:.1f}/s")
    left = progress.remaining_seconds
    if left is not None:
        parts.append(f"{_duration(left)} left")
    if progress.coverage is not None and progress.verdicts:
        parts.append(f"{progress.coverage:.0%} scored")
    return ", ".join(parts)


def _ending(progress: Progress) -> str:
    if not progress.stopped:
        return ""
    if progress.ended_by:
        return "cannot continue: work in progress is still saved; Ctrl-C discards it"
    if progress.gave_up:
        return "too many failures in a row: work in progress is still saved; Ctrl-C discards it"
    if progress.over_budget:
        return "budget exhausted: work in progress is still saved; Ctrl-C discards it"
    return "stopping: work in progress is still saved; Ctrl-C again discards it"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
