"""A grounder in worker processes, one for each core, so that the server stays responsive."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from formalimg._util.processes import spawn_context
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_grounder
from formalimg.runs.inspection import inspect
from formalimg.types import Grounder, Setting, Unscored

_ATTEMPTS = 2
"""How often an image is tried whose process dies: the image itself may be the reason."""


class _ProcessPool(NamedTuple):
    """Processes that end when `alive` is closed, or with this process, whatever signals they get."""

    executor: ProcessPoolExecutor  # runs their jobs
    alive: Connection  # the end of a pipe that only this process holds
    watched: Connection  # the other end, which each of them watches

    def end(self) -> None:
        """End all its processes now."""
        self.alive.close()
        self.watched.close()


class ProcessGrounder:
    """A grounder that works in several processes; for grounders that use a core, not a server elsewhere."""

    def __init__(self, name: str, processes: int) -> None:
        """Open the grounder; the processes are started when they are needed."""
        grounder = open_grounder(name)
        self.name: str = grounder.name
        self.settings: Mapping[str, Setting] = grounder.settings
        self.concurrency = processes
        self._pool = self._start_pool()
        self._restart_lock = threading.Lock()

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Return the objects in an image, as the grounder itself would find them."""
        for _ in range(_ATTEMPTS):
            pool = self._pool
            try:
                return await asyncio.wrap_future(pool.executor.submit(_ground_in_worker, image.data, tuple(classes)))
            except BrokenProcessPool:
                self._restart(pool)
        raise RuntimeError("the processes that looked at this image died, one after the other")

    async def warm_up(self) -> None:
        """Start the processes and open their grounders, before any request waits for it."""
        futures: list[Future[Any]] = [self._pool.executor.submit(_grounder_name) for _ in range(self.concurrency)]
        await asyncio.gather(*map(asyncio.wrap_future, futures))

    def close(self) -> None:
        """End the processes."""
        self._pool.executor.shutdown(wait=True, cancel_futures=True)
        self._pool.end()

    def _start_pool(self) -> _ProcessPool:
        # Not by fork, which would copy the threads' locks as they happen to be.
        context = spawn_context()
        watched, alive = context.Pipe(duplex=False)
        executor = ProcessPoolExecutor(self.concurrency, context, _initialize_worker, (self.name, watched))
        return _ProcessPool(executor, alive, watched)

    def _restart(self, broken: _ProcessPool) -> None:
        """Replace a broken pool. Its remaining processes are waited for at exit, and so must end too."""
        with self._restart_lock:
            if self._pool is broken:
                self._pool = self._start_pool()
                broken.end()


_grounder: Grounder | None = None
"""The grounder of this process, if it is a worker process."""


def _initialize_worker(name: str, watched: Connection) -> None:
    global _grounder
    # The server gets the signals, lets this process finish its work, and then ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_exit_when_closed, args=(watched,), daemon=True).start()
    _grounder = open_grounder(name)


def _exit_when_closed(watched: Connection) -> None:
    watched.poll(None)  # nothing is ever sent: it returns when the other end is closed
    os._exit(1)


def _grounder_name() -> str:
    assert _grounder is not None, "the initializer opens the grounder"
    return _grounder.name


def _ground_in_worker(data: bytes, classes: Sequence[str]) -> Grounding | Unscored:
    assert _grounder is not None, "the initializer opens the grounder"
    image = inspect(data)
    if isinstance(image, Unscored):
        return image
    return asyncio.run(_grounder.ground(image, classes))
