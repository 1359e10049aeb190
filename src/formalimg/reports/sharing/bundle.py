"""Bundles: single citable files that contain runs with all data behind their numbers."""

from __future__ import annotations

import hashlib
import platform
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from formalimg._util.io import atomic_write
from formalimg._util.strict_json import dumps_storable, loads_strict
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.reports.sharing.bundle_format import (
    CHUNK,
    HEADER,
    KIND,
    MAX_FILE_BYTES,
    REPORT,
    SCHEMA,
    TABLES,
    FileDigest,
    digest_text,
    image_path,
    json_bytes,
    run_path,
    table_path,
)
from formalimg.runs.reader import StoredRun, open_run
from formalimg.runs.records import RunRecords, open_records, restore_run

_DEPENDENCIES = ("numpy", "pillow", "ortools")  # Packages whose versions may change a number
_TIME = (1980, 1, 1, 0, 0, 0)


class WrittenBundle(NamedTuple):
    """The result of writing a bundle."""

    path: Path  # the file
    digest: str  # the digest to cite: it covers every file in the bundle
    bytes: int  # its size
    runs: tuple[Mapping[str, Any], ...]  # what the bundle says about each run: suite, model, judges and counts


def write_bundle(
    folders: Sequence[str | Path], path: str | Path, made_with: str, *, images: bool = False
) -> WrittenBundle:
    """Write runs to a bundle with a reproducible digest; with the same zlib version, its bytes are identical too.

    Args:
        folders: the run folders.
        path: the file to write; it must not exist.
        made_with: the version of formalimg.
        images: whether the images are part of it; their digests always are.
    """
    target = Path(path)
    if not folders:
        raise FormalimgError("nothing to bundle: name at least one run folder")
    if target.exists():
        raise FormalimgError(f"{target} already exists: choose another name, or remove it")
    if not target.parent.is_dir():
        raise FormalimgError(f"cannot write {target}: the folder {target.parent} does not exist")
    named = _name_runs([Path(folder) for folder in folders])
    with ExitStack() as stack, tempfile.TemporaryFile() as file, closing(_BundleWriter(file)) as writer:
        records = {name: stack.enter_context(open_records(folder)) for name, folder in named.items()}
        runs = []
        for name, run_records in records.items():
            writer.add(run_path(name, "run.toml"), run_records.manifest)
            for table, rows in run_records.tables.items():
                writer.add_records(table_path(name, table), rows)
            for journal, data in run_records.journals.items():
                writer.add(run_path(name, journal), data)
            with closing(open_run(named[name])) as run:
                has_images = images and run.has_images
                for image, data in _read_images(run) if has_images else ():
                    writer.add(image_path(name, image), data)
            runs.append(run_counts(name, run_records, images=has_images))
        # From a copy made of the records: whoever has the bundle has no more than these.
        with restored_runs(records) as copies:
            for name, data in report_files(copies).items():
                writer.add(name, data)
        versions = {"python": ".".join(platform.python_version_tuple()[:2])}
        for package in _DEPENDENCIES:
            with suppress(PackageNotFoundError):  # a copy without metadata
                versions[package] = version(package)
        digest = writer.finish({"made_with": made_with, "versions": versions, "runs": runs})
        size = file.tell()
        file.seek(0)
        atomic_write(target, iter(lambda: file.read(CHUNK), b""))
    return WrittenBundle(target, digest, size, tuple(runs))


@contextmanager
def restored_runs(records: Mapping[str, RunRecords]) -> Iterator[dict[str, Path]]:
    """Yield run folders restored from records, by name, in a temporary folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="formalimg-bundle-") as root:
        folders = {name: Path(root) / name for name in records}
        for name, run_records in records.items():
            restore_run(folders[name], run_records)
        yield folders


def report_files(folders: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the report on runs as `report.json` and `report.md`, with a row for each judge and without paths."""
    with ExitStack() as stack:
        runs = []
        for folder in folders.values():
            run = stack.enter_context(closing(open_run(folder)))
            runs += [stack.enter_context(closing(open_run(folder, judge))) for judge in run.judges()] or [run]
        comparison = compare(runs)
        data, text = render(comparison, "json"), render(comparison, "md")
    for root in {f"{folder.parent}/" for folder in folders.values()}:
        data, text = data.replace(root, ""), text.replace(root, "")
    return {REPORT: json_bytes(loads_strict(data)), TABLES: text.encode()}


