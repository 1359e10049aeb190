"""Folder lock: one writer at a time, released by the system even if the process is killed."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from typing import IO

from formalimg._util.locks import lock_file
from formalimg._util.plain_files import kind_of_special, open_plain
from formalimg.errors import FormalimgError

LOCK_FILE = "lock"
_MAX_HOLDER = 300
"""Characters that are read of the name of whoever holds a lock."""


class LockedError(FormalimgError):
    """Another process is writing to the folder."""


class FolderLock:
    """A lock held from `__init__` until `release`, or until the process ends."""

    def __init__(
        self,
        folder: Path,
        taken: str = "is being written by {holder}: wait until it is done, or stop it; nothing was changed",
    ) -> None:
        """Take the lock.

        Args:
            folder: the folder that only one process at a time may write to.
            taken: the error message after the name of the folder if another process, the `{holder}`, has the lock.

        Raises:
            LockedError: if another process holds it; the message says which.
            FormalimgError: if the folder cannot be locked.
        """
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
            raise LockedError(f"{folder} {taken.format(holder=holder)}") from error
        self._file.truncate(0)
        with contextlib.suppress(OSError):  # a full disk must not keep a run from resuming
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            self._file.flush()

    def release(self) -> None:
        """Release the lock."""
        with contextlib.suppress(OSError):
            self._file.close()
