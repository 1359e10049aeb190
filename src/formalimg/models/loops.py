"""Things that belong to an event loop, such as open connections: one for each loop that asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Thing = TypeVar("Thing")


class PerLoop(Generic[Thing]):
    """Makes a thing when an event loop first asks for it. A model may so be used in one loop after another."""

    def __init__(self, make: Callable[[], Thing]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, Thing] = WeakKeyDictionary()

    def here(self) -> Thing:
        """The thing of the loop that is running."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
        return self._made[loop]
