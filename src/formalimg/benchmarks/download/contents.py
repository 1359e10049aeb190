"""Data files of folders and archives, read within limits: nothing is unpacked to disk, and no link is followed.

An archive may be malicious. The names, types, sizes and number of its members are checked before anything is kept, and
sizes are checked again while reading, since the declared ones may be false.
"""

from __future__ import annotations

import gzip
import hashlib
import mmap
import os
import re
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import IO, TypeAlias

from formalimg.benchmarks.download.source import BenchmarkSource, PullError

FileContents: TypeAlias = dict[str, bytes]  # Files by their names

MAX_MEMBERS = 50_000  # Members of an archive, data or not
MAX_UNPACKED_BYTES = 300_000_000  # What a .tar.gz archive unpacks to, data or not
_MAX_ENTRIES = 200_000
_MAX_DEPTH = 40
_MAX_NAME_BYTES = 255
_CHUNK = 1 << 16
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"|?*\\')
_TAR_BLOCK = 512
_PAX = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_MAX_TAR_EXTENSIONS = 8  # Headers in a row that describe a later one
_MAX_TAR_EXTENSION_BYTES = 1 << 16
_SPARSE = "refused: a sparse or oversized member, use a plain .tar.gz or a .zip"


def matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a name matches one of the patterns; `*` stays within a folder, `**` crosses folders."""
    return any(_compile_pattern(pattern).fullmatch(name) for pattern in patterns)


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    translations = {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
    pieces = re.split(r"(\*\*/|\*)", pattern)
    return re.compile("".join(translations.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)


def digest(contents: Mapping[str, bytes]) -> str:
    """Return the digest of files and names: the SHA-256 of the sorted output of `sha256sum` for them."""
    lines = (f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))
    return f"sha256:{hashlib.sha256(''.join(lines).encode('utf-8')).hexdigest()}"


class FileCollector:
    """Collects the data files of a source, within its limits.

    Files are grouped by top folder, because GitHub packs them below one; only one folder may contain data.
    """

    def __init__(self, source: BenchmarkSource) -> None:
        self.source = source
        self._folders: dict[str, FileContents] = {}
        self._members: set[str] = set()
        self._count = 0
        self._files = source.max_files
        self._bytes = source.max_bytes

    def wants(self, name: str) -> bool:
        """Return whether a file is to be kept."""
        return matches_any(name, self.source.data + self.source.papers)

    def locate(self, name: str, *, is_plain: bool, is_folder: bool) -> tuple[str, str] | None:
        """Return the top folder of an archive member and its name there; None if it is not data."""
        self._count += 1
        if self._count > MAX_MEMBERS:
            raise PullError(f"refused: more than {MAX_MEMBERS:,} members, this is not an archive of data")
        name = (name.rstrip("/") if is_folder else name).removeprefix("./")
        if is_folder and name in ("", "."):
            return None
        _refuse_escape(name)
        if not is_plain:
            raise PullError(f"refused: {name!r} is a link, a device or another special file, use a clean archive")
        if is_folder:
            return None
        if name in self._members:
            raise PullError(f"refused: {name!r} occurs twice")
        self._members.add(name)
        top, _, below = name.partition("/")
        return next((target for target in (("", name), (top, below)) if self.wants(target[1])), None)

    def keep(self, name: str, size: int, pieces: Iterable[bytes], top: str = "") -> None:
        """Keep a file with a declared size, counting its actual size too."""
        for part in name.split("/"):
            is_odd = part in ("", ".") or part[-1] in ". " or _RESERVED.fullmatch(part)
            if is_odd or not part.isprintable() or not _FORBIDDEN.isdisjoint(part):
                raise PullError(f"refused: {name!r} is not a plain file name")
        if self._files < 1:
            raise PullError(f"refused: more than {self.source.max_files:,} files, which {self.source.name} never had")
        self._demand(size)
        data = bytearray()
        for piece in pieces:
            data += piece
            self._demand(len(data))
        if len(data) != size:
            raise PullError(f"refused: {name!r} should have {size:,} bytes, but has {len(data):,}; fetch it again")
        self._files -= 1
        self._bytes -= size
        self._folders.setdefault(top, {})[name] = bytes(data)

    def _demand(self, size: int) -> None:
        if size > self._bytes:
            limit = self.source.max_bytes
            raise PullError(f"refused: more than {limit:,} bytes of data, which {self.source.name} never had")

    def contents(self) -> FileContents:
        """Return the files of the folder that holds data."""
        full = {
            top: contents
            for top, contents in self._folders.items()
            if any(matches_any(name, self.source.data) for name in contents)
        }
        if not full:
            patterns = ", ".join(self.source.data)
            raise PullError(f"there is no data of {self.source.name} in it ({patterns}): check where it comes from")
        if len(full) > 1 and "" not in full:
            raise PullError(f"refused: several folders hold data ({', '.join(sorted(full)[:3])}): pack only one")
        contents = full.get("") or next(iter(full.values()))
        _refuse_collisions(contents)
        return dict(sorted(contents.items()))


def _refuse_escape(name: str) -> None:
    """Raise an error if a name leads out of its folder, or is too long or deep."""
    parts = name.replace("\\", "/").split("/")
    if not name or not parts[0] or name[1:2] == ":":
        raise PullError(f"refused: {name!r} is not a path inside the data")
    if ".." in parts:
        raise PullError(f"refused: {name!r} leads out of the folder")
    if len(parts) > _MAX_DEPTH or max(len(part.encode("utf-8", "replace")) for part in parts) > _MAX_NAME_BYTES:
        raise PullError(f"refused: {name[:60]!r}… is nested too deep or too long")


def _refuse_collisions(names: Iterable[str]) -> None:
    """Raise an error if two names would denote the same file on some system, or a file and a folder."""
    originals: dict[str, str] = {}
    for name in sorted(names):
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in originals:
            raise PullError(f"refused: {name!r} and {originals[folded]!r} would be one file on some systems")
        originals[folded] = name
    for folded, name in originals.items():
        parents = folded.split("/")[:-1]
        if any("/".join(parents[:depth]) in originals for depth in range(1, len(parents) + 1)):
            raise PullError(f"refused: {name!r} lies inside a file")


def read_folder(source: BenchmarkSource, folder: Path) -> FileContents:
    """Return the data files of a folder; links are never followed."""
    collector = FileCollector(source)
    entries = 0

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, names in os.walk(folder, onerror=fail):
        entries += len(folders) + len(names)
        if entries > _MAX_ENTRIES:
            raise PullError(f"{folder} holds more than {_MAX_ENTRIES:,} files: give the folder of the data itself")
        for name in names + folders:
            path = Path(parent, name)
            inside = path.relative_to(folder).as_posix()
            if not collector.wants(inside) or (name in folders and not path.is_symlink()):
                continue
            if path.is_symlink() or not path.is_file():
                raise PullError(f"refused: {path} is a link or no plain file: put the file itself there")
            with path.open("rb") as file:
                collector.keep(inside, os.fstat(file.fileno()).st_size, _pieces(file))
    return collector.contents()


def read_archive(source: BenchmarkSource, path: Path) -> tuple[FileContents, str]:
    """Return the data files of a .zip or .tar.gz archive, and the commit stated in it (empty if there is none)."""
    collector = FileCollector(source)
    with path.open("rb") as file:
        start = file.read(4)
    try:
        if start.startswith(b"PK"):
            comment = _read_zip(path, collector)
        elif start.startswith(b"\x1f\x8b"):
            comment = _read_tar(path, collector)
        else:
            raise PullError(f"{path.name} is neither a .zip nor a .tar.gz archive: check what was downloaded")
    except (
        *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, struct.error),
        *(EOFError, ValueError, OverflowError, NotImplementedError),
    ) as error:
        raise PullError(f"{path.name} is damaged ({error}): download it again") from error
    return collector.contents(), comment if re.fullmatch(r"[0-9a-f]{40}", comment) else ""


def _pieces(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    return iter(partial(file.read, _CHUNK), b"")


def _read_zip(path: Path, collector: FileCollector) -> str:
    """Collect the data files of a .zip archive, and return the archive's comment."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        # Before the library reads them all.
        if sum(1 for _ in re.finditer(rb"PK\x01\x02", data)) > MAX_MEMBERS:
            raise PullError("refused: the archive lists too many members, this is not an archive of data")
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            is_plain = kind in (0, stat.S_IFDIR if member.is_dir() else stat.S_IFREG)
            is_plain = is_plain and member.orig_filename == member.filename
            target = collector.locate(member.filename, is_plain=is_plain, is_folder=member.is_dir())
            if target is None:
                continue
            # Other methods unpack a piece to any length.
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise PullError(
                    f"refused: {member.filename!r} is encrypted or packed in an unusual way, use a plain .zip"
                )
            with archive.open(member) as unpacked:
                collector.keep(target[1], member.file_size, _pieces(unpacked), target[0])
        return archive.comment.decode("ascii", "replace")


