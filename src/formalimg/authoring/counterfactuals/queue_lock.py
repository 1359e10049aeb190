"""One writer of a queue at a time; the system gives the lock back even if a process is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from formalimg._util.locks import lock_file
from formalimg.errors import FormalimgError

_PATIENCE = 5.0
"""How many seconds to wait for another writer, who needs a small part of one."""


@contextmanager
def alone_at(path: Path) -> Iterator[None]:
    """Let no other process, and no other thread, change the file meanwhile: one that asks in the same way.

    The lock is a hidden file beside it, because the file itself is replaced.

    Raises:
        FormalimgError: if there can be no lock, or another process does not give it back.
    """
    try:
        file = path.with_name(f".{path.name}.lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise FormalimgError(f"cannot write beside {path}: {error.strerror}; check the folder's permissions") from error
    with file:
        _wait(file, path)
        yield


def _wait(file: IO[str], path: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return lock_file(file)
        except OSError as error:
            if time.monotonic() > end:
                raise FormalimgError(
                    f"{path} is being written by another process: try again; nothing was changed"
                ) from error
            time.sleep(0.02)
