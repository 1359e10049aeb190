"""Images by their path: only of files below one folder, whatever the path looks like."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from formalimg.errors import FormalimgError


class OutsideError(OSError):
    """A path that leads elsewhere, or nowhere that this server may read."""


class Root:
    """The folder whose files may be named in place of images."""

    def __init__(self, folder: Path) -> None:
        """Take a folder as root.

        Raises:
            FormalimgError: if it is none.
        """
        if not folder.is_dir():
            raise FormalimgError(f"{folder} is no folder: --root names the one that holds the images")
        self.folder = folder.resolve()

    def place(self, path: str) -> Path:
        """Where a path leads, which may be written from the root or from the very top.

        Raises:
            OutsideError: if it leads elsewhere, perhaps behind a link.
        """
        try:
            found = (self.folder / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # loops of links, and characters that paths cannot have
            raise OutsideError("this is no path") from error
        # The same words whether or not anything is there: nobody learns what lies outside.
        if not found.is_relative_to(self.folder):
            raise OutsideError("this lies outside of the server's --root")
        return found

    def read(self, path: str, most: int) -> bytes:
        """The file of this path.

        Raises:
            OutsideError: if it lies elsewhere, perhaps by now.
            OSError: if it cannot be read.
        """
        with open(self.place(path), "rb", opener=_opened) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError("this is no file")
            if status.st_size > most:
                raise OSError(f"the file has {status.st_size:,} bytes: no more than {most:,} are read")
            return file.read(most)


def _opened(path: str, flags: int) -> int:
    """Without following a link that was put there meanwhile, and without waiting for whoever writes into a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
