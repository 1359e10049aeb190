"""Scheduling of calls to the least busy worker, with worker slots and throughput."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from formalimg.models.base import NotStartedError

_MAX_LISTED = 8
"""Up to this number of workers, rates are shown one by one; of more, the lowest and highest of each machine."""

_POLL_SECONDS = 0.5  # Interval at which a waiting call checks whether it is still needed


class WorkerRate(NamedTuple):
    """The throughput of a worker."""

    host: str  # its machine; empty as long as it has not started
    rate: float  # images and verdicts per second since it started


def format_rates(rates: Sequence[WorkerRate]) -> str:
    """Return the rates of all workers by machine, such as `3 workers: a 1.2 + 1.3/s, b 0.9/s; 1 starting`."""
    by_host: dict[str, list[float]] = defaultdict(list)
    for worker in rates:
        if worker.host:
            by_host[worker.host].append(worker.rate)
    starting = sum(not worker.host for worker in rates)
    few = len(rates) <= _MAX_LISTED
    parts = [f"{host} {_format_host(host_rates, few=few)}/s" for host, host_rates in sorted(by_host.items())]
    working = len(rates) - starting
    text = f"{working} worker{'s' * (working != 1)}" + (f": {', '.join(parts)}" if parts else "")
    return f"{text}; {starting} starting" if starting else text


def _format_host(rates: Sequence[float], *, few: bool) -> str:
    if few:
        return " + ".join(f"{rate:.1f}" for rate in rates)
    return f"{len(rates)} × {min(rates):.1f} to {max(rates):.1f}"


@dataclass
class WorkerSlot:
    """A permanent slot for one worker, whose worker can be replaced."""

    worker: Any = None  # the Ray actor handle; None if there is none
    host: str = ""  # its machine; empty if there is none
    lost: asyncio.Event = field(default_factory=asyncio.Event)  # set when the worker no longer answers
    done: int = 0  # number of images and verdicts that came from it
    since: float = 0.0  # when it started
    failures: int = 0  # number of workers in a row that could not be started

    def assign(self, worker: Any, host: str) -> None:
        """Assign a ready worker to the slot."""
        self.worker, self.host, self.done, self.since, self.failures = worker, host, 0, time.monotonic(), 0

    def clear(self) -> Any:
        """Empty the slot and return its worker."""
        worker, self.worker, self.host = self.worker, None, ""
        return worker

    @property
    def rate(self) -> WorkerRate:
        """The throughput of the current worker."""
        seconds = time.monotonic() - self.since
        return WorkerRate(self.host, self.done / seconds if self.host and seconds else 0.0)


class CallSlot(NamedTuple):
    """Capacity for one call to a worker."""

    depth: int  # number of other calls the worker has when the call slots before this one are taken
    number: int  # orders call slots of the same depth
    slot: WorkerSlot  # whose it is, as long as that worker is in that slot
    worker: Any


class CallScheduler:
    """The available call slots of all workers."""

    def __init__(self) -> None:
        self._free: asyncio.PriorityQueue[CallSlot] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._ended: BaseException | None = None

    def add(self, slot: WorkerSlot, calls: int) -> None:
        """Add a worker with capacity for `calls` concurrent calls."""
        for depth in range(calls):
            self._free.put_nowait(CallSlot(depth, next(self._numbers), slot, slot.worker))

    def end(self, error: BaseException) -> None:
        """Raise the error in every waiting and future call."""
        self._ended = error
        self._free.put_nowait(_WAKE_UP)

    @asynccontextmanager
    async def next(self, is_needed: Callable[[], bool] = lambda: True) -> AsyncIterator[CallSlot]:
        """Wait for a call slot and yield it, releasing it after the block if the worker is still alive."""
        call = await self._take(is_needed)
        while self._ended is None and call.worker is not call.slot.worker:
            call = await self._take(is_needed)
        if self._ended is not None:
            self._free.put_nowait(_WAKE_UP)  # for the next who waits
            raise self._ended
        try:
            if not is_needed():
                raise NotStartedError
            yield call
        finally:
            if call.worker is call.slot.worker:
                self._free.put_nowait(call._replace(number=next(self._numbers)))

    async def _take(self, is_needed: Callable[[], bool]) -> CallSlot:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    return await self._free.get()
            if not is_needed():
                raise NotStartedError


_WAKE_UP = CallSlot(-1, -1, WorkerSlot(), None)
