"""Pictures looked at by processes of their own, so that each core has one and the server stays at hand."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any

from formalimg.judges import Grounder, Grounding, Picture, Unscored, open_grounder
from formalimg.models import Setting
from formalimg.runs import inspect


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

    async def ground(self, picture: Picture, classes: Sequence[str]) -> Grounding | Unscored:
        """The things in a picture, as the grounder itself would find them."""
        pool = self._pool
        try:
            return await asyncio.wrap_future(pool.submit(_ground, picture.data, tuple(classes)))
        except BrokenProcessPool as error:
            self._mend(pool)
            raise RuntimeError("a process that looked at pictures was ended from outside") from error

    async def warm_up(self) -> None:
        """Have the processes started and their grounders opened, before anyone waits for it."""
        started: list[Future[Any]] = [self._pool.submit(_opened) for _ in range(self.concurrency)]
        await asyncio.gather(*map(asyncio.wrap_future, started))

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _made(self) -> ProcessPoolExecutor:
        # Not by fork, which would copy the threads' locks as they happen to be.
        return ProcessPoolExecutor(self.concurrency, multiprocessing.get_context("spawn"), _begin, (self.name,))

    def _mend(self, broken: ProcessPoolExecutor) -> None:
        with self._mending:
            if self._pool is broken:
                self._pool = self._made()


_grounder: Grounder | None = None
"""The grounder of this process, if it is one that looks at pictures."""


def _begin(name: str) -> None:
    global _grounder
    # Whoever serves is told to end, lets this process finish its work, and then ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _grounder = open_grounder(name)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _opened() -> str:
    assert _grounder is not None, "a process begins with opening its grounder"
    return _grounder.name


def _ground(data: bytes, classes: Sequence[str]) -> Grounding | Unscored:
    assert _grounder is not None, "a process begins with opening its grounder"
    picture = inspect(data)
    if isinstance(picture, Unscored):
        return picture
    return asyncio.run(_grounder.ground(picture, classes))
