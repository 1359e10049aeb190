"""Data from a plain folder of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from formalimg.suites.pulling.errors import PullError
from formalimg.suites.pulling.keeping import Contents, Keeper
from formalimg.suites.pulling.sources import Source

_MOST_ENTRIES = 200_000


def from_folder(source: Source, folder: Path) -> Contents:
    """The wanted files of a folder; links are never followed."""
    keeper = Keeper(source)
    seen = 0
    for parent, folders, names in os.walk(folder, onerror=_unreadable):
        seen += len(folders) + len(names)
        if seen > _MOST_ENTRIES:
            raise PullError(f"{folder} holds more than {_MOST_ENTRIES:,} files: give the folder of the data itself")
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


def _unreadable(error: OSError) -> None:
    raise error
