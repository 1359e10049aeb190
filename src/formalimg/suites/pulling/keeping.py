"""Collecting the files that are wanted, within the limits of their source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import BinaryIO, TypeAlias

from formalimg.suites.pulling.errors import PullError
from formalimg.suites.pulling.names import refuse_collisions, safe_name, wanted
from formalimg.suites.pulling.sources import Source

Contents: TypeAlias = dict[str, bytes]
"""Files by their names."""

_CHUNK = 1 << 16


class Allowance:
    """How much may still be taken in from a source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._files = source.most_files
        self._bytes = source.most_bytes

    def demand(self, size: int) -> None:
        """Raise if another file of this size would be too much."""
        if self._files < 1:
            raise PullError(f"refused: more than {self.source.most_files:,} files, which {self.source.name} never had")
        if not 0 <= size <= self._bytes:
            most = self.source.most_bytes
            raise PullError(f"refused: more than {most:,} bytes of data, which {self.source.name} never had")

    def take(self, size: int) -> None:
        """Count a file of this size."""
        self._files -= 1
        self._bytes -= size


class Keeper:
    """Takes wanted files in, one after the other, and refuses what passes the limits."""

    def __init__(self, source: Source, allowance: Allowance | None = None) -> None:
        self.source = source
        self.files: Contents = {}
        self._allowance = allowance or Allowance(source)

    def wants(self, name: str) -> bool:
        """Is this a file to keep?"""
        return wanted(name, self.source.data + self.source.papers)

    def keep(self, name: str, size: int, file: BinaryIO) -> None:
        """Read a file that says it has this size; what it really has is counted too."""
        name = safe_name(name)
        if name in self.files:
            raise PullError(f"refused: {name!r} is there twice, the contents are not to be trusted")
        self._allowance.demand(size)
        pieces = []
        length = 0
        while piece := file.read(_CHUNK):
            length += len(piece)
            self._allowance.demand(length)
            pieces.append(piece)
        if length != size:
            raise PullError(f"refused: {name!r} should have {size:,} bytes, but has {length:,}; bring it anew")
        self._allowance.take(length)
        self.files[name] = b"".join(pieces)

    def has_data(self) -> bool:
        """Is any of the files data, and not only a paper beside it?"""
        return any(wanted(name, self.source.data) for name in self.files)

    def contents(self) -> Contents:
        """What was kept; an error if there is no data in it."""
        refuse_collisions(self.files)
        if not self.has_data():
            patterns = ", ".join(self.source.data)
            raise PullError(f"there is no data of {self.source.name} in it ({patterns}): check where it comes from")
        return dict(sorted(self.files.items()))


def digest(contents: Mapping[str, bytes]) -> str:
    """A digest of files and their names: the SHA-256 of what `sha256sum` would print for them, sorted by name."""
    lines = (f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))
    return f"sha256:{hashlib.sha256(''.join(lines).encode('utf-8')).hexdigest()}"
