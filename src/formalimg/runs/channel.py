"""A short queue between stages that can be closed: whoever reads it comes to an end when all is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

_LONGEST = 32


class Channel(Generic[T]):
    """Any number of tasks put objects in and read it with `async for`; a full one makes the former wait."""

    def __init__(self, size: int) -> None:
        self._queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue(size)

    async def put(self, obj: T) -> None:
        """Put something in, as soon as there is room."""
        await self._queue.put((obj,))

    async def close(self) -> None:
        """Nothing more will come."""
        await self._queue.put(None)

    def more(self, limit: int) -> Iterator[T]:
        """What lies there already, up to so many; does not wait."""
        for _ in range(limit):
            if self._queue.empty():
                return
            entry = self._queue.get_nowait()
            if entry is None:
                self._queue.put_nowait(None)
                return
            yield entry[0]

    def __aiter__(self) -> Channel[T]:
        return self

    async def __anext__(self) -> T:
        entry = await self._queue.get()
        if entry is None:
            self._queue.put_nowait(None)  # for the next reader; there is room, as one was just taken
            raise StopAsyncIteration
        return entry[0]


def room_for(hands: int) -> int:
    """How much may wait before or behind so many hands: enough that they need not wait for each other."""
    return max(2, min(hands // 2, _LONGEST))
