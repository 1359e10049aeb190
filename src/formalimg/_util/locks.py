"""File locks that the system releases even if the process is killed, on every platform."""

from __future__ import annotations

import errno
import os
from typing import IO

from formalimg.errors import FormalimgError

_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""Errors that mean that somebody else holds the lock; all others mean that there can be none."""


def lock_file(file: IO[str]) -> None:
    """Lock an open file until it is closed.

    Raises:
        OSError: if somebody else holds the lock.
        FormalimgError: if the file system has no locks.
    """
    try:
        _lock(file)
    except OSError as error:
        if error.errno in _HELD:
            raise
        folder = os.path.dirname(os.path.abspath(file.name))  # noqa: PTH100, PTH120
        raise FormalimgError(
            f"the file system of {folder} does not support locks ({error.strerror}), which keep two processes from "
            "writing at the same time: choose a folder on a local disk, or mount the file system with locks"
        ) from error


if os.name == "nt":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        # One byte far beyond the text: what is locked cannot be read by others on this system.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
