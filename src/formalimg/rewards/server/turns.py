"""Whose turn it is: so many requests are worked on at once, some more wait, and others are told to come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class BusyError(Exception):
    """There is no turn to be had for now."""


class Turns:
    """Turns of requests. It belongs to one event loop."""

    def __init__(self, at_once: int, most_waiting: int, longest_wait: float) -> None:
        """No turn is taken yet.

        Args:
            at_once: how many turns there are.
            most_waiting: how many may wait for one.
            longest_wait: and for how many seconds.
        """
        self.in_flight, self.waiting = 0, 0
        self._free = asyncio.Semaphore(at_once)
        self._most_waiting, self._longest_wait = most_waiting, longest_wait

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold a turn.

        Raises:
            BusyError: if too many wait already, or none was to be had in time.
        """
        await self._take()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._free.release()

    async def _take(self) -> None:
        if not self._free.locked():  # the usual case, which needs no clock
            await self._free.acquire()
            return
        if self.waiting >= self._most_waiting:
            raise BusyError(f"{self.waiting:,} requests wait already: come back later")
        self.waiting += 1
        try:
            async with asyncio.timeout(self._longest_wait):
                await self._free.acquire()
        except TimeoutError as error:
            raise BusyError(f"there was no turn in {self._longest_wait:g} seconds: come back later") from error
        finally:
            self.waiting -= 1
