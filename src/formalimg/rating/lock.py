"""The lock of a study: one process at a time takes answers, and the system gives it back even if that is killed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.runs import LockedError

LOCK_FILE = "lock"


class StudyLock:
    """Held from `__init__` until `release`, or until the process is gone.

    Raises:
        LockedError: if somebody else holds it.
        FormalimgError: if there can be no lock in the folder.
    """

    def __init__(self, folder: Path) -> None:
        # A database of its own that nothing is ever written to: its locks work alike on all systems.
        try:
            self._connection = sqlite3.connect(
                folder / LOCK_FILE, timeout=0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.OperationalError as error:
            raise FormalimgError(f"cannot write to {folder}: check its permissions") from error
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            self._connection.close()
            if "locked" in str(error):
                raise LockedError(
                    f"{folder} is taking answers already, in another window or process: use that one, or stop it"
                ) from error
            raise FormalimgError(f"cannot lock {folder} ({error}): check its permissions") from error

    def release(self) -> None:
        """Let others take answers."""
        self._connection.close()
