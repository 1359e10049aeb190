"""The folder of images that requests may name by their paths; nothing outside of it is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from formalimg.errors import FormalimgError


class OutsideRootError(OSError):
    """A path that leads out of the root folder, or nowhere that this server may read."""


class ImageRoot:
    """The folder whose files may be named in place of images."""

    def __init__(self, folder: Path) -> None:
        """Use a folder as root.

        Raises:
            FormalimgError: if it is not a folder.
        """
        if not folder.is_dir():
            raise FormalimgError(f"{folder} is not a folder: --root names the one that holds the images")
        self.folder = folder.resolve()

    def resolve(self, path: str) -> Path:
        """Return the resolved path, which may be relative to the root or absolute.

        Raises:
            OutsideRootError: if it leads outside, perhaps by a link.
        """
        try:
            found = (self.folder / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # loops of links, and characters that paths cannot have
            raise OutsideRootError("this is not a path") from error
        # The same message whether or not the file exists: nobody learns what is outside.
        if not found.is_relative_to(self.folder):
            raise OutsideRootError("this lies outside of the server's --root")
        return found

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the bytes of a file.

        Raises:
            OutsideRootError: if it is outside of the root, perhaps by now.
            OSError: if it cannot be read.
        """
        with open(self.resolve(path), "rb", opener=_open_no_follow) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError("this is not a file")
            if status.st_size > max_bytes:
                raise OSError(f"the file has {status.st_size:,} bytes: no more than {max_bytes:,} are read")
            return file.read(max_bytes)


def _open_no_follow(path: str, flags: int) -> int:
    """Open without following a link that was put there meanwhile, and without waiting for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
