"""Progress of a run: counts, cost and remaining time, displayed in terminals, notebooks and log files."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from formalimg._util.text import visible
from formalimg.errors import FormalimgError
from formalimg.models.pricing import Spending


class EarlierWork(NamedTuple):
    """Work already completed in a run folder, as passed to `on_resume`."""

    images: int  # number of images that are asked for
    made: int | None  # how many of them exist; None if the call makes none
    scored: int | None  # how many of them this judge has scored; None if there is no judge

    def __str__(self) -> str:
        """Format the counts, as in `30 of 30 images and 12 of 30 verdicts already done`."""
        counts = {"images": self.made, "verdicts": self.scored}
        parts = [f"{done:,} of {self.images:,} {unit}" for unit, done in counts.items() if done is not None]
        return f"{' and '.join(parts)} already done"


@dataclass
class Progress(Spending):
    """Progress of the current call, as passed to `on_progress`, excluding earlier runs in the same folder."""

    images: int  # number of images to generate
    verdicts: int  # number of verdicts expected if nothing fails
    made: int = 0  # number of images that were generated, declined, or failed
    refused: int = 0
    failed: int = 0
    passed: int = 0  # number of images that passed, failed, or could not be judged
    not_passed: int = 0
    unscored: int = 0
    stopped: bool = False  # whether the run was stopped before its end
    gave_up: str = ""  # which model or judge failed so often that the run was stopped, and why; else empty
    # the error of a model or judge that ended the run; None if there is none
    ended_by: FormalimgError | None = field(default=None, repr=False)
    cost: float = 0.0  # cost of this run and of earlier ones in the same folder, in US dollars
    unpriced: int = 0  # number of images and verdicts with an unknown price
    estimated: int = 0  # number of calls whose use was not reported, so that they are counted by an estimate
    budget: float | None = None  # spending limit in US dollars; None for no limit
    under_way: int = field(default=0, repr=False, compare=False)  # number of images and verdicts that are being made
    started: float = field(default_factory=time.monotonic, repr=False)

    @contextmanager
    def counting_calls(self, count: int = 1) -> Iterator[None]:
        """Count `count` images or verdicts as in progress inside the block."""
        self.under_way += count
        try:
            yield
        finally:
            self.under_way -= count

    def count_image(self, status: str) -> None:
        """Count an image by its recorded status."""
        name = status if status in ("made", "refused") else "failed"
        setattr(self, name, getattr(self, name) + 1)

    def count_verdict(self, passed: bool | None) -> None:
        """Count a verdict: passed, failed, or (None) unscored."""
        name = "unscored" if passed is None else "passed" if passed else "not_passed"
        setattr(self, name, getattr(self, name) + 1)

    def spend(self, cost: float, unpriced: int = 0, estimated: int = 0) -> None:
        """Add the cost of a call, and stop the run when the budget is exhausted."""
        super().spend(cost, unpriced, estimated)
        if self.over_budget:  # never `|=`: a stop that another thread sets meanwhile would be written over
            self.stopped = True

    @property
    def seconds(self) -> float:
        """Seconds since the run started."""
        return time.monotonic() - self.started

    @property
    def judged(self) -> int:
        """Number of judged images, with or without a score."""
        return self.passed + self.not_passed + self.unscored

    @property
    def steps(self) -> int:
        """Number of images and verdicts expected, given what has failed so far."""
        return self.images + self.verdicts - (self.refused + self.failed if self.verdicts else 0)

    @property
    def done(self) -> int:
        """Number of completed steps, whether successful or not."""
        return self.made + self.refused + self.failed + self.judged

    @property
    def coverage(self) -> float | None:
        """Share of the finished images that could be scored; None if none is finished."""
        finished = self.judged + self.refused + self.failed
        return (self.passed + self.not_passed) / finished if finished else None

    @property
    def rate(self) -> float:
        """Images finished per second: judged ones, or generated ones if there is no judge."""
        finished = self.judged if self.verdicts else self.made
        return finished / self.seconds if self.seconds else 0.0

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds until the end at the rate so far; None before the first step."""
        return self.seconds / self.done * (self.steps - self.done) if self.done else None


def share_progress(progress: Progress, *components: object) -> None:
    """Pass the progress to all components that watch it: they raise `NotStartedError` once it is stopped."""
    for component in components:
        if watch := getattr(component, "watch_progress", None):
            watch(progress)


def interrupt_work(*components: object) -> None:
    """End all current calls of the components that support it with `NotStartedError`, from any thread."""
    for component in components:
        if interrupt := getattr(component, "interrupt", None):
            interrupt()


