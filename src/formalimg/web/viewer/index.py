"""Index of all runs of a site: summaries, tags and progress, reread only when their files change."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.reports.run_numbers import headline_difference
from formalimg.runs.image_counts import RunActivity, is_in_progress
from formalimg.runs.reader import open_run
from formalimg.runs.tags import TAGS_FILE, RunTags, can_write_tags, read_tags, write_tags
from formalimg.stats.observations import Interval
from formalimg.web.viewer.site import READ_ERRORS, FoundRun, Site, StampedCache, file_stamp, run_state
from formalimg.web.viewer.summaries import RunSummary, UnreadableRun, cache_summary, cached_summary, summarize_run

_MAX_CACHED = 4096  # Number of runs whose summaries are in memory
_MAX_AT_ONCE = 24
"""Number of runs that a request sums up itself; the others are summed up in the background, and shown when they are."""

_RETRY_SECONDS = 10.0  # Seconds until a run that could not be read is tried again although its files have not changed


class IndexedRun(NamedTuple):
    """An indexed run with its summary, tags and activity."""

    name: str  # its name in URLs
    summary: RunSummary  # its figures
    tags: RunTags = RunTags()  # its tags and note
    tags_error: str = ""  # why they cannot be read; empty if they can
    activity: RunActivity | None = None  # how far it is, while a process is writing to it; else None
    can_edit: bool = False  # whether its tags can be edited here


class BaselineDifference(NamedTuple):
    """The difference in the overall figure between a run and the baseline."""

    value: float  # the difference; over the items that both have a verdict for, if it is paired
    interval: Interval | None  # its confidence interval, whatever the missing verdicts are; None if it is not paired
    is_paired: bool  # whether both runs have the same items


class RunListing(NamedTuple):
    """All folders of a site: runs, unreadable folders, and the names of runs that are not summarized yet."""

    runs: list[IndexedRun]
    unreadable: list[UnreadableRun]
    pending: list[str]


class _ReadFailure(NamedTuple):
    state: object
    until: float
    error: str


class _SameObjects:
    """A cache key for summaries that compares objects by identity."""

    def __init__(self, *objects: object) -> None:
        self._objects = objects  # held, so that no other object gets their ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObjects) and [*map(id, self._objects)] == [*map(id, other._objects)]

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._objects)))


class RunIndex:
    """The index of a site, safe to use from any thread."""

    def __init__(self, site: Site, *, read_only: bool = False) -> None:
        """Index the runs of a site."""
        self.site, self.read_only = site, read_only
        self._summaries: StampedCache[RunSummary] = StampedCache(_MAX_CACHED)
        self._tags: StampedCache[RunTags] = StampedCache(_MAX_CACHED)
        self._activities: StampedCache[RunActivity] = StampedCache(_MAX_CACHED)
        self._differences: StampedCache[BaselineDifference | None] = StampedCache(_MAX_CACHED)
        self._failures: dict[Path, _ReadFailure] = {}
        self._filling = Lock()

    def listing(self) -> RunListing:
        """Return all runs, summarizing a few new ones immediately and the rest in the background."""
        found, unreadable, pending = [], [], []
        allowed = _MAX_AT_ONCE
        for run in self.site.runs():
            state = run_state(run.folder)
            failure = self._failures.get(run.folder)
            if failure is not None and failure.state == state and monotonic() < failure.until:
                unreadable.append(UnreadableRun(run.name, failure.error))
                continue
            if self._summaries.peek(run.folder, state) is None:
                if not allowed:
                    pending.append(run.name)
                    continue
                allowed -= 1
            summary = self._read(run)
            if isinstance(summary, UnreadableRun):
                unreadable.append(summary)
            else:
                found.append(self._indexed(run, summary))
        if pending:
            Thread(target=self.fill, daemon=True).start()
        return RunListing(found, unreadable, pending)

    def fill(self) -> None:
        """Summarize all remaining runs, in one thread at a time."""
        if not self._filling.acquire(blocking=False):
            return
        try:
            for run in self.site.runs():
                self._read(run)
        finally:
            self._filling.release()

    def difference(self, run: IndexedRun, baseline: IndexedRun) -> BaselineDifference | None:
        """Return how much higher a run is than the baseline, or None if they cannot be compared."""
        first, second = run.summary, baseline.summary
        if first.suite != second.suite or run.name == baseline.name:
            return None

        def compute() -> BaselineDifference | None:
            return _paired(first, second) or _unpaired(first, second)

        return self._differences.get((run.name, baseline.name), _SameObjects(first, second), compute)

    def in_progress(self) -> Iterator[tuple[str, RunActivity]]:
        """Yield the runs that a process is writing to, with their progress."""
        for run in self.site.runs():
            found = self.activity(run)
            if found is not None:
                yield run.name, found

    def state_digest(self) -> str:
        """Return a digest that changes with the content of the runs page, ignoring the figures of runs in progress."""
        state = [
            (run.name, file_stamp(run.folder / TAGS_FILE), is_running or run_state(run.folder))
            for run in self.site.runs()
            for is_running in [is_in_progress(run.folder)]
        ]
        return hashlib.sha256(repr(state).encode("utf-8", "replace")).hexdigest()[:16]

    def save_tags(self, name: str, tags: Sequence[str], note: str, version: str) -> RunTags:
        """Write the tags and the note of a run; see `formalimg.runs.write_tags`."""
        run = self.site.find(name)
        summary = self._read(run)
        if isinstance(summary, UnreadableRun):
            raise FormalimgError(f"{name} is not a run that can be read, so nothing was saved: {summary.error}")
        return write_tags(run.folder, tags, note, version=version, root=self.site.folder)

    def _read(self, run: FoundRun) -> RunSummary | UnreadableRun:
        """Return the summary of a run, or the reason why it cannot be read."""
        state = run_state(run.folder)

        def compute() -> RunSummary:
            kept = cached_summary(run.folder, state)
            if kept is not None:
                return kept
            summary = summarize_run(run.folder)
            if not is_in_progress(run.folder):  # it would be outdated at once
                cache_summary(run.folder, state, summary)
            return summary

        try:
            return self._summaries.get(run.folder, state, compute)
        except FormalimgError as error:
            text = str(error)
        except READ_ERRORS as error:
            logging.getLogger(__name__).warning("cannot read %s", run.folder, exc_info=True)
            text = f"cannot be read ({type(error).__name__}: {error})"
        self._failures[run.folder] = _ReadFailure(state, monotonic() + _RETRY_SECONDS, text)
        return UnreadableRun(run.name, text)

    def _indexed(self, run: FoundRun, summary: RunSummary) -> IndexedRun:
        tags, problem = RunTags(), ""
        try:
            tags = self._tags.get(run.folder, file_stamp(run.folder / TAGS_FILE), lambda: read_tags(run.folder))
        except FormalimgError as error:
            problem = str(error)
        can_edit = not self.read_only and not problem and can_write_tags(run.folder, self.site.folder)
        return IndexedRun(run.name, summary, tags, problem, self.activity(run), can_edit)

    def activity(self, run: FoundRun) -> RunActivity | None:
        """Return the progress of a run, or None if no process is writing to it."""
        if not is_in_progress(run.folder):
            return None

        def compute() -> RunActivity:
            with closing(open_run(run.folder)) as opened:
                return opened.activity()

        try:
            return self._activities.get(run.folder, run_state(run.folder), compute)
        except READ_ERRORS:
            return None  # it is being created, or damaged, which its summary says


def _paired(first: RunSummary, second: RunSummary) -> BaselineDifference | None:
    if first.digest != second.digest:
        return None
    found = headline_difference(first.about, first.means, second.means)
    if found.estimate is None or found.interval is None:
        return None
    missing = min(1.0, 2 - first.coverage - second.coverage)  # of these, the difference may be anything
    low, high = ((1 - missing) * end for end in found.interval)
    interval = Interval(low - missing, high + missing) if missing else found.interval
    return BaselineDifference(found.estimate, interval, True)


def _unpaired(first: RunSummary, second: RunSummary) -> BaselineDifference | None:
    here, there = first.overall.value, second.overall.value
    if here is None or there is None or first.is_of_levels != second.is_of_levels:
        return None
    return BaselineDifference(here - there, None, False)
