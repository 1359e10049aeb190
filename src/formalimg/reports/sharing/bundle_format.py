"""The format of a bundle: a zip file whose `bundle.json` lists every file with its digest, and its own digest to cite.

    bundle.json            schema, versions, runs with their counts, all files with digests
    report.json, report.md the numbers of all runs and judges
    runs/NAME/run.toml     the manifest
    runs/NAME/TABLE.jsonl  items, pictures, judges, verdicts (with raw answers as evidence)
    runs/NAME/images/…     the images, by choice

The comment of the zip file is the digest of `bundle.json`, and so of everything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

from formalimg._util.io import refuse_special_file
from formalimg._util.json_size import count_values
from formalimg._util.strict_json import dumps_storable, loads_strict
from formalimg.errors import FormalimgError
from formalimg.reports.sharing.archive_limits import require_plain_archive
from formalimg.runs.records import table_names

SCHEMA = 1
KIND = "formalimg bundle"
HEADER, REPORT, TABLES = "bundle.json", "report.json", "report.md"
_HEADER_BYTES, _HEADER_BYTES_PER_FILE = 1_000_000, 200
"""The size of a header without files, and what each file may add to it."""
MAX_FILE_BYTES = 512_000_000
"""The largest file of a bundle, unpacked: a small zip file can hold any number of zeros."""
_MAX_VALUES = 2_000_000
"""The most values of a JSON text: a byte of text may become a hundred bytes of objects."""
_VALUES_PER_BYTE = 1
"""How many values all tables may have beyond these for each byte of the bundle: those of runs have half of it."""
_MIN_VALUES = 16
"""As many are counted for a row that has fewer."""
_MAX_LINE_BYTES = 32_000_000
"""The longest row of a table: its texts have limits of their own."""
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_RUN_NAME = re.compile(r"[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]{0,199}")
_TIME = (1980, 1, 1, 0, 0, 0)
_CHUNK = 1 << 20
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError, RuntimeError)


class FileDigest(NamedTuple):
    """Digest and size of a file of a bundle."""

    sha256: str
    bytes: int


def digest_of(data: bytes) -> FileDigest:
    """Return digest and size of these bytes."""
    return FileDigest(hashlib.sha256(data).hexdigest(), len(data))


def table_path(run: str, table: str) -> str:
    """Return the path of a table of a run in a bundle."""
    return f"runs/{run}/{table}.jsonl"


def run_path(run: str, name: str) -> str:
    """Return the path of another file of a run in a bundle."""
    return f"runs/{run}/{name}"


def image_path(run: str, name: str) -> str:
    """Return the path of an image in a bundle."""
    return f"runs/{run}/images/{name}"


def json_bytes(data: object) -> bytes:
    """Return data as a JSON file that people can read."""
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def lines_bytes(records: Iterable[Mapping[str, object]]) -> bytes:
    """Return records as JSON lines."""
    return "".join(f"{dumps_storable(record)}\n" for record in records).encode()


class BundleWriter:
    """Writes the files of a bundle, and last its header. The same files give the same bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        """Begin a bundle in an open file."""
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._files: dict[str, FileDigest] = {}

    def add(self, path: str, data: bytes) -> None:
        """Add a file; images are stored as they are, because they are compressed already."""
        _require_size(path, len(data))
        self._files[path] = digest_of(data)
        self._write(path, data)

    def add_records(self, path: str, records: Iterable[Mapping[str, object]]) -> None:
        """Add records as JSON lines, as `lines_bytes` makes them, without holding them all."""
        digest, size = hashlib.sha256(), 0
        with self._archive.open(path, "w") as file:
            for lines in _joined(f"{dumps_storable(record)}\n".encode() for record in records):
                digest.update(lines)
                size += len(lines)
                _require_size(path, size)
                file.write(lines)
        _set_attributes(self._archive.getinfo(path))
        self._files[path] = FileDigest(digest.hexdigest(), size)

    def finish(self, about: Mapping[str, object]) -> str:
        """Write the header, and return the digest of the bundle."""
        files = {path: entry._asdict() for path, entry in sorted(self._files.items())}
        header = json_bytes({"kind": KIND, "schema": SCHEMA, **about, "files": files})
        self._write(HEADER, header)
        digest = hashlib.sha256(header).hexdigest()
        self._archive.comment = digest_text(digest).encode()
        self._archive.close()
        return digest

    def close(self) -> None:
        """Stop writing, finished or not."""
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


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines joined to chunks, which compress faster than each alone."""
    chunk = bytearray()
    for line in lines:
        chunk += line
        if len(chunk) >= _CHUNK:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)


class BundleReader:
    """Reads a bundle that may come from anywhere: nothing is unpacked by name, and no more is read than is declared."""

    def __init__(self, path: Path) -> None:
        """Open a bundle and read its header."""
        self.path = path
        try:
            refuse_special_file(path)
            self._file = path.open("rb")
            sizes = require_plain_archive(self._file)
            self._values_left = _MAX_VALUES + _VALUES_PER_BYTE * os.fstat(self._file.fileno()).st_size
            self._archive = zipfile.ZipFile(self._file)
            entries = self._archive.infolist()
            if len({entry.filename for entry in entries}) < len(entries):  # their bytes differ, after a zero
                raise ValueError("a name is in it twice")
            self.comment = self._archive.comment.decode("ascii", "replace")
            # It lists the files, and says little besides.
            limit = _HEADER_BYTES + sizes.entries * _HEADER_BYTES_PER_FILE + 6 * sizes.name_bytes
            self.header_bytes = self._read(HEADER, limit)
            header = read_json(self.header_bytes)
        except FileNotFoundError as error:
            raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
        except KeyError as error:
            raise FormalimgError(
                f"{path} is not a bundle: it has no {HEADER}; `formalimg share bundle` makes one"
            ) from error
        except (*_DAMAGE, RecursionError) as error:
            raise FormalimgError(f"{path} is not a bundle, or is damaged: {error}") from error
        if not isinstance(header, dict) or header.get("kind") != KIND:
            raise FormalimgError(f"{path} is not a bundle: `formalimg share bundle` makes one")
        if header.get("schema") != SCHEMA:
            made = str(header.get("made_with"))[:60]
            raise FormalimgError(f"{path} has another schema than {SCHEMA}: use the version that made it ({made})")
        self.header: dict[str, Any] = header
        self.names = frozenset(entry.filename for entry in entries) - {HEADER}
        self.digest = hashlib.sha256(self.header_bytes).hexdigest()

    @cached_property
    def declared(self) -> Mapping[str, FileDigest]:
        """The files that the header lists, with digests and sizes; entries that are none have an empty digest."""
        listed = self.header.get("files")
        found = {}
        for path, entry in listed.items() if isinstance(listed, dict) else ():
            fields = entry if isinstance(entry, dict) else {}
            sha256, size = fields.get("sha256"), fields.get("bytes")
            found[path] = FileDigest(sha256, size) if type(sha256) is str and type(size) is int else FileDigest("", 0)
        return found

    @cached_property
    def runs(self) -> Mapping[str, Mapping[str, Any]]:
        """What the header says about each run, by name."""
        listed = self.header.get("runs")
        found: dict[str, Mapping[str, Any]] = {}
        for one in listed if isinstance(listed, list) else ():
            name = one.get("name") if isinstance(one, dict) else None
            if not isinstance(name, str) or not _RUN_NAME.fullmatch(name) or name in found:
                raise FormalimgError(f"{self.path} is damaged: its {HEADER} names a run {ascii(name)[:80]}")
            found[name] = one
        if not found:
            raise FormalimgError(f"{self.path} is damaged: its {HEADER} lists no runs")
        return found

    def file_digest(self, path: str) -> FileDigest:
        """Return digest and size of a file as it is."""
        hashed, size = hashlib.sha256(), 0
        try:
            with self._archive.open(path) as file:
                while data := file.read(_CHUNK):
                    size += len(data)
                    if size > MAX_FILE_BYTES:
                        raise FormalimgError(f"{path} has more than {MAX_FILE_BYTES:,} bytes: it is not to be trusted")
                    hashed.update(data)
        except _DAMAGE as error:
            raise FormalimgError(f"{path} cannot be unpacked: {error}") from error
        return FileDigest(hashed.hexdigest(), size)

    def read(self, path: str) -> bytes:
        """Return a file, whatever its digest."""
        try:
            return self._read(path, MAX_FILE_BYTES)
        except KeyError as error:
            raise FormalimgError(f"{path} is missing") from error
        except _DAMAGE as error:
            raise FormalimgError(f"{path} cannot be unpacked: {error}") from error

    def records(self, path: str) -> list[dict[str, Any]]:
        """Return the records of a file of JSON lines."""
        records = []
        for number, line in enumerate(self._lines(path), 1):
            self._values_left -= max(count_values(line, _MAX_VALUES), _MIN_VALUES)
            try:
                if self._values_left < 0:
                    raise ValueError("there are more values so far than a bundle of this size has")
                record = loads_strict(line)
            except (ValueError, RecursionError) as error:
                raise FormalimgError(f"{path}, line {number:,}: {error}") from error
            if not isinstance(record, dict):
                raise FormalimgError(f"{path}, line {number:,}: it is not a JSON object")
            records.append(record)
        return records

    def tables(self, run: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of all tables of a run."""
        return {table: self.records(table_path(run, table)) for table in table_names()}

    def _lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a file without holding all of it."""
        try:
            with self._archive.open(path) as file:
                while line := file.readline(_MAX_LINE_BYTES + 1):
                    if len(line) > _MAX_LINE_BYTES:
                        raise ValueError(f"a line has more than {_MAX_LINE_BYTES:,} bytes")
                    yield line
        except KeyError as error:
            raise FormalimgError(f"{path} is missing") from error
        except _DAMAGE as error:
            raise FormalimgError(f"{path} cannot be unpacked: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._archive.close()
        self._file.close()

    def _read(self, path: str, limit: int) -> bytes:
        with self._archive.open(path) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"{path} has more than {limit:,} bytes")
        return data


def read_json(text: bytes) -> Any:
    """Parse JSON that may come from anywhere."""
    if count_values(text, _MAX_VALUES) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES:,} values")
    return loads_strict(text)


def digest_text(sha256: str) -> str:
    """Return a digest as it is cited."""
    return f"sha256:{sha256}"


def read_digest(text: str) -> str:
    """Return the digest in a citation, with or without `sha256:`."""
    found = _DIGEST.fullmatch(text.strip().lower())
    if found is None:
        raise FormalimgError(f"{text[:80]!r} is not a digest: give sha256: and 64 hexadecimal digits")
    return found[1]