_BETWEEN_LINES = 15  # Seconds between lines where standard error is not a terminal, as in a log file
_BETWEEN_UPDATES = 0.25  # Seconds between updates of the line in a notebook, each of which is a message to the browser
_BAR = 20


@contextmanager
def run_progress(title: str, workers: Callable[[], str] = lambda: "") -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on a terminal, or periodic lines in log files."""
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
        figures, ending = _progress_text(progress), _format_ending(progress)
        bar.update(task, completed=progress.done, total=progress.steps, visible=True)

    with Live(get_renderable=render, transient=True, console=console, refresh_per_second=4):
        yield update


@contextmanager
def script_progress(title: str) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a run started from Python, on standard error or in the notebook.

    This is a line that is updated in a notebook, and a bar in a terminal. Elsewhere, as in the log of a job, lines are
    printed after 15 seconds and then less and less often: none for a short run, a dozen for one that takes a day.
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
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None) is not None


class _ProgressLines:
    """A progress callback that prints a line periodically, multiplying the interval by `growth` each time."""

    def __init__(self, title: str, workers: Callable[[], str] = lambda: "", growth: float = 1) -> None:
        self._title = title
        self._workers = workers
        self._growth = growth
        self._between: float = _BETWEEN_LINES
        self._last = time.monotonic()
        self._ending = ""

    def __call__(self, progress: Progress) -> None:
        ending = _format_ending(progress)
        kind = ending.partition(":")[0]  # not each time when there is one call less to wait for
        if kind != self._ending or time.monotonic() - self._last >= self._between:
            self._last, self._ending = time.monotonic(), kind
            self._between *= self._growth
            line = "; ".join(filter(None, [_progress_text(progress), self._workers(), ending]))
            print(visible(f"{self._title}: {line}", one_line=True), file=sys.stderr, flush=True)


class _NotebookLine:
    """A progress callback that updates a line of text below the notebook cell."""

    def __init__(self, title: str) -> None:
        from IPython.display import display

        self._title = title
        self._progress: Progress | None = None
        self._last = 0.0
        # Here, in the thread of the cell: what is shown first decides below which cell it is.
        self._handle: Any = display(self._format("starting"), raw=True, display_id=True)

    def __call__(self, progress: Progress) -> None:
        self._progress = progress
        if time.monotonic() - self._last >= _BETWEEN_UPDATES:
            self._last = time.monotonic()
            share = progress.done / progress.steps if progress.steps else 0.0
            full = round(_BAR * min(1.0, share))
            line = "; ".join(filter(None, [_progress_text(progress), _format_ending(progress)]))
            self._handle.update(self._format(f"{'█' * full}{'░' * (_BAR - full)} {line}"), raw=True)

    def finish(self) -> None:
        """Replace the line with a final summary."""
        progress = self._progress
        if progress is None:
            text = "not started"
        elif counts := _format_counts(progress):
            text = f"{counts} in {_format_duration(progress.seconds)}{', stopped' * progress.stopped}"
        else:
            text = "all done before"
        self._handle.update(self._format(text), raw=True)

    def _format(self, text: str) -> dict[str, str]:
        return {"text/plain": visible(f"{self._title}: {text}", one_line=True)}


def _progress_text(progress: Progress) -> str:
    parts = [_format_counts(progress), f"{progress.rate:.1f}/s"]
    remaining = progress.remaining_seconds
    if remaining is not None:
        parts.append(f"{_format_duration(remaining)} left")
    if progress.coverage is not None and progress.verdicts:
        parts.append(f"{progress.coverage:.0%} scored")
    return ", ".join(filter(None, parts))


def _format_counts(progress: Progress) -> str:
    made = f"{progress.made:,}/{progress.images:,} made" if progress.images else ""
    judged = f"{progress.judged:,} judged" if progress.verdicts else ""
    return ", ".join(filter(None, [made, judged]))


def _format_ending(progress: Progress) -> str:
    if not progress.stopped:
        return ""
    if progress.ended_by or progress.gave_up or progress.over_budget:
        if not progress.under_way:
            return ""  # how it ended is said next
        cause = "too many failures in a row" if progress.gave_up else "budget exhausted"
        cause = "cannot continue" if progress.ended_by else cause
        return f"{cause}: work in progress is still saved; Ctrl-C discards it"
    if not progress.under_way:
        return "stopping: saving what is done; Ctrl-C again ends now"
    calls, them = ("1 call", "it") if progress.under_way == 1 else (f"{progress.under_way:,} calls", "them")
    return f"stopping: waiting for {calls} under way; Ctrl-C again ends now and loses {them}"


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
