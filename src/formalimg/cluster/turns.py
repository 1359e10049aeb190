"""Turns: which worker is asked next. Each can have only so many calls, and who has few comes first."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from formalimg.cluster.seat import Seat
from formalimg.runs import NotStartedError

_GLANCE = 0.5
"""So often, in seconds, whoever waits looks whether what it waits for is still wanted."""


class Turn(NamedTuple):
    """A call that a worker can take.

    Attributes:
        depth: how many calls the worker has beside this one when the turns before are taken.
        number: puts turns of the same depth in order.
        seat, worker: whose it is, as long as that worker sits there.
    """

    depth: int
    number: int
    seat: Seat
    worker: Any


class Turns:
    """The calls that all workers of a crew can take at the moment."""

    def __init__(self) -> None:
        self._free: asyncio.PriorityQueue[Turn] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._ended: BaseException | None = None

    def add(self, seat: Seat, calls: int) -> None:
        """The worker in this seat can take so many calls."""
        for depth in range(calls):
            self._free.put_nowait(Turn(depth, next(self._numbers), seat, seat.worker))

    def end(self, error: BaseException) -> None:
        """Nobody can be asked any more: whoever waits, or comes, gets this error."""
        self._ended = error
        self._free.put_nowait(_WAKE_UP)

    @asynccontextmanager
    async def next(self, wanted: Callable[[], bool] = lambda: True) -> AsyncIterator[Turn]:
        """Wait until a worker can be asked; its turn is free again afterwards, if it is still there.

        Args:
            wanted: is there still anything to ask?

        Raises:
            NotStartedError: if there is not.
        """
        turn = await self._taken(wanted)
        while self._ended is None and turn.worker is not turn.seat.worker:
            turn = await self._taken(wanted)
        if self._ended is not None:
            self._free.put_nowait(_WAKE_UP)  # for the next who waits
            raise self._ended
        try:
            if not wanted():
                raise NotStartedError
            yield turn
        finally:
            if turn.worker is turn.seat.worker:
                self._free.put_nowait(turn._replace(number=next(self._numbers)))

    async def _taken(self, wanted: Callable[[], bool]) -> Turn:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GLANCE):
                    return await self._free.get()
            if not wanted():
                raise NotStartedError


_WAKE_UP = Turn(-1, -1, Seat(), None)
