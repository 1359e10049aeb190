"""Archives: download over HTTP, and safe reading of .zip and .tar.gz files.

An archive may come from anyone. It is read member by member and never unpacked by name. Names, kinds, sizes and numbers
of members are checked before anything is kept, and sizes again while reading, since an archive may lie about itself.
"""

from __future__ import annotations

import gzip
import http.client
import io
import re
import stat
import struct
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from formalimg.benchmarks.download.contents import FileCollector, FileContents, SizeBudget, matches_any, refuse_escape
from formalimg.benchmarks.download.source import BenchmarkSource, PullError, redact_url

MAX_DOWNLOAD_BYTES = 300_000_000
DOWNLOAD_TIMEOUT_S = 900
MAX_MEMBERS = 100_000
MAX_UNPACKED_BYTES = 300_000_000
"""The limit on what an archive unpacks to, data or not."""

_READ_TIMEOUT_S = 30
_CHUNK = 1 << 16
_ZIP_END = struct.Struct("<4s4H2LH")
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAX_COMMENT_BYTES = 1 << 16
_MAX_DIRECTORY_BYTES = 32_000_000

_TAR_BLOCK = 512
_TAR_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
"""Headers about the header that follows them."""
_TAR_WITHOUT_DATA = (
    tarfile.LNKTYPE,
    tarfile.SYMTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
)
_MAX_TAR_EXTENSIONS = 8
_MAX_TAR_EXTENSION_BYTES = 1 << 16
_SPARSE_OR_SIZE = re.compile(rb"[0-9] (?:GNU\.sparse\.[a-z]+|size)=")
"""Records for files with holes, and for those of more than 8 GB."""


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but not from https to http."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        schemes = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in schemes or urlsplit(newurl).username is not None:
            raise PullError(f"refused: {redact_url(req.full_url)} leads on to an unsafe address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(url: str, to: Path) -> None:
    """Download a URL to a file; no credentials are sent."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _HttpsRedirects(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    safe_url = redact_url(url)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "formalimg"})
        with opener.open(request, timeout=_READ_TIMEOUT_S) as answer, to.open("wb") as file:
            _copy_response(answer, file, safe_url)
    except urllib.error.HTTPError as error:
        raise PullError(f"cannot download {safe_url}: the server answers {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise PullError(f"cannot download {safe_url}: {error.reason}; check the address and the network") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise PullError(f"cannot download {safe_url}: {error or type(error).__name__}; try again") from error


def _copy_response(answer: http.client.HTTPResponse, file: IO[bytes], safe_url: str) -> None:
    declared = answer.headers.get("Content-Length", "")
    expected = int(declared) if declared.isascii() and declared.isdigit() else None
    deadline = time.monotonic() + DOWNLOAD_TIMEOUT_S
    length = 0
    while True:
        if max(length, expected or 0) > MAX_DOWNLOAD_BYTES:
            raise PullError(f"refused: {safe_url} gives more than {MAX_DOWNLOAD_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise PullError(f"gave up after {DOWNLOAD_TIMEOUT_S} s: {safe_url} is too slow, try again")
        piece = answer.read1(_CHUNK)
        if not piece:
            break
        length += len(piece)
        file.write(piece)
    if expected is not None and length != expected:
        raise PullError(f"{safe_url} broke off after {length:,} of {expected:,} bytes: try again")


class ArchiveContents(NamedTuple):
    """The data files of an archive, and the commit stated in it (empty if there is none)."""

    contents: FileContents
    commit: str


def read_archive(source: BenchmarkSource, path: Path) -> ArchiveContents:
    """Return the data files of a .zip or .tar.gz archive."""
    with path.open("rb") as file:
        start = file.read(4)
    sorter = MemberSorter(source)
    if start.startswith(b"PK"):
        comment = read_zip(path, sorter)
    elif start.startswith(b"\x1f\x8b"):
        comment = read_tar(path, sorter)
    else:
        raise PullError(f"{path.name} is neither a .zip nor a .tar.gz archive: check what was downloaded")
    return ArchiveContents(sorter.contents(), comment if re.fullmatch(r"[0-9a-f]{40}", comment) else "")


class MemberSorter:
    """Sorts archive members by top-level folder, because GitHub packs files below a single folder."""

    def __init__(self, source: BenchmarkSource) -> None:
        self.source = source
        self._members = 0
        self._names: set[str] = set()
        self._collectors: dict[str, FileCollector] = {}
        self._budget = SizeBudget(source)

    def place_for(self, name: str, *, plain: bool, folder: bool = False) -> tuple[FileCollector, str] | None:
        """Return the collector and name for a member; None if it is not data. Raises an error if it is not allowed."""
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise PullError(f"refused: more than {MAX_MEMBERS:,} members, this is not an archive of data")
        if folder and name.rstrip("/") in ("", "."):
            return None
        name = refuse_escape(name.removesuffix("/") if folder else name)
        if not plain:
            raise PullError(f"refused: {name!r} is a link, a device or another odd member, use a clean archive")
        if folder:
            return None
        if name in self._names:
            raise PullError(f"refused: {name!r} is there twice, the contents are not to be trusted")
        self._names.add(name)
        top, _, below = name.partition("/")
        for top_folder, inside in (("", name), (top, below)):
            if matches_any(inside, self.source.data + self.source.papers):
                return self._collectors.setdefault(top_folder, FileCollector(self.source, self._budget)), inside
        return None

    def contents(self) -> FileContents:
        """Return the files of the only folder that holds data."""
        top = self._collectors.pop("", None)
        if top is not None and top.has_data():
            return top.contents()
        full = {folder: keeper for folder, keeper in self._collectors.items() if keeper.has_data()}
        if len(full) > 1:
            raise PullError(f"refused: several folders hold data ({', '.join(sorted(full)[:3])}): pack only one")
        keeper = next(iter(full.values()), None) or FileCollector(self.source)
        return keeper.contents()


def read_zip(path: Path, sorter: MemberSorter) -> str:
    """Collect the data files of a .zip archive, and return the archive's comment."""
    try:
        _refuse_huge_directory(path)
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                _read_zip_member(archive, member, sorter)
            return archive.comment.decode("ascii", "replace")
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, struct.error, NotImplementedError) as error:
        raise PullError(f"{path.name} is damaged ({error}): download it again") from error


