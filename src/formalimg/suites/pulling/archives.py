"""Data out of an archive, read member by member; nothing is ever unpacked by name.

An archive may come from anyone. Names, kinds, sizes and numbers of members are checked before anything is kept, and
sizes again while reading, since what an archive says of itself need not be so.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from formalimg.suites.pulling.errors import PullError
from formalimg.suites.pulling.keeping import Allowance, Contents, Keeper
from formalimg.suites.pulling.names import refuse_escape, wanted
from formalimg.suites.pulling.sources import Source

MOST_MEMBERS = 100_000
SUFFIXES = (".zip", ".tar.gz", ".tgz")


class Unpacked(NamedTuple):
    """What an archive holds, and the commit it says it was made from (empty if it does not say)."""

    contents: Contents
    commit: str


def from_archive(source: Source, path: Path) -> Unpacked:
    """The wanted files of an archive, whichever kind it is."""
    from formalimg.suites.pulling.tars import read_tar
    from formalimg.suites.pulling.zips import read_zip

    with path.open("rb") as file:
        start = file.read(4)
    shelves = Shelves(source)
    if start.startswith(b"PK"):
        comment = read_zip(path, shelves)
    elif start.startswith(b"\x1f\x8b"):
        comment = read_tar(path, shelves)
    else:
        raise PullError(f"{path.name} is neither a .zip nor a .tar.gz archive: check what was downloaded")
    return Unpacked(shelves.contents(), comment if re.fullmatch(r"[0-9a-f]{40}", comment) else "")


class Shelves:
    """Sorts the members of an archive by whether they lie at its top or below one folder, as forges pack them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._members = 0
        self._names: set[str] = set()
        self._shelves: dict[str, Keeper] = {}
        self._allowance = Allowance(source)

    def place_for(self, name: str, *, plain: bool, folder: bool = False) -> tuple[Keeper, str] | None:
        """Where to keep a member, and under which name; None if it is not wanted. Raises if it may not be there."""
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise PullError(f"refused: more than {MOST_MEMBERS:,} members, this is no archive of data")
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
        for shelf, inside in (("", name), (top, below)):
            if wanted(inside, self.source.data + self.source.papers):
                return self._shelves.setdefault(shelf, Keeper(self.source, self._allowance)), inside
        return None

    def contents(self) -> Contents:
        """The files of the one shelf that holds data."""
        top = self._shelves.pop("", None)
        if top is not None and top.has_data():
            return top.contents()
        full = {folder: keeper for folder, keeper in self._shelves.items() if keeper.has_data()}
        if len(full) > 1:
            raise PullError(f"refused: several folders hold data ({', '.join(sorted(full)[:3])}): pack only one")
        keeper = next(iter(full.values()), None) or Keeper(self.source)
        return keeper.contents()
