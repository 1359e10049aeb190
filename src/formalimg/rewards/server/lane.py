"""A lane for short work: one thread does it piece by piece, and hands back several pieces at once.

Python does short pieces faster one after the other than side by side, and to go from one thread to another costs about
as much as a short piece does. So whoever waits is taken along by the thread that is on its way already.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

_TOGETHER = 8
"""So many pieces are done before any is handed back, if so many wait."""

_HELD_UP = 0.25
"""So many seconds the lane may take for pieces that are handed back together; then it counts as blocked."""


class _HeldUpError(Exception):
    """A piece was not begun, because the one before it takes long."""


class _Piece(NamedTuple, Generic[Given, Made]):
    """Something to do, and who waits for it."""

    given: Given
    waiting: asyncio.Future[Made]


class _Outcome(NamedTuple, Generic[Made]):
    """What came of a piece, and who waits for it."""

    waiting: asyncio.Future[Made]
    made: Made | None
    error: BaseException | None


class Lane(Generic[Given, Made]):
    """Does work that is nearly always short. It belongs to one event loop.

    A piece that takes long blocks the lane, and nobody else: those behind it are done in threads of their own.
    """

    def __init__(self, work: Callable[[Given], Made]) -> None:
        """A lane that does this work, away from the event loop."""
        self._work = work
        self._calls = SimpleQueue[asyncio.AbstractEventLoop | None]()
        # Not waited for when the program ends: then nobody waits for what it does either.
        Thread(target=self._run, name="formalimg-lane", daemon=True).start()
        self._waiting = deque[_Piece[Given, Made]]()
        self._done = deque[_Outcome[Made]]()
        self._is_busy = self._is_blocked = False
        self._watch: asyncio.TimerHandle | None = None

    async def do(self, given: Given) -> Made:
        """Have a piece of work done. Whoever is cancelled meanwhile has given it up."""
        if not self._is_blocked:
            with contextlib.suppress(_HeldUpError):
                return await self._along_the_lane(given)
        return await asyncio.to_thread(self._work, given)

    def close(self) -> None:
        """Take no more work; what is being done is not waited for."""
        self._calls.put(None)

    async def _along_the_lane(self, given: Given) -> Made:
        loop = asyncio.get_running_loop()
        piece = _Piece[Given, Made](given, loop.create_future())
        self._waiting.append(piece)
        if not self._is_busy:
            self._go(loop)
        return await piece.waiting

    def _go(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_busy = True
        self._watch = loop.call_later(_HELD_UP, self._give_way)
        self._calls.put(loop)

    def _run(self) -> None:
        while (loop := self._calls.get()) is not None:
            self._along(loop)

    def _along(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the thread: do what waits, up to a number."""
        for _ in range(_TOGETHER):
            try:
                given, waiting = self._waiting.popleft()
            except IndexError:
                break
            if not waiting.done():
                self._done.append(self._outcome(given, waiting))
        with contextlib.suppress(RuntimeError):  # the loop has ended, and whoever waited in it
            loop.call_soon_threadsafe(self._come_back, loop)

    def _outcome(self, given: Given, waiting: asyncio.Future[Made]) -> _Outcome[Made]:
        try:
            return _Outcome(waiting, self._work(given), None)
        except BaseException as error:  # goes to whoever waits
            return _Outcome(waiting, None, error)

    def _come_back(self, loop: asyncio.AbstractEventLoop) -> None:
        self._hand_back()
        self._is_busy = self._is_blocked = False
        if self._watch is not None:
            self._watch.cancel()
        if self._waiting:
            self._go(loop)

    def _hand_back(self) -> None:
        while self._done:
            waiting, made, error = self._done.popleft()
            if waiting.done():  # given up
                continue
            if error is None:
                waiting.set_result(made)  # type: ignore[arg-type]
            else:
                waiting.set_exception(error)

    def _give_way(self) -> None:
        """The thread is held up: what it has done is handed back, and what waits behind it goes elsewhere."""
        self._is_blocked = True
        self._hand_back()
        while self._waiting:
            with contextlib.suppress(IndexError):  # the thread was faster
                piece = self._waiting.popleft()
                if not piece.waiting.done():
                    piece.waiting.set_exception(_HeldUpError())
