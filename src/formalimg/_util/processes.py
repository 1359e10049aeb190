"""Worker processes that never import modules from the current folder by accident."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

_SAFE_PATH = {"PYTHONSAFEPATH": "1"}


class _SafeProcess(SpawnProcess):
    """A spawned process whose interpreter starts without the current folder on `sys.path`."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  # the name that multiprocessing calls
        with temporary_environment(_SAFE_PATH):
            return SpawnProcess._Popen(process_obj)


class _SafeSpawnContext(SpawnContext):
    Process = _SafeProcess


def spawn_context() -> SpawnContext:
    """Return a multiprocessing context that spawns processes and its resource tracker with a safe path.

    A spawned interpreter imports multiprocessing before it learns the path of its parent: a `multiprocessing.py` in the
    current folder would be executed.
    """
    with temporary_environment(_SAFE_PATH):
        resource_tracker.ensure_running()
    return _SafeSpawnContext()


@contextmanager
def temporary_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within a context and restore them at the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