def run_counts(name: str, records: RunRecords, *, images: bool) -> dict[str, Any]:
    """Return the header entry for a run, computed from its records."""
    tables = records.tables
    words = {1: "passed", 0: "failed"}
    return {
        "name": name,
        "items": sum(1 for _ in tables["items"]),
        "images": _sorted_counts(str(row["status"]) for row in tables["pictures"]),
        "judges": [str(row["name"]) for row in tables["judges"]],
        "verdicts": _sorted_counts(words.get(row["passed"], "unscored") for row in tables["verdicts"]),
        "has_images": images,
    }


def _sorted_counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _name_runs(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the folders by unique names that are safe to use in paths."""
    named: dict[str, Path] = {}
    for folder in folders:
        if folder.resolve() in {path.resolve() for path in named.values()}:
            raise FormalimgError(f"{folder} is named twice: name each run once")
        stem = re.sub(r"[/\\:\x00-\x1f\x7f]", "-", folder.resolve().name)[:150].lstrip(".") or "run"
        names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(folders) + 2))
        named[next(name for name in names if name not in named)] = folder
    return named


def _read_images(run: StoredRun) -> Iterator[tuple[str, bytes]]:
    """Yield the names and bytes of a run's images, verifying the digest of each."""
    for judged in run.judged():
        if judged.image is None:
            continue
        try:
            yield judged.image.name, judged.image.read_bytes()
        except OSError as error:
            advice = "restore it, or leave --images out"
            raise FormalimgError(f"cannot bundle {judged.image}: {error.strerror}; {advice}") from error


class _BundleWriter:
    """Writes the files of a bundle reproducibly, with the header last."""

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._files: dict[str, FileDigest] = {}

    def add(self, path: str, data: bytes) -> None:
        """Add a file, storing images uncompressed because they are compressed already."""
        _require_size(path, len(data))
        self._files[path] = FileDigest(hashlib.sha256(data).hexdigest(), len(data))
        self._write(path, data)

    def add_records(self, path: str, records: Iterable[Mapping[str, object]]) -> None:
        """Add records as JSON lines in the format of `lines_bytes`, without holding them all in memory."""
        digest, size, chunk = hashlib.sha256(), 0, bytearray()  # chunks compress faster than single lines
        with self._archive.open(path, "w") as file:
            for record in chain(records, [None]):
                chunk += b"" if record is None else f"{dumps_storable(record)}\n".encode()
                if record is None or len(chunk) >= CHUNK:
                    digest.update(chunk)
                    size += len(chunk)
                    _require_size(path, size)
                    file.write(chunk)
                    chunk.clear()
        _set_attributes(self._archive.getinfo(path))
        self._files[path] = FileDigest(digest.hexdigest(), size)

    def finish(self, contents: Mapping[str, object]) -> str:
        """Write the header and return the digest of the bundle."""
        files = {path: entry._asdict() for path, entry in sorted(self._files.items())}
        header = json_bytes({"kind": KIND, "schema": SCHEMA, **contents, "files": files})
        self._write(HEADER, header)
        digest = hashlib.sha256(header).hexdigest()
        self._archive.comment = digest_text(digest).encode()
        self._archive.close()
        return digest

    def close(self) -> None:
        """Close the bundle file, whether or not it is complete."""
        self._archive.close()

    def _write(self, path: str, data: bytes) -> None:
        entry = zipfile.ZipInfo(path, _TIME)
        _set_attributes(entry)
        entry.compress_type = zipfile.ZIP_STORED if "/images/" in path else zipfile.ZIP_DEFLATED
        self._archive.writestr(entry, data, compresslevel=9)


def _require_size(path: str, size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise FormalimgError(f"{path} would have {size:,} bytes, and a bundle takes {MAX_FILE_BYTES:,} for each")


def _set_attributes(entry: zipfile.ZipInfo) -> None:
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # the same on every system
