"""Images looked at by processes of their own, so that each core has one and the server stays at hand."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from formalimg.judges import Grounder, Grounding, LoadedImage, Unscored, open_grounder
from formalimg.models import Setting
from formalimg.runs import inspect

_TRIES = 2
"""So often an image is looked at whose process dies: the image itself may be the reason."""


class _Pool(NamedTuple):
    """Processes that end when `staying` is closed, or with this process, whatever signals they are sent.

    Attributes:
        executor: gives them work.
        staying: the end of a pipe that only this process holds.
        watched: the other end, which each of them gets.
    """

    executor: ProcessPoolExecutor
    staying: Connection
    watched: Connection

    def let_go(self) -> None:
        """Have all its processes end now."""
        self.staying.close()
        self.watched.close()


class GrounderInProcesses:
    """A grounder that works in several processes. For those that keep a core busy, and not a server elsewhere."""

    def __init__(self, name: str, processes: int) -> None:
        """Open the grounder of this name; the processes are started when they are needed.

        Raises:
            FormalimgError: if there is no such grounder.
        """
        opened = open_grounder(name)
        self.name: str = opened.name
        self.settings: Mapping[str, Setting] = opened.settings
        self.concurrency = processes
        self._pool = self._made()
        self._mending = threading.Lock()

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """The objects in an image, as the grounder itself would find them."""
        for _ in range(_TRIES):
            pool = self._pool
            try:
                return await asyncio.wrap_future(pool.executor.submit(_ground, image.data, tuple(classes)))
            except BrokenProcessPool:
                self._mend(pool)
        raise RuntimeError("the processes that looked at this image died, one after the other")

    async def warm_up(self) -> None:
        """Have the processes started and their grounders opened, before anyone waits for it."""
        started: list[Future[Any]] = [self._pool.executor.submit(_opened) for _ in range(self.concurrency)]
        await asyncio.gather(*map(asyncio.wrap_future, started))

    def close(self) -> None:
        """End the processes."""
        self._pool.executor.shutdown(wait=True, cancel_futures=True)
        self._pool.let_go()

    def _made(self) -> _Pool:
        # Not by fork, which would copy the threads' locks as they happen to be.
        spawning = multiprocessing.get_context("spawn")
        watched, staying = spawning.Pipe(duplex=False)
        executor = ProcessPoolExecutor(self.concurrency, spawning, _begin, (self.name, watched))
        return _Pool(executor, staying, watched)

    def _mend(self, broken: _Pool) -> None:
        """Begin anew. Those whom a dead process leaves behind are waited for at the end, and so must end too."""
        with self._mending:
            if self._pool is broken:
                self._pool = self._made()
                broken.let_go()


_grounder: Grounder | None = None
"""The grounder of this process, if it is one that looks at images."""


def _begin(name: str, watched: Connection) -> None:
    global _grounder
    # Whoever serves is told to end, lets this process finish its work, and then ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_when_let_go, args=(watched,), daemon=True).start()
    _grounder = open_grounder(name)


def _end_when_let_go(watched: Connection) -> None:
    watched.poll(None)  # nothing is ever sent: it returns when the other end is closed
    os._exit(1)


def _opened() -> str:
    assert _grounder is not None, "a process begins with opening its grounder"
    return _grounder.name


def _ground(data: bytes, classes: Sequence[str]) -> Grounding | Unscored:
    assert _grounder is not None, "a process begins with opening its grounder"
    image = inspect(data)
    if isinstance(image, Unscored):
        return image
    return asyncio.run(_grounder.ground(image, classes))
