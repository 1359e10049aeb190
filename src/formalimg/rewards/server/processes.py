"""A grounder that runs in worker processes, one per core, to keep the server responsive."""

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

_ATTEMPTS = 2  # How often an image is tried whose process dies: the image itself may be the reason


class _ProcessPool(NamedTuple):
    """A pool of processes that exit when `alive` is closed or the parent process ends."""

    executor: ProcessPoolExecutor  # runs their jobs
    alive: Connection  # the end of a pipe that only this process holds
    watched: Connection  # the other end, which each of them watches

    def end(self) -> None:
        """End all processes immediately."""
        self.alive.close()
        self.watched.close()


class ProcessGrounder:
    """A grounder that runs in several processes, for grounders limited by the CPU."""

    def __init__(self, name: str, processes: int) -> None:
        """Open the grounder without starting the processes."""
        grounder = open_grounder(name)
        self.name: str = grounder.name
        self.settings: Mapping[str, Setting] = grounder.settings
        self.concurrency = processes
        self._pool = self._start_pool()
        self._restart_lock = threading.Lock()

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Find the objects in an image with the grounder in a worker process."""
        for _ in range(_ATTEMPTS):
            pool = self._pool
            try:
                return await asyncio.wrap_future(pool.executor.submit(_ground_in_worker, image.data, tuple(classes)))
            except BrokenProcessPool:
                self._restart(pool)
        raise RuntimeError("all processes that judged this image crashed")

    async def warm_up(self) -> None:
        """Start the processes and open their grounders before the first request."""
        futures: list[Future[Any]] = [self._pool.executor.submit(_grounder_name) for _ in range(self.concurrency)]
        await asyncio.gather(*map(asyncio.wrap_future, futures))

    def close(self) -> None:
        """End all processes."""
        self._pool.executor.shutdown(wait=True, cancel_futures=True)
        self._pool.end()

    def _start_pool(self) -> _ProcessPool:
        # Not by fork, which would copy the threads' locks as they happen to be.
        context = spawn_context()
        watched, alive = context.Pipe(duplex=False)
        executor = ProcessPoolExecutor(self.concurrency, context, _initialize_worker, (self.name, watched))
        return _ProcessPool(executor, alive, watched)

    def _restart(self, broken: _ProcessPool) -> None:
        with self._restart_lock:
            if self._pool is broken:
                self._pool = self._start_pool()
                broken.end()


_grounder: Grounder | None = None  # The grounder of this process, if it is a worker process


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
