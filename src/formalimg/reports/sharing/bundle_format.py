"""The bundle format: a zip file whose `bundle.json` lists all files with digests and has a digest of its own to cite.

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
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

from formalimg._util.io import refuse_special_file
from formalimg._util.strict_json import count_values, dumps_storable, loads_strict
from formalimg.errors import FormalimgError
from formalimg.runs.records import table_names

SCHEMA = 1
KIND = "formalimg bundle"
HEADER, REPORT, TABLES = "bundle.json", "report.json", "report.md"
_HEADER_BYTES, _HEADER_BYTES_PER_FILE = 1_000_000, 200
"""The size of a header without files, and what each file may add to it."""
MAX_FILE_BYTES = 512_000_000  # The largest file of a bundle, unpacked: a small zip file can hold any number of zeros
_MAX_VALUES = 2_000_000  # The most values of a JSON text: a byte of text may become a hundred bytes of objects
_VALUES_PER_BYTE = 1
"""How many values all tables may have beyond these for each byte of the bundle: those of runs have half of it."""
_MIN_VALUES = 16  # As many are counted for a row that has fewer
_MAX_LINE_BYTES = 32_000_000  # The longest row of a table: its texts have limits of their own
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_RUN_NAME = re.compile(r"[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]{0,199}")
CHUNK = 1 << 20
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError, RuntimeError)


class FileDigest(NamedTuple):
    """The digest and size of a file in a bundle."""

    sha256: str
    bytes: int


def table_path(run: str, table: str) -> str:
    """Return the path of a table of a run in a bundle."""
    return f"runs/{run}/{table}.jsonl"


def run_path(run: str, name: str) -> str:
    """Return the path of any other file of a run in a bundle."""
    return f"runs/{run}/{name}"


def image_path(run: str, name: str) -> str:
    """Return the path of an image in a bundle."""
    return f"runs/{run}/images/{name}"


def json_bytes(data: object) -> bytes:
    """Return data as readable JSON."""
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def lines_bytes(records: Iterable[Mapping[str, object]]) -> bytes:
    """Return records as JSON lines."""
    return "".join(f"{dumps_storable(record)}\n" for record in records).encode()


class BundleReader:
    """Reads a bundle from an untrusted source, never unpacking files by name or reading more than is declared."""

    def __init__(self, path: Path) -> None:
        """Open a bundle and read its header."""
        self.path = path
        try:
            refuse_special_file(path)
            self._file = path.open("rb")
            entry_count, name_bytes = _require_plain_archive(self._file)
            self._values_left = _MAX_VALUES + _VALUES_PER_BYTE * os.fstat(self._file.fileno()).st_size
            self._archive = zipfile.ZipFile(self._file)
            entries = self._archive.infolist()
            if len({entry.filename for entry in entries}) < len(entries):  # their bytes differ, after a zero
                raise ValueError("a name occurs twice")
            self.comment = self._archive.comment.decode("ascii", "replace")
            # It lists the files, and says little besides.
            limit = _HEADER_BYTES + entry_count * _HEADER_BYTES_PER_FILE + 6 * name_bytes
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
        """The files listed in the header with their digests and sizes, with an empty digest for invalid entries."""
        files = self.header.get("files")
        digests = {}
        for path, entry in files.items() if isinstance(files, dict) else ():
            fields = entry if isinstance(entry, dict) else {}
            sha256, size = fields.get("sha256"), fields.get("bytes")
            digests[path] = FileDigest(sha256, size) if type(sha256) is str and type(size) is int else FileDigest("", 0)
        return digests

    @cached_property
    def runs(self) -> Mapping[str, Mapping[str, Any]]:
        """The header entries of the runs, by name."""
        entries = self.header.get("runs")
        runs: dict[str, Mapping[str, Any]] = {}
        for entry in entries if isinstance(entries, list) else ():
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not _RUN_NAME.fullmatch(name) or name in runs:
                raise FormalimgError(f"{self.path} is damaged: its {HEADER} names a run {ascii(name)[:80]}")
            runs[name] = entry
        if not runs:
            raise FormalimgError(f"{self.path} is damaged: its {HEADER} lists no runs")
        return runs

    def file_digest(self, path: str) -> FileDigest:
        """Compute the digest and size of a file from its actual content."""
        hashed, size = hashlib.sha256(), 0
        try:
            with self._archive.open(path) as file:
                while data := file.read(CHUNK):
                    size += len(data)
                    if size > MAX_FILE_BYTES:
                        raise FormalimgError(f"{path} has more than {MAX_FILE_BYTES:,} bytes: refusing to read it")
                    hashed.update(data)
        except _DAMAGE as error:
            raise FormalimgError(f"{path} cannot be unpacked: {error}") from error
        return FileDigest(hashed.hexdigest(), size)

    def read(self, path: str) -> bytes:
        """Read a file without checking its digest."""
        try:
            return self._read(path, MAX_FILE_BYTES)
        except KeyError as error:
            raise FormalimgError(f"{path} is missing") from error
        except _DAMAGE as error:
            raise FormalimgError(f"{path} cannot be unpacked: {error}") from error

    def records(self, path: str) -> list[dict[str, Any]]:
        """Read the records of a JSON-lines file."""
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
        """Read the rows of all tables of a run."""
        return {table: self.records(table_path(run, table)) for table in table_names()}

    def _lines(self, path: str) -> Iterator[bytes]:
        """Yield the lines of a file without holding all of it in memory."""
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
    """Parse JSON from an untrusted source."""
    if count_values(text, _MAX_VALUES) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES:,} values")
    return loads_strict(text)


def digest_text(sha256: str) -> str:
    """Return a digest in the form used for citations."""
    return f"sha256:{sha256}"


def read_digest(text: str) -> str:
    """Parse a digest from a citation, with or without `sha256:`."""
    match = _DIGEST.fullmatch(text.strip().lower())
    if match is None:
        raise FormalimgError(f"{text[:80]!r} is not a digest: give sha256: and 64 hexadecimal digits")
    return match[1]


MAX_ENTRIES = 250_000
MAX_RATIO = 60
"""How many times its own size a bundle may unpack to: the texts of a run take 5 to 30 times less room compressed."""
FREE_BYTES = 8_000_000  # As much may be unpacked whatever the size of the file
_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_END_SIZE, _LOCATOR_SIZE, _END64_SIZE, _MAX_COMMENT = 22, 20, 56, 0xFFFF
_ENTRY = struct.Struct("<4s6xH8x2L3H12x")
"""Signature, way of compression, compressed and unpacked size, lengths of name, extra fields and comment."""
_STORED, _DEFLATED = 0, 8
_ENTRY_SIZE, _WIDE = 46, 0xFFFFFFFF


def _require_plain_archive(file: IO[bytes]) -> tuple[int, int]:
    """Raise an error for a suspicious zip file, and return its number of entries and the total length of their names.

    The directory is checked separately before anything is unpacked or stored, because a few bytes may stand for
    gigabytes: compressed zeros, many entries for the same bytes, or millions of entries.
    """
    size = file.seek(0, os.SEEK_END)
    start, length = _find_directory(file, size)
    if length > MAX_ENTRIES * 200:
        raise ValueError(f"its directory has {length:,} bytes: a bundle has at most {MAX_ENTRIES:,} files")
    file.seek(start)
    directory = file.read(length)
    names: set[bytes] = set()
    offset = packed = unpacked = name_bytes = 0
    while offset + _ENTRY_SIZE <= len(directory):
        signature, small, large, name, extra, comment = _read_entry(directory, offset)
        if signature != b"PK\x01\x02":
            break
        title = directory[offset + _ENTRY_SIZE : offset + _ENTRY_SIZE + name]
        if title in names:
            raise ValueError(f"{title[:80]!r} occurs twice")
        names.add(title)
        packed, unpacked, name_bytes = packed + small, unpacked + large, name_bytes + name
        offset += _ENTRY_SIZE + name + extra + comment
        if len(names) > MAX_ENTRIES:
            raise ValueError(f"it has more than {MAX_ENTRIES:,} files")
    if packed > size:
        raise ValueError(f"its files take {packed:,} bytes of {size:,}: some share the same bytes")
    if unpacked > FREE_BYTES + MAX_RATIO * size:
        raise ValueError(f"it would unpack to {unpacked:,} bytes from {size:,}: that is no bundle of results")
    file.seek(0)
    return len(names), name_bytes


def _read_entry(directory: bytes, offset: int) -> tuple[bytes, int, int, int, int, int]:
    """Return the signature, packed and unpacked size, and lengths of name, extra fields and comment of an entry."""
    signature, way, packed, unpacked, name, extra, comment = _ENTRY.unpack_from(directory, offset)
    if way not in (_STORED, _DEFLATED):
        raise ValueError(f"it has files that are compressed in the way {way}, and no bundle has")
    if packed == _WIDE or unpacked == _WIDE:
        fields = directory[offset + _ENTRY_SIZE + name : offset + _ENTRY_SIZE + name + extra]
        while len(fields) >= 4:
            kind, length = struct.unpack_from("<2H", fields)
            if kind == 1:
                numbers = iter(struct.unpack_from(f"<{min(length, len(fields) - 4) // 8}Q", fields, 4))
                unpacked = next(numbers, unpacked) if unpacked == _WIDE else unpacked
                packed = next(numbers, packed) if packed == _WIDE else packed
                break
            fields = fields[4 + length :]
    return signature, packed, unpacked, name, extra, comment


def _find_directory(file: IO[bytes], size: int) -> tuple[int, int]:
    """Return the offset and the length of a zip file's central directory."""
    first = max(0, size - _END_SIZE - _MAX_COMMENT - _LOCATOR_SIZE - _END64_SIZE)
    file.seek(first)
    tail = file.read(size - first)
    end = tail.rfind(_END)
    if end < 0 or len(tail) - end < _END_SIZE:
        raise ValueError("File is not a zip file")
    length, start = struct.unpack_from("<2L", tail, end + 12)
    begin = first + end
    locator = end - _LOCATOR_SIZE
    if locator >= 0 and tail[locator : locator + 4] == _LOCATOR64:
        (wide,) = struct.unpack_from("<Q", tail, locator + 8)
        file.seek(min(wide, size))
        record = file.read(_END64_SIZE)
        if len(record) < _END64_SIZE or record[:4] != _END64:
            raise ValueError("its directory cannot be located")
        length, start = struct.unpack_from("<2Q", record, 40)
        begin = wide
    # What was put in front of the file moves everything: the directory ends where its end record begins.
    if length > begin or start > begin - length:
        raise ValueError("its directory cannot be located")
    return begin - length, length
