"""Bundles: runs with everything that their numbers follow from, as one file that can be cited."""

from __future__ import annotations

import platform
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, NamedTuple

from formalimg._util.io import atomic_write
from formalimg._util.strict_json import loads_strict
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.reports.sharing.bundle_format import (
    REPORT,
    TABLES,
    BundleWriter,
    image_path,
    json_bytes,
    run_path,
    table_path,
)
from formalimg.runs.reader import open_run
from formalimg.runs.records import RowRecord, RunRecords, open_records, restore_run

_DEPENDENCIES = ("numpy", "pillow", "ortools")
"""Packages whose versions may change a number."""
_CHUNK = 1 << 20


class WrittenBundle(NamedTuple):
    """A bundle that was written."""

    path: Path  # the file
    digest: str  # the digest to cite: it covers every file in the bundle
    bytes: int  # its size
    runs: tuple[Mapping[str, Any], ...]  # what the bundle says about each run: suite, model, judges and counts


def write_bundle(
    folders: Sequence[str | Path], path: str | Path, made_with: str, *, images: bool = False
) -> WrittenBundle:
    """Write runs to a bundle; the same runs give the same digest, and with the same zlib the same bytes.

    Args:
        folders: the run folders.
        path: the file to write; it must not exist.
        made_with: the version of formalimg.
        images: whether the images are part of it; their digests always are.

    Raises:
        FormalimgError: if there is no run, one cannot be read, an image has changed, or the file exists.
    """
    target = Path(path)
    if not folders:
        raise FormalimgError("there is nothing to bundle: name at least one run folder")
    if target.exists():
        raise FormalimgError(f"{target} is there already: choose another name, or remove it")
    if not target.parent.is_dir():
        raise FormalimgError(f"cannot write {target}: the folder {target.parent} does not exist")
    named = _named([Path(folder) for folder in folders])
    with_images = {name for name, folder in named.items() if images and _has_images(folder)}
    with ExitStack() as opened, tempfile.TemporaryFile() as file, closing(BundleWriter(file)) as writer:
        records = {name: opened.enter_context(open_records(folder)) for name, folder in named.items()}
        about = []
        for name, found in records.items():
            counts = RunCounts()
            _add_records(writer, name, found, counts)
            about.append(counts.header(name, images=name in with_images))
            if name in with_images:
                for image, data in _images(named[name]):
                    writer.add(image_path(name, image), data)
        # From a copy made of the records: whoever has the bundle has no more than these.
        with restored_runs(records) as copies:
            for name, data in report_files(copies).items():
                writer.add(name, data)
        digest = writer.finish({"made_with": made_with, "versions": _versions(), "runs": about})
        size = file.tell()
        file.seek(0)
        atomic_write(target, _chunks(file))
    return WrittenBundle(target, digest, size, tuple(about))


@contextmanager
def restored_runs(records: Mapping[str, RunRecords]) -> Iterator[dict[str, Path]]:
    """Yield run folders made of records, by name, in a temporary folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="formalimg-bundle-") as root:
        folders = {name: Path(root) / name for name in records}
        for name, found in records.items():
            restore_run(folders[name], found)
        yield folders


def report_files(folders: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the report on runs, with a row for each judge: `report.json` and `report.md`, without paths."""
    with ExitStack() as opened:
        runs = []
        for folder in folders.values():
            run = opened.enter_context(closing(open_run(folder)))
            judges = run.judges()
            runs += [opened.enter_context(closing(open_run(folder, judge))) for judge in judges] or [run]
        comparison = compare(runs)
        data, text = render(comparison, "json"), render(comparison, "md")
    for root in {f"{folder.parent}/" for folder in folders.values()}:
        data, text = data.replace(root, ""), text.replace(root, "")
    return {REPORT: json_bytes(loads_strict(data)), TABLES: text.encode()}


def run_counts(name: str, records: RunRecords, *, images: bool) -> dict[str, Any]:
    """Return what the header of a bundle says about a run, all of it counted from its records."""
    counts = RunCounts()
    for table, rows in records.tables.items():
        for _ in counts.counted(table, rows):
            pass
    return counts.header(name, images=images)


class RunCounts:
    """Counts the records of a run while they are read."""

    def __init__(self) -> None:
        self._items = 0
        self._status: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._judges: list[str] = []

    def counted(self, table: str, rows: Iterable[RowRecord]) -> Iterator[RowRecord]:
        """Yield the rows of a table, and count them."""
        for row in rows:
            match table:
                case "items":
                    self._items += 1
                case "pictures":
                    self._status[str(row["status"])] += 1
                case "judges":
                    self._judges.append(str(row["name"]))
                case "verdicts":
                    self._passed[{1: "passed", 0: "failed"}.get(row["passed"], "unscored")] += 1
            yield row

    def header(self, name: str, *, images: bool) -> dict[str, Any]:
        """Return what the header of a bundle says about the run."""
        return {
            "name": name,
            "items": self._items,
            "images": dict(sorted(self._status.items())),
            "judges": self._judges,
            "verdicts": dict(sorted(self._passed.items())),
            "has_images": images,
        }


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the folders by names that are unique and can be part of a path."""
    found: dict[str, Path] = {}
    for folder in folders:
        if folder.resolve() in {other.resolve() for other in found.values()}:
            raise FormalimgError(f"{folder} is named twice: name each run once")
        stem = re.sub(r"[/\\:\x00-\x1f\x7f]", "-", folder.resolve().name)[:150].lstrip(".") or "run"
        names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(folders) + 2))
        found[next(name for name in names if name not in found)] = folder
    return found


def _add_records(writer: BundleWriter, name: str, records: RunRecords, counts: RunCounts) -> None:
    writer.add(run_path(name, "run.toml"), records.manifest)
    for table, rows in records.tables.items():
        writer.add_records(table_path(name, table), counts.counted(table, rows))
    for journal, data in records.journals.items():
        writer.add(run_path(name, journal), data)


def _has_images(folder: Path) -> bool:
    with closing(open_run(folder)) as run:
        return run.has_images


def _images(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and bytes of the images of a run, each checked by its digest."""
    with closing(open_run(folder)) as run:
        for judged in run.judged():
            if judged.image is None:
                continue
            try:
                yield judged.image.name, judged.image.read_bytes()
            except OSError as error:
                advice = "restore it, or leave --images out"
                raise FormalimgError(f"cannot bundle {judged.image}: {error.strerror}; {advice}") from error


def _versions() -> dict[str, str]:
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for package in _DEPENDENCIES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a copy without metadata
            continue
    return found


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while data := file.read(_CHUNK):
        yield data
