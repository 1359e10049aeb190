"""Index of all runs of a site: summaries, tags and progress, reread only when their files change."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Hashable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from pydantic import TypeAdapter

from formalimg._util.io import atomic_write, cache_folder, read_plain_bytes
from formalimg.errors import FormalimgError
from formalimg.reports.run_numbers import headline_difference
from formalimg.runs.image_counts import RunActivity, is_in_progress
from formalimg.runs.reader import open_run
from formalimg.runs.tags import TAGS_FILE, RunTags, can_write_tags, read_tags, write_tags
from formalimg.stats.observations import Interval
from formalimg.web.viewer.site import READ_ERRORS, RunFolder, Site, StampedCache, file_stamp, run_state
from formalimg.web.viewer.summaries import RunSummary, summarize_run

_MAX_CACHED = 4096  # runs whose summaries are in memory
_MAX_BYTES = 64 * 1024 * 1024  # of a summary on disk
_RETRY_SECONDS = 10.0  # until an unreadable run is tried again although its files have not changed


class IndexedRun(NamedTuple):
    """An indexed run with its summary, tags and activity."""

    name: str  # in URLs
    summary: RunSummary
    tags: RunTags = RunTags()
    tags_error: str = ""  # why the tags cannot be read; empty if they can
    activity: RunActivity | None = None  # the progress while a process is writing to the run; else None
    can_edit: bool = False  # whether its tags can be edited here
    state: Hashable = None  # changes whenever the run changes


class UnreadableRun(NamedTuple):
    """A folder that cannot be read as a run, with the reason."""

    name: str
    error: str


class BaselineDifference(NamedTuple):
    """The difference in the overall figure between a run and the baseline."""

    value: float  # over the items that both have a verdict for, if it is paired
    interval: Interval | None  # its confidence interval, whatever the missing verdicts are; None if it is not paired
    is_paired: bool  # whether both runs have the same items


class RunIndex:
    """The index of a site, safe to use from any thread."""

    def __init__(self, site: Site, *, read_only: bool = False) -> None:
        """Index the runs of a site."""
        self.site, self.read_only = site, read_only
        self._summaries: StampedCache[RunSummary] = StampedCache(_MAX_CACHED)
        self._differences: StampedCache[BaselineDifference | None] = StampedCache(_MAX_CACHED)
        self._failures: dict[Path, tuple[Hashable, float, str]] = {}  # state, time of the next attempt, reason

    def listing(self) -> tuple[list[IndexedRun], list[UnreadableRun]]:
        """Return all runs, and the folders that cannot be read."""
        runs, unreadable = [], []
        for folder in self.site.runs():
            state = run_state(folder.folder)
            summary = self._read(folder, state)
            if isinstance(summary, UnreadableRun):
                unreadable.append(summary)
                continue
            tags, problem = RunTags(), ""
            try:
                tags = read_tags(folder.folder)
            except FormalimgError as error:
                problem = str(error)
            can_edit = not self.read_only and not problem and can_write_tags(folder.folder, self.site.folder)
            runs.append(IndexedRun(folder.name, summary, tags, problem, self.activity(folder), can_edit, state))
        return runs, unreadable

    def difference(self, run: IndexedRun, baseline: IndexedRun) -> BaselineDifference | None:
        """Return how much higher a run is than the baseline, or None if they cannot be compared."""
        first, second = run.summary, baseline.summary
        if first.suite != second.suite or run.name == baseline.name:
            return None
        return self._differences.get(
            (run.name, baseline.name),
            (run.state, baseline.state),
            lambda: _difference_of_items(first, second) or _difference_of_figures(first, second),
        )

    def in_progress(self) -> Iterator[tuple[str, RunActivity]]:
        """Yield the runs that a process is writing to, with their progress."""
        for folder in self.site.runs():
            activity = self.activity(folder)
            if activity is not None:
                yield folder.name, activity

    def activity(self, run: RunFolder) -> RunActivity | None:
        """Return the progress of a run, or None if no process is writing to it."""
        if not is_in_progress(run.folder):
            return None
        try:
            with closing(open_run(run.folder)) as opened:
                return opened.activity()
        except READ_ERRORS:
            return None  # it is being created, or damaged, which its summary says

    def state_digest(self) -> str:
        """Return a digest that changes with the content of the runs page, ignoring the figures of runs in progress."""
        state = [
            (run.name, file_stamp(run.folder / TAGS_FILE), is_in_progress(run.folder) or run_state(run.folder))
            for run in self.site.runs()
        ]
        return hashlib.sha256(repr(state).encode("utf-8", "replace")).hexdigest()[:16]

    def save_tags(self, name: str, tags: Sequence[str], note: str, version: str) -> RunTags:
        """Write the tags and the note of a run; see `formalimg.runs.write_tags`."""
        run = self.site.find(name)
        summary = self._read(run, run_state(run.folder))
        if isinstance(summary, UnreadableRun):
            raise FormalimgError(f"{name} is not a readable run, so nothing was saved: {summary.error}")
        return write_tags(run.folder, tags, note, version=version, root=self.site.folder)

    def _read(self, run: RunFolder, state: Hashable) -> RunSummary | UnreadableRun:
        """Return the summary of a run, or the reason why it cannot be read."""
        failed_state, retry_at, reason = self._failures.get(run.folder, (None, 0.0, ""))
        if failed_state == state and monotonic() < retry_at:
            return UnreadableRun(run.name, reason)
        try:
            return self._summaries.get(run.folder, state, lambda: _load_or_summarize(run.folder, state))
        except FormalimgError as error:
            reason = str(error)
        except READ_ERRORS as error:
            logging.getLogger(__name__).warning("cannot read %s", run.folder, exc_info=True)
            reason = f"cannot be read ({type(error).__name__}: {error})"
        self._failures[run.folder] = (state, monotonic() + _RETRY_SECONDS, reason)
        return UnreadableRun(run.name, reason)


def _difference_of_items(first: RunSummary, second: RunSummary) -> BaselineDifference | None:
    if first.digest != second.digest:
        return None
    headline = headline_difference(first.about, first.means, second.means)
    if headline.estimate is None or headline.interval is None:
        return None
    missing = min(1.0, 2 - first.coverage - second.coverage)  # the share where the difference may be anything
    low, high = ((1 - missing) * end for end in headline.interval)
    interval = Interval(low - missing, high + missing) if missing else headline.interval
    return BaselineDifference(headline.estimate, interval, True)


def _difference_of_figures(first: RunSummary, second: RunSummary) -> BaselineDifference | None:
    value, baseline = first.overall.value, second.overall.value
    if value is None or baseline is None or first.is_of_levels != second.is_of_levels:
        return None
    return BaselineDifference(value - baseline, None, False)


# --- on disk, so that a new server need not read all results again


def _load_or_summarize(folder: Path, state: Hashable) -> RunSummary:
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    file = cache_folder() / "run-summaries" / f"{name}.json"
    key = f"{_code_stamp()} {state}"
    try:
        stored_key, summary = _summary_codec().validate_json(read_plain_bytes(file, _MAX_BYTES))
        if stored_key == key:
            return summary
    except (OSError, ValueError, RecursionError):
        pass  # it is computed again
    summary = summarize_run(folder)
    if not is_in_progress(folder):  # it would be outdated at once
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(file, [_summary_codec().dump_json((key, summary))])
        except (OSError, ValueError, FormalimgError):
            pass  # the next server computes it
    return summary


@cache
def _summary_codec() -> TypeAdapter[tuple[str, RunSummary]]:
    return TypeAdapter(tuple[str, RunSummary])


@cache
def _code_stamp() -> str:
    """Return a stamp of the installed code, so that summaries by another version are not reused."""
    root = Path(__file__).parents[2]
    stamp = hashlib.sha256()
    for package in ("logic", "runs", "stats", "benchmarks", "reports", "scoring", "web/viewer"):
        for file in sorted((root / package).rglob("*.py")) + sorted((root / package).rglob("*.toml")):
            stat = file.stat()
            stamp.update(f"{file.relative_to(root)} {stat.st_mtime_ns} {stat.st_size}\n".encode())
    return stamp.hexdigest()[:16]