class _LimitedGzip(gzip.GzipFile):
    """A .gz file that raises an error if it unpacks to far more than the data limit."""

    unpacked = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.unpacked += len(data)
        if self.unpacked > MAX_UNPACKED_BYTES:
            raise PullError("refused: the archive unpacks to far more than the data")
        return data

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the given number of bytes."""
        while size > 0:
            piece = self.read(min(size, _CHUNK))
            if not piece:
                raise EOFError("it ends too early")
            size -= len(piece)
            yield piece

    def skip(self, size: int) -> None:
        """Skip the given number of bytes."""
        for _ in self.pieces(size):
            pass


def _read_tar(path: Path, collector: FileCollector) -> str:
    """Collect the data files of a .tar.gz archive, and return the comment in its header.

    Headers are parsed here rather than by `tarfile`, which recurses into headers that describe other headers.
    """
    comment = long_name = ""
    extensions = 0
    with _LimitedGzip(path) as file:
        while any(header := file.read(_TAR_BLOCK)):
            member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
            if member.size < 0:
                raise ValueError("a member has a negative size")
            padding = -member.size % _TAR_BLOCK
            if member.type in (*_PAX, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
                extensions += 1
                if extensions > _MAX_TAR_EXTENSIONS or member.size > _MAX_TAR_EXTENSION_BYTES:
                    raise PullError("refused: the headers of the archive form a loop, use a clean archive")
                data = b"".join(file.pieces(member.size))
                file.skip(padding)
                if member.type in _PAX:
                    records = dict(_parse_pax(data))
                    if any(key == "size" or key.startswith("GNU.sparse.") for key in records):
                        raise PullError(_SPARSE)
                    comment = records.get("comment", comment)
                    long_name = records.get("path", long_name) if member.type != tarfile.XGLTYPE else long_name
                elif member.type == tarfile.GNUTYPE_LONGNAME:
                    long_name = data.rstrip(b"\0").decode("utf-8", "surrogateescape")
                continue
            if member.type == tarfile.GNUTYPE_SPARSE:
                raise PullError(_SPARSE)
            is_plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)
            target = collector.locate(long_name or member.name, is_plain=is_plain, is_folder=member.isdir())
            long_name, extensions = "", 0
            if target is not None:
                collector.keep(target[1], member.size, file.pieces(member.size), target[0])
                file.skip(padding)
            elif not member.isdir():
                file.skip(member.size + padding)
        for _ in _pieces(file):  # to the end, so that a cut or damaged archive is noticed
            pass
    return comment


def _parse_pax(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of an extended header, whose records begin with their lengths."""
    while data:
        length = int(data.partition(b" ")[0])
        if not 0 < length <= len(data):
            raise ValueError("a header has a wrong length")
        key, _, value = data[:length].partition(b" ")[2].removesuffix(b"\n").partition(b"=")
        yield key.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")
        data = data[length:]
