"""The lock of a folder: one writer at a time, given back by the system even if the process is killed."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from typing import IO

from formalimg._util.locks import lock_file
from formalimg.errors import FormalimgError

LOCK_FILE = "lock"


class LockedError(FormalimgError):
    """Somebody else is writing to the folder."""


class FolderLock:
    """Held from `__init__` until `release`, or until the process is gone."""

    def __init__(
        self,
        folder: Path,
        taken: str = "is being written by {holder}: wait until it is done, or stop it; nothing was changed",
    ) -> None:
        """Take the lock.

        Args:
            folder: what only one process at a time may write to.
            taken: what is said after the name of the folder if another process, the `{holder}`, has it.

        Raises:
            LockedError: if another process holds it; the message says which.
            FormalimgError: if there can be no lock in the folder.
        """
        try:
            self._file: IO[str] = (folder / LOCK_FILE).open("a+", encoding="utf-8")
        except OSError as error:
            raise FormalimgError(
                f"cannot write to {folder}: {error.strerror}; check its permissions, or choose another folder"
            ) from error
        try:
            lock_file(self._file)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "another process"
            self._file.close()
            raise LockedError(f"{folder} {taken.format(holder=holder)}") from error
        self._file.truncate(0)
        with contextlib.suppress(OSError):  # a full disk must not keep anyone from going on
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            self._file.flush()

    def release(self) -> None:
        """Let others write."""
        with contextlib.suppress(OSError):
            self._file.close()
