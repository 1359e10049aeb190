"""Folders opened without following symbolic links, for reading and replacing the files in them safely.

Files are opened through a descriptor of the folder, so moving the folder, or replacing it by a link, after the check
has no effect. Windows has no such descriptors, so only the names are checked there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from formalimg._util.io import kind_of_special, open_plain, read_plain_bytes

_HAS_DESCRIPTORS = {os.open, os.stat, os.unlink, os.rename} <= os.supports_dir_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOT_PLAIN = "it is reached through a link, or is no folder"


class PlainFolder:
    """An open folder, whose methods take the names of files directly in it."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        """Use `open_plain_folder` instead."""
        self.path, self._descriptor = path, descriptor

    def has_file(self, name: str) -> bool:
        """Return whether the folder contains a regular file with this name."""
        try:
            return stat.S_ISREG(os.lstat(self._name(name), dir_fd=self._descriptor).st_mode)
        except OSError:
            return False

    def open(self, name: str, flags: int) -> int:
        """Open a regular file; see `open_plain`."""
        return open_plain(self._name(name), flags, dir_fd=self._descriptor)

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return the content of a regular file; see `read_plain_bytes`."""
        return read_plain_bytes(self._name(name), max_bytes, dir_fd=self._descriptor)

    def replace(self, name: str, data: bytes) -> None:
        """Write a file durably and atomically."""
        partial = self._name(f".{name}.part")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial, dir_fd=self._descriptor)
        try:
            with os.fdopen(self.open(f".{name}.part", os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self._name(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(partial, dir_fd=self._descriptor)
            raise
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # some file systems cannot; the file itself is safe
                os.fsync(self._descriptor)

    def _name(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)


@contextmanager
def open_plain_folder(path: Path, root: Path) -> Iterator[PlainFolder]:
    """Open a folder below a root without following links; only the root itself may be a link."""
    parts = path.relative_to(root).parts
    if ".." in parts:
        raise NotADirectoryError(errno.ENOTDIR, _NOT_PLAIN, str(path))
    if not _HAS_DESCRIPTORS:
        for part in (path, *path.parents)[: len(parts)]:
            if kind_of_special(part) != "a folder":
                raise NotADirectoryError(errno.ENOTDIR, _NOT_PLAIN, str(path))
        yield PlainFolder(path, None)
        return
    descriptor = os.open(root, _FOLDER)
    try:
        for name in parts:
            outer, descriptor = descriptor, _open_inner(name, descriptor)
            os.close(outer)
        yield PlainFolder(path, descriptor)
    finally:
        os.close(descriptor)


def _open_inner(name: str, descriptor: int) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise NotADirectoryError(errno.ENOTDIR, _NOT_PLAIN, name) from error
        raise
