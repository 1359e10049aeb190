"""The progress of a run as people see it: a bar in a terminal, a line in a notebook, some lines in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from formalimg._util.text import visible
from formalimg.runs.progress import Progress

_BETWEEN_LINES = 15
"""Seconds between lines where standard error is not a terminal, as in a log file."""

_BETWEEN_UPDATES = 0.25
"""Seconds between updates of the line in a notebook, each of which is a message to the browser."""

_BAR = 20


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


@contextmanager
def script_progress(title: str) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a run that a Python program started, on standard error or in its notebook.

    A notebook has one line that is updated, a terminal a bar. Elsewhere, as in the log of a job, lines come after 15
    seconds, and then ever more rarely: nothing for a short run, a dozen for one that takes a day.

    Args:
        title: what is running.
    """
    if _is_notebook():
        line = _NotebookLine(title)
        try:
            yield line
        finally:
            line.finish()
        return
    if sys.stderr is not None and sys.stderr.isatty():
        with run_progress(title) as update:
            yield update
        return
    yield _ProgressLines(title, growth=2)


def _is_notebook() -> bool:
    """Whether this code runs in the kernel of a notebook, which only has IPython loaded if it does."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None) is not None


class _ProgressLines:
    """Progress callback that prints a line now and then; with `growth`, each time after a longer while."""

    def __init__(self, title: str, workers: Callable[[], str] = lambda: "", growth: float = 1) -> None:
        self._title = title
        self._workers = workers
        self._growth = growth
        self._between: float = _BETWEEN_LINES
        self._last = time.monotonic()
        self._ending = ""

    def __call__(self, progress: Progress) -> None:
        ending = _ending(progress)
        kind = ending.partition(":")[0]  # not each time when there is one call less to wait for
        if kind != self._ending or time.monotonic() - self._last >= self._between:
            self._last, self._ending = time.monotonic(), kind
            self._between *= self._growth
            line = "; ".join(filter(None, [_progress_text(progress), self._workers(), ending]))
            print(visible(f"{self._title}: {line}", one_line=True), file=sys.stderr, flush=True)


class _NotebookLine:
    """Progress callback that updates one line of text below the cell of a notebook."""

    def __init__(self, title: str) -> None:
        from IPython.display import display

        self._title = title
        self._progress: Progress | None = None
        self._last = 0.0
        # Here, in the thread of the cell: what is shown first decides below which cell it is.
        self._handle: Any = display(self._shown("starting"), raw=True, display_id=True)

    def __call__(self, progress: Progress) -> None:
        self._progress = progress
        if time.monotonic() - self._last >= _BETWEEN_UPDATES:
            self._last = time.monotonic()
            share = progress.done / progress.steps if progress.steps else 0.0
            full = round(_BAR * min(1.0, share))
            line = "; ".join(filter(None, [_progress_text(progress), _ending(progress)]))
            self._handle.update(self._shown(f"{'█' * full}{'░' * (_BAR - full)} {line}"), raw=True)

    def finish(self) -> None:
        """Leave a line that says what was done."""
        progress = self._progress
        if progress is None:
            text = "not started"
        elif counts := _counts(progress):
            text = f"{counts} in {_duration(progress.seconds)}{', stopped' * progress.stopped}"
        else:
            text = "all done before"
        self._handle.update(self._shown(text), raw=True)

    def _shown(self, text: str) -> dict[str, str]:
        return {"text/plain": visible(f"{self._title}: {text}", one_line=True)}


def _progress_text(progress: Progress) -> str:
    parts = [_counts(progress), f"{progress.rate:.1f}/s"]
    left = progress.remaining_seconds
    if left is not None:
        parts.append(f"{_duration(left)} left")
    if progress.coverage is not None and progress.verdicts:
        parts.append(f"{progress.coverage:.0%} scored")
    return ", ".join(filter(None, parts))


def _counts(progress: Progress) -> str:
    parts = []
    if progress.images:
        parts.append(f"{progress.made:,}/{progress.images:,} made")
    if progress.verdicts:
        parts.append(f"{progress.judged:,} judged")
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
    if not progress.under_way:
        return "stopping: saving what is done; Ctrl-C again ends now"
    calls, them = ("1 call", "it") if progress.under_way == 1 else (f"{progress.under_way:,} calls", "them")
    return f"stopping: waiting for {calls} under way; Ctrl-C again ends now and loses {them}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
