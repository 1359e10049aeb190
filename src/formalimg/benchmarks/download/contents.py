"""Contents of a download: safe file names, limits on number and size, digests, and reading of plain folders."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import BinaryIO, TypeAlias

from formalimg.benchmarks.download.source import BenchmarkSource, PullError

_MAX_DEPTH = 40
_MAX_NAME_BYTES = 255
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"|?*\\')

FileContents: TypeAlias = dict[str, bytes]
"""Files by their names."""

_CHUNK = 1 << 16
_MAX_ENTRIES = 200_000


def refuse_escape(name: str) -> str:
    """Return a name without a leading `./`; raise an error if it leads out of its folder or is too long or deep."""
    name = name.removeprefix("./")
    parts = name.replace("\\", "/").split("/")
    if not name or not parts[0] or name[1:2] == ":":
        raise PullError(f"refused: {name!r} is not a name inside the data, the contents are not to be trusted")
    if ".." in parts:
        raise PullError(f"refused: {name!r} leads out of the folder, the contents are not to be trusted")
    if len(parts) > _MAX_DEPTH or max(len(part.encode("utf-8", "replace")) for part in parts) > _MAX_NAME_BYTES:
        raise PullError(f"refused: {name[:60]!r}… is nested too deep or too long, the contents are not to be trusted")
    return name


def safe_name(name: str) -> str:
    """Return a name such as `a/b.json`; raise an error if it is not safe to create on every system.

    Beside what leads out, names are refused that some system reads differently than they look.
    """
    name = refuse_escape(name)
    for part in name.split("/"):
        if part in ("", ".") or part[-1] in ". " or _RESERVED.fullmatch(part) or not _is_plain(part):
            raise PullError(f"refused: {name!r} is an odd name, the contents are not to be trusted")
    return name


def refuse_collisions(names: Iterable[str]) -> None:
    """Raise an error if two names would denote the same file on some system, or a file and a folder."""
    names_by_folded: dict[str, str] = {}
    for name in sorted(names):
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in names_by_folded:
            raise PullError(f"refused: {name!r} and {names_by_folded[folded]!r} would be one file on some systems")
        names_by_folded[folded] = name
    for folded, name in names_by_folded.items():
        parents = folded.split("/")[:-1]
        if any("/".join(parents[:depth]) in names_by_folded for depth in range(1, len(parents) + 1)):
            raise PullError(f"refused: {name!r} lies inside a file")


def matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a name matches one of the patterns; `*` stays within a folder, `**` crosses folders."""
    return any(_compile_pattern(pattern).fullmatch(name) for pattern in patterns)


def _is_plain(part: str) -> bool:
    return part.isprintable() and _FORBIDDEN.isdisjoint(part)


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    translated = "".join(
        {"**/": "(?:[^/]+/)*", "*": "[^/]*"}.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*/|\*)", pattern)
    )
    return re.compile(translated, re.DOTALL)


class SizeBudget:
    """The number of files and bytes that may still be read from a source."""

    def __init__(self, source: BenchmarkSource) -> None:
        self.source = source
        self._files = source.max_files
        self._bytes = source.max_bytes

    def demand(self, size: int) -> None:
        """Raise an error if another file of the given size would exceed the limits."""
        if self._files < 1:
            raise PullError(f"refused: more than {self.source.max_files:,} files, which {self.source.name} never had")
        if not 0 <= size <= self._bytes:
            limit = self.source.max_bytes
            raise PullError(f"refused: more than {limit:,} bytes of data, which {self.source.name} never had")

    def take(self, size: int) -> None:
        """Count a file of the given size."""
        self._files -= 1
        self._bytes -= size


class FileCollector:
    """Collects data files within the limits of their source."""

    def __init__(self, source: BenchmarkSource, budget: SizeBudget | None = None) -> None:
        self.source = source
        self.files: FileContents = {}
        self._budget = budget or SizeBudget(source)

    def wants(self, name: str) -> bool:
        """Return whether a file is to be collected."""
        return matches_any(name, self.source.data + self.source.papers)

    def keep(self, name: str, size: int, file: BinaryIO) -> None:
        """Read a file with a declared size, counting its actual size too."""
        name = safe_name(name)
        if name in self.files:
            raise PullError(f"refused: {name!r} is there twice, the contents are not to be trusted")
        self._budget.demand(size)
        pieces = []
        length = 0
        while piece := file.read(_CHUNK):
            length += len(piece)
            self._budget.demand(length)
            pieces.append(piece)
        if length != size:
            raise PullError(f"refused: {name!r} should have {size:,} bytes, but has {length:,}; fetch it again")
        self._budget.take(length)
        self.files[name] = b"".join(pieces)

    def has_data(self) -> bool:
        """Return whether any collected file is data rather than a licence or README."""
        return any(matches_any(name, self.source.data) for name in self.files)

    def contents(self) -> FileContents:
        """Return the collected files; raise an error if none of them is data."""
        refuse_collisions(self.files)
        if not self.has_data():
            patterns = ", ".join(self.source.data)
            raise PullError(f"there is no data of {self.source.name} in it ({patterns}): check where it comes from")
        return dict(sorted(self.files.items()))


def digest(contents: Mapping[str, bytes]) -> str:
    """Return the digest of files and names: the SHA-256 of the sorted output of `sha256sum` for them."""
    lines = (f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))
    return f"sha256:{hashlib.sha256(''.join(lines).encode('utf-8')).hexdigest()}"


def read_folder(source: BenchmarkSource, folder: Path) -> FileContents:
    """Return the data files of a folder; links are never followed."""
    keeper = FileCollector(source)
    entries = 0
    for parent, folders, names in os.walk(folder, onerror=_raise_error):
        entries += len(folders) + len(names)
        if entries > _MAX_ENTRIES:
            raise PullError(f"{folder} holds more than {_MAX_ENTRIES:,} files: give the folder of the data itself")
        for name in names + folders:
            path = Path(parent, name)
            inside = path.relative_to(folder).as_posix()
            if not keeper.wants(inside) or (name in folders and not path.is_symlink()):
                continue
            if path.is_symlink() or not path.is_file():
                raise PullError(f"refused: {path} is a link or no plain file: put the file itself there")
            with path.open("rb") as file:
                keeper.keep(inside, os.fstat(file.fileno()).st_size, file)
    return keeper.contents()


def _raise_error(error: OSError) -> None:
    raise error
