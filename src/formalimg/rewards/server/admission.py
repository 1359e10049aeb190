"""Admission control: server limits, and the number of requests processed or waiting concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from formalimg._util.json_size import BYTES_PER_VALUE

_VALUES_PER_ITEM = 4_000
"""Keys and values in the JSON of a request for each item: a scene of two hundred objects has half as many."""

_MIN_VALUES = 100_000

_HELD_REQUESTS = 8
"""Number of requests of the maximum size that may be held in memory at the same time."""


@dataclass(frozen=True)
class Limits:
    """Limits of the server: sizes, concurrency and timeouts."""

    max_body_bytes: int = 64 * 1024 * 1024  # maximum length of a request body
    max_items: int = 256  # maximum number of images in a request
    max_concurrency: int = 16  # number of requests that are processed concurrently
    max_waiting: int = 256  # maximum number of further requests that wait; others get 503
    max_wait: float = 30.0  # seconds that a request waits before it gets 503
    # seconds that a client has to send the head of a request, its body, and to read an answer; and how long an idle
    # connection is kept
    timeout: float = 30.0
    shutdown_timeout: float = 60.0  # seconds that requests under way may take once the server shuts down
    max_connections: int = 512  # maximum number of connections; beyond it, only health checks and metrics are answered

    @property
    def max_values(self) -> int:
        """Maximum number of keys and values in the JSON of a request, since each uses memory when parsed."""
        return max(_MIN_VALUES, _VALUES_PER_ITEM * self.max_items)

    @property
    def max_answer_bytes(self) -> int:
        """Maximum length of a response."""
        return self.max_body_bytes

    @property
    def max_held_bytes(self) -> int:
        """Maximum total memory of all requests in bytes, both raw and parsed."""
        return _HELD_REQUESTS * self.max_body_bytes + self.max_values * BYTES_PER_VALUE


class ServerBusyError(Exception):
    """Raised when the server is too busy to admit a request."""


class AdmissionControl:
    """Admission control with a concurrency limit, bound to one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.in_flight = 0  # number of requests that are processed
        self.waiting = 0  # number of requests that wait
        self._free = asyncio.Semaphore(limits.max_concurrency)
        self._max_waiting, self._max_wait = limits.max_waiting, limits.max_wait

    @asynccontextmanager
    async def admit(self) -> AsyncIterator[None]:
        """Wait for admission and hold it for the duration of the block."""
        await self._acquire()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._free.release()

    async def _acquire(self) -> None:
        if not self._free.locked():  # the usual case, which needs no clock
            await self._free.acquire()
            return
        if self.waiting >= self._max_waiting:
            raise ServerBusyError(f"{self.waiting:,} requests wait already: come back later")
        self.waiting += 1
        try:
            async with asyncio.timeout(self._max_wait):
                await self._free.acquire()
        except TimeoutError as error:
            raise ServerBusyError(f"the server was busy for {self._max_wait:g} seconds: come back later") from error
        finally:
            self.waiting -= 1
