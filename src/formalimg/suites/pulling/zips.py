"""Reading a .zip archive."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from pathlib import Path

from formalimg.suites.pulling.archives import Shelves
from formalimg.suites.pulling.errors import PullError

_END = struct.Struct("<4s4H2LH")
_LONGEST_COMMENT = 1 << 16
_MOST_DIRECTORY = 32_000_000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_zip(path: Path, shelves: Shelves) -> str:
    """Put the wanted members onto the shelves; returns the archive's comment."""
    try:
        _refuse_huge_directory(path)
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                _read_member(archive, member, shelves)
            return archive.comment.decode("ascii", "replace")
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, struct.error, NotImplementedError) as error:
        raise PullError(f"{path.name} is damaged ({error}): bring it anew") from error


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, shelves: Shelves) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    expected = stat.S_IFDIR if member.is_dir() else stat.S_IFREG
    plain = kind in (0, expected) and member.orig_filename == member.filename
    place = shelves.place_for(member.filename, plain=plain, folder=member.is_dir())
    if place is None:
        return
    if member.flag_bits & 1 or member.compress_type not in _METHODS:
        raise PullError(f"refused: {member.filename!r} is encrypted or packed in an unusual way, use a plain .zip")
    keeper, name = place
    with archive.open(member) as file:
        keeper.keep(name, member.file_size, file)  # type: ignore[arg-type]  # reads as a file does


def _refuse_huge_directory(path: Path) -> None:
    """Look at the end record by hand: the library reads the whole list of members before anyone can count it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END.size - _LONGEST_COMMENT - 20))
        tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        raise zipfile.BadZipFile("it has no end record")
    _, _, _, _, members, directory, _, _ = _END.unpack_from(tail, place)
    is_zip64 = tail[max(0, place - 20) : place].startswith(b"PK\x06\x07")
    if is_zip64 or members == 0xFFFF or directory > _MOST_DIRECTORY:
        raise PullError("refused: the archive lists too many members, this is no archive of data")
