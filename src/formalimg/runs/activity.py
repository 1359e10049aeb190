"""Runs in progress, seen from outside: whether a process writes to the folder, how far it is, how fast, time left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.locks import LOCK_FILE, is_file_locked
from formalimg._util.strict_json import stored_integer
from formalimg.runs.manifest import TIME_FORMAT
from formalimg.runs.queries import ALL_IMAGES, RunQuery
from formalimg.runs.rows import RunCost

_RATE_WINDOW = 120.0
"""The rate is that of the last so many seconds."""

_COUNTS = (
    "SELECT count(*), coalesce(sum(status = 'planned'), 0), "
    f"coalesce(sum(status = 'made' AND verdicts.item IS NULL), 0) {ALL_IMAGES}"
)
_RECENT_VERDICTS = "SELECT count(*) FROM verdicts WHERE judge = :judge AND at >= :since"
_RECENT_IMAGES = "SELECT count(*) FROM pictures WHERE at >= :since"


class ImageCounts(NamedTuple):
    """How many images of a run are done."""

    images: int  # number of planned images
    waiting: int  # how many of them are still to be generated
    unjudged: int  # how many exist that the last judge has not looked at; 0 if there is no judge yet

    @property
    def done(self) -> int:
        """Number of images that are done: judged, or generated if there is no judge; also those that failed."""
        return self.images - self.waiting - self.unjudged


class RunActivity(NamedTuple):
    """A run in progress."""

    counts: ImageCounts  # how many images are done
    rate: float | None  # images per minute, over the last two minutes; None before the first
    seconds_left: float | None  # until the end, at this rate; None if there is no rate
    spent: RunCost  # the cost so far


def is_in_progress(folder: Path) -> bool:
    """Return whether a process is writing to a run folder. One that was killed is not: the system frees its lock."""
    return is_file_locked(folder / LOCK_FILE)


def image_counts(query: RunQuery, *, has_judge: bool) -> ImageCounts:
    """Return how many images of a run are planned, generated and judged."""
    (found,) = query(_counts, _COUNTS)
    return found if has_judge else found._replace(unjudged=0)


def run_activity(query: RunQuery, folder: Path, spent: RunCost, *, has_judge: bool) -> RunActivity:
    """Return how far a run in progress is, and how fast."""
    now = datetime.now(UTC)
    start = _window_start(folder, now)
    counts, seconds = image_counts(query, has_judge=has_judge), max((now - start).total_seconds(), 1.0)
    recent = _RECENT_VERDICTS if has_judge else _RECENT_IMAGES
    (done,) = query(_number, recent, since=start.strftime(TIME_FORMAT))
    if not done:
        return RunActivity(counts, None, None, spent)
    return RunActivity(counts, 60 * done / seconds, (counts.images - counts.done) * seconds / done, spent)


def _window_start(folder: Path, now: datetime) -> datetime:
    """Return since when images count for the rate: the window, or since the process began if that is later."""
    try:
        begun = datetime.fromtimestamp((folder / LOCK_FILE).stat().st_mtime, UTC)
    except OSError:
        begun = now
    return min(now, max(begun, now - timedelta(seconds=_RATE_WINDOW)))


def _counts(row: tuple[Any, ...]) -> ImageCounts:
    return ImageCounts(*(stored_integer(count, "count") for count in row))


def _number(row: tuple[Any, ...]) -> int:
    return stored_integer(row[0], "count")
