"""The runs below a folder, with a cache of their summaries."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from formalimg._util.io import is_folder
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.runs.reader import StoredRun, open_run
from formalimg.web.server import NotFoundError
from formalimg.web.viewer.study_pages import labels_of_runs, require_studies, studies_of_runs, study_files

_RUN_FILES = ("run.toml", "results.sqlite")  # A folder with one of these files is a run, possibly a damaged one
_STATE_FILES = (*_RUN_FILES, "results.sqlite-wal", "looks.jsonl")  # Files that change when a run does
_MAX_DEPTH = 2
_MAX_CACHED_RUNS = 256  # Number of runs whose summaries are cached


_MAX_HELD = 128  # Number of runs that are held open at the same time: each has a file open
_MAX_CACHED_COMPARISONS = 32  # Number of comparisons of several runs that are cached
Value = TypeVar("Value")

READ_ERRORS = (FormalimgError, sqlite3.Error, OSError, ValueError, LookupError, TypeError)
"""Errors of reading a folder, which can hold anything. No run may hide the others because of one."""


class UnknownRunError(NotFoundError):
    """Error for a run name that does not exist."""


class FoundRun(NamedTuple):
    """A folder shown as a run, with its name in URLs and its path."""

    name: str
    folder: Path


class Site:
    """All runs below a folder, which is scanned on each request so that new runs appear immediately."""

    def __init__(self, folder: str | Path, studies: Sequence[Path] = ()) -> None:
        """Create a site of the runs below `folder`, which may also be a run itself.

        Args:
            folder: the folder.
            studies: studies whose human labels correct the rates of their runs, besides those in the usual place.

        Raises:
            FormalimgError: if there is no such folder, or a study is none.
        """
        self._studies = require_studies(studies)
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FormalimgError(f"there is no folder {self.folder}: name the folder that holds your runs")
        self._summaries: StampedCache[Comparison] = StampedCache(_MAX_CACHED_RUNS)
        self._comparisons: StampedCache[Any] = StampedCache(_MAX_CACHED_COMPARISONS)
        self._compute_lock = Lock()
        self._frozen: _FrozenSite | None = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze the list of runs and keep them open, for exports that read all of them repeatedly.

        Only for one thread: open runs belong to theirs.
        """
        with ExitStack() as stack:
            self._frozen = _FrozenSite({run.name: run for run in self.runs()}, {}, {}, stack)
            try:
                yield
            finally:
                self._frozen = None

    def runs(self) -> list[FoundRun]:
        """Return the folders to show, sorted by name: runs, damaged runs, and folders without runs."""
        if self._frozen is not None:
            return [*self._frozen.runs.values()]
        if is_run(self.folder):
            return [FoundRun(self.folder.resolve().name or "run", self.folder)]
        return [FoundRun(path.relative_to(self.folder).as_posix(), path) for path in _runs_below(self.folder, 1)]

    def find(self, name: str) -> FoundRun:
        """Return the run with the given name, looked up in `runs()` so that names are never used as paths."""
        runs = {run.name: run for run in self.runs()} if self._frozen is None else self._frozen.runs
        if name in runs:
            return runs[name]
        raise UnknownRunError(f"there is no run {name!r} here: it may have been moved or deleted")

    @contextmanager
    def open(self, name: str, judge: int | None = None) -> Iterator[StoredRun]:
        """Open a run for reading, with the judge at a given position or the last one."""
        with self.open_found(self.find(name), judge) as run:
            yield run

    @contextmanager
    def open_found(self, found: FoundRun, judge: int | None = None) -> Iterator[StoredRun]:
        """Open a run from `runs()` without scanning the folder again."""
        frozen = self._frozen
        if frozen is None or (len(frozen.opened) >= _MAX_HELD and (found.name, judge) not in frozen.opened):
            with closing(_opened(found, judge)) as run:
                yield run
            return
        if (found.name, judge) not in frozen.opened:
            frozen.opened[found.name, judge] = frozen.stack.enter_context(closing(_opened(found, judge)))
        yield frozen.opened[found.name, judge]

    def comparison(self, name: str, judge: int | None = None) -> Comparison:
        """Return the comparison of a run as in its report, recomputed only if the run has changed."""
        folder = self.find(name).folder
        studies = studies_of_runs([folder], self._studies)

        def compute() -> Comparison:
            with self.open(name, judge) as run:
                return compare([run], labels=labels_of_runs([run], studies))

        return self._summaries.get((name, judge), self._state([folder], studies), compute)

    def labels(self, runs: Sequence[StoredRun]) -> dict[Path, RunLabels]:
        """Return the human labels that correct the given runs, by resolved run folder."""
        return labels_of_runs(runs, studies_of_runs([run.folder for run in runs], self._studies))

    def cached(self, names: Sequence[str], compute: Callable[[], Value], *, what: Hashable = "") -> Value:
        """Return a value computed from several runs, recomputed only if one of them has changed.

        Only one is computed at a time, to bound the memory in use. `what` names the value, if there are several.
        """
        folders = [self.find(name).folder for name in names]
        state = self._state(folders, studies_of_runs(folders, self._studies))

        def compute_alone() -> Value:
            with self._compute_lock:
                return compute()

        found: Value = self._comparisons.get((what, *names), state, compute_alone)
        return found

    def shared(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return a value shared by several pages, computed once while the site is frozen."""
        if self._frozen is None:
            return compute()
        if key not in self._frozen.shared:
            self._frozen.shared[key] = compute()
        found: Value = self._frozen.shared[key]
        return found

    def _state(self, folders: Sequence[Path], studies: Mapping[Path, Path]) -> Hashable:
        """Return a state that changes whenever one of the runs or their studies changes."""
        if self._frozen is not None:
            return ()
        labels = tuple(sorted(studies.items()))
        return (*map(run_state, folders), labels, *map(file_stamp, study_files(dict.fromkeys(studies.values()))))


class _FrozenSite(NamedTuple):
    """The runs of a frozen site, those held open, shared values, and the stack that closes the runs."""

    runs: Mapping[str, FoundRun]
    opened: dict[tuple[str, int | None], StoredRun]
    shared: dict[Hashable, Any]
    stack: ExitStack


def _opened(found: FoundRun, judge: int | None) -> StoredRun:
    name, folder = found
    if judge is None:
        return open_run(folder)
    with closing(open_run(folder)) as run:
        judges = run.judges()
    if not 0 <= judge < len(judges):
        raise FormalimgError(f"run {name!r} has no judge number {judge}: it has {len(judges)}")
    return open_run(folder, judges[judge])


def _runs_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield runs, and first-level folders that contain no runs."""
    for path in sorted(_folders(folder)):
        if is_run(path):
            yield path
            continue
        inside = list(_runs_below(path, depth + 1)) if depth < _MAX_DEPTH else []
        yield from inside
        if not inside and depth == 1:
            yield path


def _folders(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            yield from (Path(entry.path) for entry in entries if is_folder(entry) and not entry.name.startswith("."))
    except OSError:
        return  # not readable; the folder itself is still listed


def is_run(folder: Path) -> bool:
    """Return whether a folder is a run, even if damaged."""
    return any((folder / mark).is_file() for mark in _RUN_FILES)


def run_state(folder: Path) -> tuple[tuple[int, int], ...]:
    """Return file stamps that change whenever a run changes."""
    place = (
        f"{folder}{os.sep}"  # plain strings: pages look at hundreds of runs, and Path objects take longer than files
    )
    return tuple(file_stamp(place + name) for name in _STATE_FILES)


def file_stamp(path: str | Path) -> tuple[int, int]:
    """Return the modification time and size of a file, or zeros if it is missing or empty."""
    try:
        found = os.stat(path)  # noqa: PTH116  # also of plain strings
    except OSError:
        return (0, 0)
    # An empty write-ahead log comes and goes with readers.
    return (found.st_mtime_ns, found.st_size) if found.st_size else (0, 0)


_STALE_FACTOR = 10
"""A value stays valid for this many times as long as it took to compute, even if its source has changed: a run in
progress changes all the time.
"""


@dataclass(frozen=True)
class _CacheEntry(Generic[Value]):
    state: Hashable
    value: Value
    fresh_until: float

    def is_valid(self, state: Hashable, now: float) -> bool:
        return self.state == state or now < self.fresh_until


class StampedCache(Generic[Value]):
    """An LRU cache of computed values, each stored with the state of its source."""

    def __init__(self, max_entries: int) -> None:
        """Create a cache of at most `max_entries` values."""
        self._max_entries = max_entries
        self._entries: OrderedDict[Hashable, _CacheEntry[Value]] = OrderedDict()
        self._lock = Lock()
        self._locks: dict[Hashable, Lock] = {}

    def peek(self, key: Hashable, state: Hashable) -> Value | None:
        """Return the cached value of a key, or None if it is missing or outdated."""
        with self._lock:
            entry = self._entries.get(key)
        return entry.value if entry is not None and entry.is_valid(state, monotonic()) else None

    def get(self, key: Hashable, state: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key, computed at most once per state even with concurrent requests."""
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            with self._lock:
                entry = self._entries.get(key)
            begun = monotonic()
            if entry is not None and entry.is_valid(state, begun):
                return entry.value
            value = compute()
            ended = monotonic()
            with self._lock:
                self._entries[key] = _CacheEntry(state, value, ended + _STALE_FACTOR * (ended - begun))
                self._entries.move_to_end(key)
                while len(self._entries) > self._max_entries:
                    evicted, _ = self._entries.popitem(last=False)
                    self._locks.pop(evicted, None)
            return value
