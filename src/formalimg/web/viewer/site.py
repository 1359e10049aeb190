"""The run folders that a site shows."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.reporting import Comparison, compare
from formalimg.runs import StoredRun, open_run
from formalimg.web.server import NotFoundError

_RUN_FILES = ("run.toml", "results.sqlite")
"""A folder that has one of these is, or was meant to be, a run."""

_MAX_DEPTH = 2
_MAX_CACHED_RUNS = 256
"""The numbers of so many runs are kept in memory."""


_MAX_CACHED_COMPARISONS = 32
"""What was worked out from several runs together is kept for so many choices of runs."""

Found = TypeVar("Found")

READ_ERRORS = (FormalimgError, sqlite3.Error, OSError, ValueError, LookupError, TypeError)
"""What may come of reading a folder, which can hold anything. No run may hide the others because of it."""


class UnknownRunError(NotFoundError):
    """There is no run of this name."""


class FoundRun(NamedTuple):
    """A folder that is shown as a run: its name in addresses, and where it lies."""

    name: str
    folder: Path


class Site:
    """All runs under a folder. They are looked for anew each time, so new ones show at once."""

    def __init__(self, folder: str | Path) -> None:
        """Show the runs under `folder`, which may also be a run itself.

        Raises:
            FormalimgError: if there is no such folder.
        """
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FormalimgError(f"there is no folder {self.folder}: name the folder that holds your runs")
        self._compared: StampedCache[Comparison] = StampedCache(_MAX_CACHED_RUNS)
        self._together: StampedCache[Any] = StampedCache(_MAX_CACHED_COMPARISONS)
        self._one_at_a_time = Lock()

    def runs(self) -> list[FoundRun]:
        """The folders to show, by name: runs, damaged ones, and folders without any run in them."""
        if _is_run(self.folder):
            return [FoundRun(self.folder.resolve().name or "run", self.folder)]
        return [FoundRun(path.relative_to(self.folder).as_posix(), path) for path in _runs_below(self.folder, 1)]

    def find(self, name: str) -> FoundRun:
        """The run of this name, which must be one of `runs()`: names are never taken for paths."""
        for run in self.runs():
            if run.name == name:
                return run
        raise UnknownRunError(f"there is no run {name!r} here: it may have been moved or deleted")

    @contextmanager
    def open(self, name: str, judge: int | None = None) -> Iterator[StoredRun]:
        """A run, opened for reading, by one of its judges (by number) or by the one that looked last."""
        folder = self.find(name).folder
        with closing(open_run(folder)) as run:
            if judge is None:
                yield run
                return
            judges = run.judges()
        if not 0 <= judge < len(judges):
            raise FormalimgError(f"run {name!r} has no judge number {judge}: it has {len(judges)}")
        with closing(open_run(folder, judges[judge])) as run:
            yield run

    def comparison(self, name: str, judge: int | None = None) -> Comparison:
        """The numbers of a run, as its report has them; worked out again only when the run has changed."""
        folder = self.find(name).folder

        def work_out() -> Comparison:
            with self.open(name, judge) as run:
                return compare([run])

        return self._compared.get((name, judge), _state(folder), work_out)

    def cached(self, names: Sequence[str], work_out: Callable[[], Found]) -> Found:
        """What is worked out from several runs; again only when one of them has changed.

        One such object is worked out at a time, because of all that is held in memory meanwhile.
        """
        state = tuple(_state(self.find(name).folder) for name in names)

        def alone() -> Found:
            with self._one_at_a_time:
                return work_out()

        found: Found = self._together.get(tuple(names), state, alone)
        return found


def _runs_below(folder: Path, depth: int) -> Iterator[Path]:
    """Runs, and folders of the first level in which there are none."""
    for path in sorted(_folders(folder)):
        if _is_run(path):
            yield path
            continue
        inside = list(_runs_below(path, depth + 1)) if depth < _MAX_DEPTH else []
        yield from inside
        if not inside and depth == 1:
            yield path


def _folders(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            yield from (Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return  # not ours to read; the folder itself is still listed


def _is_run(folder: Path) -> bool:
    return any((folder / mark).is_file() for mark in _RUN_FILES)


def _state(folder: Path) -> tuple[tuple[int, int], ...]:
    """What changes when a run does."""
    return tuple(_stamp(folder / name) for name in (*_RUN_FILES, f"{_RUN_FILES[1]}-wal"))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    # A log that holds nothing comes and goes with those who read.
    return (found.st_mtime_ns, found.st_size) if found.st_size else (0, 0)


Value = TypeVar("Value")

_STALE_FACTOR = 10
"""After a value was worked out, it stands for so many times as long as that took, even if its source has changed: a
run that goes on changes all the time."""


@dataclass(frozen=True)
class _CacheEntry(Generic[Value]):
    state: Hashable
    value: Value
    fresh_until: float


class StampedCache(Generic[Value]):
    """The values that were worked out last, each with the state of the world it belongs to."""

    def __init__(self, most: int) -> None:
        """Keep so many values."""
        self._most = most
        self._kept: OrderedDict[Hashable, _CacheEntry[Value]] = OrderedDict()
        self._lock = Lock()
        self._locks: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, state: Hashable, work_out: Callable[[], Value]) -> Value:
        """The value for a key; worked out at most once for each state, however many ask at the same time."""
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            with self._lock:
                kept = self._kept.get(key)
            begun = monotonic()
            if kept is not None and (kept.state == state or begun < kept.fresh_until):
                return kept.value
            value = work_out()
            ended = monotonic()
            with self._lock:
                self._kept[key] = _CacheEntry(state, value, ended + _STALE_FACTOR * (ended - begun))
                self._kept.move_to_end(key)
                while len(self._kept) > self._most:
                    gone, _ = self._kept.popitem(last=False)
                    self._locks.pop(gone, None)
            return value
