"""The folder of images that requests may name by their paths; nothing outside of it is read."""

from __future__ import annotations

import os
from pathlib import Path

from formalimg._util.plain_folders import open_plain_folder
from formalimg.errors import FormalimgError

_OUTSIDE = "this lies outside of the server's --root"
"""The same whether or not the file exists: nobody learns what is outside."""


class OutsideRootError(OSError):
    """A path that leads out of the root folder, or nowhere that this server may read."""


class ImageRoot:
    """The folder whose files may be named in place of images."""

    def __init__(self, folder: Path) -> None:
        """Use a folder as root."""
        if not folder.is_dir():
            raise FormalimgError(f"{folder} is not a folder: --root names the one that holds the images")
        self.folder, self._written = folder.resolve(), Path(os.path.abspath(folder))  # noqa: PTH100  # links are kept

    def resolve(self, path: str) -> Path:
        """Return the resolved path, which may be relative to the root or absolute.

        Nothing outside is looked at, not even links on the way: where they lead would tell what is there.
        """
        if "\0" in path:
            raise OutsideRootError("this is not a path")
        written = Path(os.path.normpath(self.folder / path))
        if not any(map(written.is_relative_to, (self.folder, self._written))):
            raise OutsideRootError(_OUTSIDE)
        try:
            found = written.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # loops of links, and characters that paths cannot have
            raise OutsideRootError("this is not a path") from error
        if not found.is_relative_to(self.folder):
            raise OutsideRootError(_OUTSIDE)
        return found

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the bytes of a file."""
        file = self.resolve(path)
        if file == self.folder:
            raise IsADirectoryError("this is not a file")
        # Without following links that were put there meanwhile.
        with open_plain_folder(file.parent, self.folder) as folder:
            return folder.read(file.name, max_bytes)
