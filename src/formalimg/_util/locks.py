"""Cross-platform locks on files and folders that the system releases even if the process is killed."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from pathlib import Path
from typing import IO

from formalimg._util.io import kind_of_special, open_plain
from formalimg.errors import FormalimgError

_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""Errors that mean that somebody else holds the lock; all others mean that there can be none."""


_ATTEMPTS, _PAUSE = 5, 0.02  # How often a lock is tried, and seconds in between: `is_file_locked` holds it for a moment


def is_file_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; False if the file is missing or its lock unknown.

    The check takes the lock for a moment, which `lock_file` tolerates.
    """
    try:
        with open(path, encoding="utf-8", opener=open_plain) as file:
            _lock(file, shared=True)
    except OSError as error:
        return error.errno in _HELD
    return False


def lock_file(file: IO[str]) -> None:
    """Lock an open file until it is closed."""
    try:
        _lock_patiently(file)
    except OSError as error:
        if error.errno in _HELD:
            raise
        folder = os.path.dirname(os.path.abspath(file.name))  # noqa: PTH100, PTH120
        raise FormalimgError(
            f"the file system of {folder} does not support locks ({error.strerror}), which keep two processes from "
            "writing at the same time: choose a folder on a local disk, or mount the file system with locks"
        ) from error


def _lock_patiently(file: IO[str]) -> None:
    for _ in range(_ATTEMPTS - 1):
        try:
            return _lock(file)
        except OSError as error:
            if error.errno not in _HELD:
                raise
        time.sleep(_PAUSE)
    return _lock(file)


if os.name == "nt":
    import msvcrt

    def _lock(file: IO[str], *, shared: bool = False) -> None:
        # One byte far beyond the text: what is locked cannot be read by others on this system.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def _lock(file: IO[str], *, shared: bool = False) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


LOCK_FILE = "lock"
_MAX_HOLDER = 300  # Characters that are read of the name of whoever holds a lock


class LockedError(FormalimgError):
    """Another process is writing to the folder."""


class FolderLock:
    """A lock held from `__init__` until `release` or the end of the process."""

    def __init__(
        self,
        folder: Path,
        problem: str = "is being written by {holder}: wait until it is done, or stop it; nothing was changed",
    ) -> None:
        """Acquire the lock; raise an error if another process holds it."""
        try:
            # Without following links: a folder of somebody else must not choose which file is emptied.
            self._file: IO[str] = open(  # noqa: SIM115
                folder / LOCK_FILE, "a+", encoding="utf-8", errors="replace", opener=open_plain
            )
        except OSError as error:
            kind = kind_of_special(folder / LOCK_FILE)
            if kind:
                raise FormalimgError(f"{folder / LOCK_FILE} is {kind}: remove it, a lock is a plain file") from error
            raise FormalimgError(
                f"cannot write to {folder}: {error.strerror}; check its permissions, or choose another folder"
            ) from error
        try:
            lock_file(self._file)
        except FormalimgError:
            self._file.close()
            raise
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read(_MAX_HOLDER).strip()
            holder = holder if holder and holder.isprintable() else "another process"
            self._file.close()
            raise LockedError(f"{folder} {problem.format(holder=holder)}") from error
        self._file.truncate(0)
        with contextlib.suppress(OSError):  # a full disk must not keep a run from resuming
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            self._file.flush()

    def release(self) -> None:
        """Release the lock."""
        with contextlib.suppress(OSError):
            self._file.close()
