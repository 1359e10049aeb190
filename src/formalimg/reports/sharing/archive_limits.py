"""Limits of zip files from anywhere: their directory is read by itself before anything is unpacked or remembered.

A few bytes may stand for gigabytes: compressed zeros, many entries for the same bytes, or millions of entries.
"""

from __future__ import annotations

import os
import struct
from typing import IO, NamedTuple

MAX_ENTRIES = 250_000
MAX_RATIO = 60
"""How many times its own size a bundle may unpack to: the texts of a run take 5 to 30 times less room compressed."""
FREE_BYTES = 8_000_000
"""As much may be unpacked whatever the size of the file."""

_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_END_SIZE, _LOCATOR_SIZE, _END64_SIZE, _MAX_COMMENT = 22, 20, 56, 0xFFFF
_ENTRY = struct.Struct("<4s6xH8x2L3H12x")
"""Signature, way of compression, compressed and unpacked size, lengths of name, extra fields and comment."""
_STORED, _DEFLATED = 0, 8
_ENTRY_SIZE, _WIDE = 46, 0xFFFFFFFF


class ArchiveSizes(NamedTuple):
    """What the directory of a zip file declares: how many entries there are, and how long all their names are."""

    entries: int
    name_bytes: int


def require_plain_archive(file: IO[bytes]) -> ArchiveSizes:
    """Refuse a zip file that is out of proportion."""
    size = file.seek(0, os.SEEK_END)
    start, length = _directory(file, size)
    if length > MAX_ENTRIES * 200:
        raise ValueError(f"its directory has {length:,} bytes: a bundle has at most {MAX_ENTRIES:,} files")
    file.seek(start)
    directory = file.read(length)
    names: set[bytes] = set()
    offset = packed = unpacked = name_bytes = 0
    while offset + _ENTRY_SIZE <= len(directory):
        signature, small, large, name, extra, comment = _entry(directory, offset)
        if signature != b"PK\x01\x02":
            break
        title = directory[offset + _ENTRY_SIZE : offset + _ENTRY_SIZE + name]
        if title in names:
            raise ValueError(f"{title[:80]!r} is in it twice")
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
    return ArchiveSizes(len(names), name_bytes)


def _entry(directory: bytes, offset: int) -> tuple[bytes, int, int, int, int, int]:
    """Return signature, compressed and unpacked size, and the lengths of name, extra fields and comment of an entry."""
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


def _directory(file: IO[bytes], size: int) -> tuple[int, int]:
    """Return where the directory of a zip file begins, and its length."""
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
