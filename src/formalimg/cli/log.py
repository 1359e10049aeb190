"""`formalimg share log` and the `--log-to` option: log runs to experiment trackers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from formalimg.cli.commands import argument, option
from formalimg.cli.streams import echo

if TYPE_CHECKING:
    from formalimg.reports.sharing.trackers import Tracker
    from formalimg.runs.manifest import Identity
    from formalimg.stats.observations import Profile


def log_command(
    runs: Annotated[list[Path], argument("RUN", "Run folders.")],
    to: Annotated[list[str], option("TRACKER", "wandb[:PROJECT], mlflow[:URI] or tensorboard[:DIR]; repeatable.")],
    failures: Annotated[int, option("N", "The most failures with images.", min=0, max=1000)] = 24,
) -> None:
    """Log runs to an experiment tracker: rates by level, coverage, cost, and failures with images.

    Each tracker is an extra of its own, as in formalimg[tensorboard]. Logging a run again replaces it. W&B works
    offline with WANDB_MODE=offline.
    """
    from contextlib import closing

    from formalimg.runs.reader import open_run

    trackers = read_trackers(to)
    judged: list[tuple[Path, Identity | None]] = []
    for folder in runs:
        with closing(open_run(folder)) as run:
            judged += [(folder, judge) for judge in run.judges() or (None,)]
    log_runs(judged, trackers, failures)


def read_trackers(names: Sequence[str] | None) -> list[Tracker]:
    """Open the named trackers, so that errors are raised before any work is done."""
    if not names:
        return []
    from formalimg.reports.sharing.trackers import read_tracker

    return [read_tracker(name) for name in names]


def log_runs(
    judged: Sequence[tuple[Path, Identity | None]],
    trackers: Sequence[Tracker],
    failures: int | None = None,
    profile: Profile | None = None,
) -> None:
    """Log each run with the verdicts of a judge, and print the locations."""
    if not trackers:
        return
    from formalimg.reports.sharing.trackers import MAX_FAILURES, log_run, read_tracked_run

    for folder, judge in judged:
        run = read_tracked_run(
            folder, judge, max_failures=MAX_FAILURES if failures is None else failures, profile=profile
        )
        for tracker in trackers:
            echo(f"{run.name} in {tracker.name}: {log_run(run, tracker)}", err=True)
