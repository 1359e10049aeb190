"""The runs below a folder, with a cache of their comparisons, and the studies that correct their rates."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from formalimg._util.io import is_folder
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.human_eval.manifest import StudyManifest, is_study, read_study_manifest
from formalimg.human_eval.ratings import human_labels
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.runs.reader import StoredRun, open_run
from formalimg.web.server import NotFoundError

_RUN_FILES = ("run.toml", "results.sqlite")  # a folder with one of these files is a run, possibly a damaged one
_STATE_FILES = (*_RUN_FILES, "results.sqlite-wal", "looks.jsonl")  # files that change when a run does
_STUDY_FILES = ("study.toml", "ratings.sqlite", "ratings.sqlite-wal")
_STUDIES_FOLDER = "studies"  # where `formalimg annotate` puts studies by default, beside the folder of the runs
_MAX_DEPTH = 2
_MAX_OPEN = 128  # runs that a frozen site keeps open
_MAX_CACHED_RUNS = 256
_MAX_CACHED_COMPARISONS = 32  # of several runs
_STALE_FACTOR = 10
"""A value stays valid for this many times as long as it took to compute, as a run in progress changes all the time."""

Value = TypeVar("Value")

READ_ERRORS = (FormalimgError, sqlite3.Error, OSError, ValueError, LookupError, TypeError)
"""Errors of reading a folder, which can contain anything. One bad run must not hide the others."""


class RunFolder(NamedTuple):
    """A folder shown as a run, with its name in URLs."""

    name: str
    folder: Path


class StampedCache(Generic[Value]):
    """An LRU cache of computed values, each stored with the state of its source."""

    def __init__(self, max_entries: int) -> None:
        """Create a cache of at most `max_entries` values."""
        self._max_entries = max_entries
        self._entries: OrderedDict[Hashable, tuple[Hashable, Value, float]] = OrderedDict()
        self._lock = Lock()
        self._locks: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, state: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key, computed at most once per state even with concurrent requests."""
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            begun = monotonic()
            with self._lock:
                if key in self._entries:
                    stored_state, value, fresh_until = self._entries[key]
                    if stored_state == state or begun < fresh_until:
                        return value
            value = compute()
            ended = monotonic()
            with self._lock:
                self._entries[key] = (state, value, ended + _STALE_FACTOR * (ended - begun))
                self._entries.move_to_end(key)
                while len(self._entries) > self._max_entries:
                    evicted, _ = self._entries.popitem(last=False)
                    self._locks.pop(evicted, None)
            return value


class Site:
    """All runs below a folder, which is scanned on each request so that new runs appear immediately."""

    def __init__(self, folder: str | Path, studies: Sequence[Path] = ()) -> None:
        """Create a site of the runs below `folder`, which may also be a run itself.

        Args:
            folder: the folder.
            studies: studies whose human labels correct the rates of their runs, besides those in the usual place.
        """
        for study in studies:
            if not is_study(study):
                raise FormalimgError(f"{study} is not a study: name the folder of a study made by `formalimg annotate`")
        self._studies = tuple(studies)
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FormalimgError(f"there is no folder {self.folder}: name the folder that contains your runs")
        self._summaries: StampedCache[Comparison] = StampedCache(_MAX_CACHED_RUNS)
        self._comparisons: StampedCache[Any] = StampedCache(_MAX_CACHED_COMPARISONS)
        self._compute_lock = Lock()
        self._frozen: _FrozenSite | None = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze the list of runs and keep them open, for an export, which reads them repeatedly in one thread."""
        with ExitStack() as stack:
            self._frozen = _FrozenSite({run.name: run for run in self.runs()}, {}, {}, stack)
            try:
                yield
            finally:
                self._frozen = None

    def runs(self) -> list[RunFolder]:
        """Return the folders to show, sorted by name: runs, damaged runs, and folders without runs."""
        if self._frozen is not None:
            return [*self._frozen.runs.values()]
        if is_run(self.folder):
            return [RunFolder(self.folder.resolve().name or "run", self.folder)]
        return [RunFolder(path.relative_to(self.folder).as_posix(), path) for path in _runs_below(self.folder, 1)]

    def find(self, name: str) -> RunFolder:
        """Return the run with the given name, looked up in `runs()` so that names are never used as paths."""
        runs = {run.name: run for run in self.runs()} if self._frozen is None else self._frozen.runs
        if name in runs:
            return runs[name]
        raise NotFoundError(f"there is no run {name!r} here: it may have been moved or deleted")

    @contextmanager
    def open(self, name: str, judge: int | None = None) -> Iterator[StoredRun]:
        """Open a run for reading, with the judge at a given position or the last one."""
        with self.open_folder(self.find(name), judge) as run:
            yield run

    @contextmanager
    def open_folder(self, folder: RunFolder, judge: int | None = None) -> Iterator[StoredRun]:
        """Open a run from `runs()` without scanning the folder again."""
        frozen, key = self._frozen, (folder.name, judge)
        if frozen is None or (len(frozen.opened) >= _MAX_OPEN and key not in frozen.opened):
            with closing(_open_with_judge(folder, judge)) as run:
                yield run
            return
        if key not in frozen.opened:
            frozen.opened[key] = frozen.stack.enter_context(closing(_open_with_judge(folder, judge)))
        yield frozen.opened[key]

    def comparison(self, name: str, judge: int | None = None) -> Comparison:
        """Return the comparison of a run as in its report, recomputed only if the run has changed."""
        folder = self.find(name).folder
        studies = _studies_of_runs([folder], self._studies)

        def compute() -> Comparison:
            with self.open(name, judge) as run:
                return compare([run], labels=_labels_of_runs([run], studies))

        return self._summaries.get((name, judge), self._state([folder], studies), compute)

    def labels(self, runs: Sequence[StoredRun]) -> dict[Path, RunLabels]:
        """Return the human labels that correct the given runs, by resolved run folder."""
        return _labels_of_runs(runs, _studies_of_runs([run.folder for run in runs], self._studies))

    def cached(self, names: Sequence[str], compute: Callable[[], Value], *, what: Hashable = "") -> Value:
        """Return a value of several runs, recomputed only if one of them has changed; `what` names the value.

        Only one is computed at a time, to bound the memory in use.
        """
        folders = [self.find(name).folder for name in names]
        state = self._state(folders, _studies_of_runs(folders, self._studies))

        def compute_alone() -> Value:
            with self._compute_lock:
                return compute()

        value: Value = self._comparisons.get((what, *names), state, compute_alone)
        return value

    def shared(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return a value shared by several pages, computed once while the site is frozen."""
        if self._frozen is None:
            return compute()
        if key not in self._frozen.shared:
            self._frozen.shared[key] = compute()
        value: Value = self._frozen.shared[key]
        return value

    def _state(self, folders: Sequence[Path], studies: Mapping[Path, Path]) -> Hashable:
        """Return a state that changes whenever one of the runs or their studies changes."""
        if self._frozen is not None:
            return ()
        files = [study / name for study in dict.fromkeys(studies.values()) for name in _STUDY_FILES]
        return (*map(run_state, folders), tuple(sorted(studies.items())), *map(file_stamp, files))