def _read_zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, sorter: MemberSorter) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    expected = stat.S_IFDIR if member.is_dir() else stat.S_IFREG
    plain = kind in (0, expected) and member.orig_filename == member.filename
    target = sorter.place_for(member.filename, plain=plain, folder=member.is_dir())
    if target is None:
        return
    if member.flag_bits & 1 or member.compress_type not in _ZIP_METHODS:
        raise PullError(f"refused: {member.filename!r} is encrypted or packed in an unusual way, use a plain .zip")
    keeper, name = target
    with archive.open(member) as file:
        keeper.keep(name, member.file_size, file)  # type: ignore[arg-type]  # reads as a file does


def _refuse_huge_directory(path: Path) -> None:
    """Raise an error if the end record lists too many members, before the library reads them all."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _ZIP_END.size - _MAX_COMMENT_BYTES - 20))
        tail = file.read()
    offset = tail.rfind(b"PK\x05\x06")
    if offset < 0 or len(tail) - offset < _ZIP_END.size:
        raise zipfile.BadZipFile("it has no end record")
    _, _, _, _, members, directory, _, _ = _ZIP_END.unpack_from(tail, offset)
    is_zip64 = tail[max(0, offset - 20) : offset].startswith(b"PK\x06\x07")
    if is_zip64 or members == 0xFFFF or directory > _MAX_DIRECTORY_BYTES:
        raise PullError("refused: the archive lists too many members, this is not an archive of data")


class _LimitedStream(io.RawIOBase):
    """A stream that raises an error after a maximum number of bytes."""

    def __init__(self, file: gzip.GzipFile, limit: int) -> None:
        self._file = file
        self._left = limit

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, _CHUNK) if size >= 0 else _CHUNK)
        self._left -= len(data)
        if self._left < 0:
            raise PullError("refused: the archive unpacks to far more than data, it is not to be trusted")
        return data


def read_tar(path: Path, sorter: MemberSorter, limit: int = MAX_UNPACKED_BYTES) -> str:
    """Collect the data files of a .tar.gz archive, and return the comment in its header."""
    try:
        with gzip.open(path) as unpacked:
            _refuse_odd_headers(_LimitedStream(unpacked, limit))
        with gzip.open(path) as unpacked:
            stream = _LimitedStream(unpacked, limit)
            with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as archive:
                for member in archive:
                    _read_tar_member(archive, member, sorter)
                comment = archive.pax_headers.get("comment", "")
            while stream.read(_CHUNK):  # to the end, so that a cut or damaged archive is noticed
                pass
    except (
        tarfile.TarError,
        zlib.error,
        EOFError,
        ValueError,
        OverflowError,
        RecursionError,
        gzip.BadGzipFile,
    ) as error:
        raise PullError(f"{path.name} is damaged ({error}): download it again") from error
    return comment


def _refuse_odd_headers(stream: _LimitedStream) -> None:
    """Raise an error for odd headers, because the library recurses into them and reads them into memory."""
    in_a_row = 0
    while len(header := _read_exactly(stream, _TAR_BLOCK)) == _TAR_BLOCK and any(header):
        kind, size = header[156:157], _tar_size(header[124:136])
        is_old_folder = kind == tarfile.AREGTYPE and header[:100].rstrip(b"\0").endswith(b"/")
        padded = size + -size % _TAR_BLOCK
        if kind in _TAR_EXTENSIONS:
            in_a_row += 1
            if in_a_row > _MAX_TAR_EXTENSIONS or size > _MAX_TAR_EXTENSION_BYTES:
                raise PullError("refused: headers of the archive describe each other without end, use a clean archive")
            if _SPARSE_OR_SIZE.search(_read_exactly(stream, padded)):
                raise PullError("refused: a sparse or oversized member, use a plain .tar.gz or a .zip")
            continue
        in_a_row = 0
        if kind == tarfile.GNUTYPE_SPARSE:
            raise PullError("refused: a sparse or oversized member, use a plain .tar.gz or a .zip")
        if kind not in _TAR_WITHOUT_DATA and not is_old_folder:
            while padded > 0 and (data := stream.read(min(padded, _CHUNK))):
                padded -= len(data)


def _tar_size(field: bytes) -> int:
    """Return the size field of a header, in octal digits or as a binary number after a byte of 128."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:])
    size = int(field.strip(b" \0") or b"0", 8)
    if size < 0:
        raise ValueError("a member has a negative size")
    return size


def _read_exactly(stream: _LimitedStream, size: int) -> bytes:
    pieces = []
    while size > 0 and (data := stream.read(size)):
        pieces.append(data)
        size -= len(data)
    return b"".join(pieces)


def _read_tar_member(archive: tarfile.TarFile, member: tarfile.TarInfo, sorter: MemberSorter) -> None:
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE) and member.sparse is None
    target = sorter.place_for(member.name, plain=plain, folder=member.isdir())
    if target is None:
        return
    keeper, name = target
    file = archive.extractfile(member)
    if file is not None:
        keeper.keep(name, member.size, file)  # type: ignore[arg-type]  # reads as a file does
