"""Reading a .tar.gz archive as a stream."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from pathlib import Path

from formalimg.suites.pulling.archives import Shelves
from formalimg.suites.pulling.errors import PullError

MOST_UNPACKED = 300_000_000
"""The most bytes that an archive may unpack to, wanted or not."""

_CHUNK = 1 << 16


class _Counted(io.RawIOBase):
    """A stream that refuses to give more than so many bytes."""

    def __init__(self, file: gzip.GzipFile, most: int) -> None:
        self._file = file
        self._left = most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, _CHUNK) if size >= 0 else _CHUNK)
        self._left -= len(data)
        if self._left < 0:
            raise PullError("refused: the archive unpacks to far more than data, it is not to be trusted")
        return data


def read_tar(path: Path, shelves: Shelves, most: int = MOST_UNPACKED) -> str:
    """Put the wanted members onto the shelves; returns the comment in the archive's header."""
    try:
        with gzip.open(path) as unpacked:
            stream = _Counted(unpacked, most)
            with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as archive:
                for member in archive:
                    _read_member(archive, member, shelves)
                comment = archive.pax_headers.get("comment", "")
            while stream.read(_CHUNK):  # to the end, so that a cut or damaged archive is noticed
                pass
    except (tarfile.TarError, zlib.error, EOFError, ValueError, OverflowError, gzip.BadGzipFile) as error:
        raise PullError(f"{path.name} is damaged ({error}): bring it anew") from error
    return comment


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo, shelves: Shelves) -> None:
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE) and member.sparse is None
    place = shelves.place_for(member.name, plain=plain, folder=member.isdir())
    if place is None:
        return
    keeper, name = place
    file = archive.extractfile(member)
    if file is not None:
        keeper.keep(name, member.size, file)  # type: ignore[arg-type]  # reads as a file does
