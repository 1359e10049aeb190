"""Worker processes that find modules where this process finds them: never in the folder it happens to stand in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

_SAFE_PATH = "PYTHONSAFEPATH"


class _SafeProcess(SpawnProcess):
    """A spawned process whose interpreter starts without the current folder on its path."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  # the name that multiprocessing calls
        with _without_current_folder():
            return SpawnProcess._Popen(process_obj)


class _SafeSpawnContext(SpawnContext):
    Process = _SafeProcess


def spawn_context() -> SpawnContext:
    """Return a context of multiprocessing that spawns processes, its tracker of resources included, with a safe path.

    A spawned interpreter imports multiprocessing before it learns the path of its parent: a `multiprocessing.py` in the
    current folder would be executed.
    """
    with _without_current_folder():
        resource_tracker.ensure_running()
    return _SafeSpawnContext()


@contextmanager
def _without_current_folder() -> Iterator[None]:
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SAFE_PATH, None)
        else:
            os.environ[_SAFE_PATH] = before
