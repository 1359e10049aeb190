"""Objects that belong to an event loop, such as open connections: one for each loop that asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_closings: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Any]] = WeakKeyDictionary()
"""What will close objects at the end of their loops, also if nobody else knows them any more by then."""


class PerLoop(Generic[T]):
    """Makes an object when an event loop first asks for it. A model may so be used in one loop after another."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]] | None = None) -> None:
        """Nothing is made yet.

        Args:
            make: makes an object for the loop that is running.
            close: is called at the end of that loop.
        """
        self._make = make
        self._close = close
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def here(self) -> T:
        """The object of the loop that is running."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
            if self._close is not None:
                closing = _closing(self._made[loop], self._close)
                _closings.setdefault(loop, []).extend([closing, asyncio.ensure_future(anext(closing))])
        return self._made[loop]


async def _closing(obj: T, close: Callable[[T], Awaitable[None]]) -> AsyncIterator[None]:
    """Closes an object when its loop ends: a loop then ends all async generators that have begun in it."""
    try:
        yield
    finally:
        await close(obj)
