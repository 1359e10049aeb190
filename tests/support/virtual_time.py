"""Time that passes only when everyone is waiting, so that tests of waiting take none."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine, Iterator
from itertools import count
from typing import Any

_STEPS = 30
"""So often everyone gets a chance to go on before it is taken for granted that all are waiting."""


class VirtualTime:
    """A clock and a sleep that belong together.

    Attributes:
        now: seconds since the beginning.
        slept: how long each sleep was to take.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers: Iterator[int] = count()

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), woken))
        await woken

    def run(self, *coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
        """What the coroutines give or raise, after as much time as they need."""
        return asyncio.run(self._run(coroutines))

    async def _run(self, coroutines: tuple[Coroutine[Any, Any, Any], ...]) -> list[Any]:
        tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
        while not all(task.done() for task in tasks):
            for _ in range(_STEPS):
                await asyncio.sleep(0)
            if self._sleepers:
                self.now, _, woken = heapq.heappop(self._sleepers)
                woken.set_result(None)
            else:
                await asyncio.sleep(0.001)
        return await asyncio.gather(*tasks, return_exceptions=True)