class _FrozenSite(NamedTuple):
    runs: Mapping[str, RunFolder]
    opened: dict[tuple[str, int | None], StoredRun]
    shared: dict[Hashable, Any]
    stack: ExitStack  # closes the opened runs


def _open_with_judge(run_folder: RunFolder, judge: int | None) -> StoredRun:
    name, folder = run_folder
    if judge is None:
        return open_run(folder)
    with closing(open_run(folder)) as run:
        judges = run.judges()
    if not 0 <= judge < len(judges):
        raise FormalimgError(f"run {name!r} has no judge number {judge}: it has {len(judges)}")
    return open_run(folder, judges[judge])


def _runs_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield runs, and first-level folders that contain no runs."""
    try:
        with os.scandir(folder) as entries:
            folders = [Path(entry.path) for entry in entries if is_folder(entry) and not entry.name.startswith(".")]
    except OSError:
        return  # not readable; the folder itself is still listed
    for path in sorted(folders):
        if is_run(path):
            yield path
            continue
        inside = list(_runs_below(path, depth + 1)) if depth < _MAX_DEPTH else []
        yield from inside
        if not inside and depth == 1:
            yield path


def is_run(folder: Path) -> bool:
    """Return whether a folder is a run, even if damaged."""
    return any((folder / name).is_file() for name in _RUN_FILES)


def run_state(folder: Path) -> tuple[tuple[int, int], ...]:
    """Return file stamps that change whenever a run changes."""
    prefix = f"{folder}{os.sep}"  # strings, as pages look at hundreds of runs and Path objects are slow
    return tuple(file_stamp(prefix + name) for name in _STATE_FILES)


def file_stamp(path: str | Path) -> tuple[int, int]:
    """Return the modification time and size of a file, or zeros if it is missing or empty."""
    try:
        stat = os.stat(path)  # noqa: PTH116  # also of plain strings
    except OSError:
        return (0, 0)
    # An empty write-ahead log comes and goes with readers.
    return (stat.st_mtime_ns, stat.st_size) if stat.st_size else (0, 0)


# --- studies


def _studies_of_runs(runs: Sequence[Path], named: Sequence[Path]) -> dict[Path, Path]:
    """Return the study that labels each run: a named one, or a correction study next to the runs.

    Of several, the study with the most of these runs counts: only runs labelled together are compared by people.
    """
    compared = {run.resolve() for run in runs}
    manifests = {study: _read_study(study) for study in named}
    for study in dict.fromkeys(study for run in compared for study in _studies_beside(run)):
        manifest = manifests.get(study) or _read_study(study)
        if manifest is not None and (study in manifests or manifest.correction is not None):
            manifests[study] = manifest
    covered = {
        study: {(study / run.folder).resolve() for run in manifest.runs} & compared if manifest else set()
        for study, manifest in manifests.items()
    }
    order = sorted(covered, key=lambda study: (study not in named, -len(covered[study])))
    return {run: study for study in reversed(order) for run in covered[study]}


def _labels_of_runs(runs: Sequence[StoredRun], studies: Mapping[Path, Path]) -> dict[Path, RunLabels]:
    """Return the human labels of runs, or the reason why a study has none yet."""
    labels: dict[Path, RunLabels] = {}
    for study in dict.fromkeys(studies.values()):
        labelled = [run for run in runs if studies.get(run.folder.resolve()) == study]
        try:
            labels |= human_labels(study, labelled)
        except FormalimgError as error:
            labels |= {run.folder.resolve(): RunLabels(str(study), refused=str(error)) for run in labelled}
    return labels


def _studies_beside(run: Path) -> list[Path]:
    try:
        return sorted(folder for folder in (run.parent.parent / _STUDIES_FOLDER).iterdir() if is_study(folder))
    except OSError:
        return []


def _read_study(study: Path) -> StudyManifest | None:
    try:
        return read_study_manifest(study)
    except FormalimgError:
        return None
