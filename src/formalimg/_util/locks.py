"""File locks that the system releases even if the process is killed, on every platform."""

from __future__ import annotations

import os
from typing import IO

if os.name == "nt":
    import msvcrt

    def lock_file(file: IO[str]) -> None:
        """Lock an open file until it is closed.

        Raises:
            OSError: if somebody else holds the lock.
        """
        # One byte far beyond the text: what is locked cannot be read by others on this system.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def lock_file(file: IO[str]) -> None:
        """Lock an open file until it is closed.

        Raises:
            OSError: if somebody else holds the lock.
        """
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
