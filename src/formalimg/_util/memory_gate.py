"""A limit on the total memory of large tasks, which wait until enough memory is free."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

_CHECK_SECONDS = 0.2  # How often a thread that waits looks whether it should go on waiting


class MemoryGate:
    """A memory budget in bytes, granted in order of request.

    Work that holds a reservation must never wait for another one of the same gate.
    """

    def __init__(self, capacity: int) -> None:
        """Create a gate with its full capacity free."""
        self._capacity = capacity
        self._used = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[None], int]] = deque()

    async def acquire(self, size: int) -> Callable[[], None]:
        """Wait until `size` bytes are free and reserve them; return a function that releases them."""
        granted, size = self._enqueue(size)
        try:
            if not granted.done():
                await asyncio.wrap_future(granted)
        except asyncio.CancelledError:
            if not granted.cancel():  # granted at this very moment
                self._release(size)
            raise
        return lambda: self._release(size)

    def acquire_in_thread(self, size: int, check: Callable[[], None] = lambda: None) -> Callable[[], None]:
        """Wait as `acquire` does, from a blocking thread; `check` may raise an exception to stop waiting."""
        granted, size = self._enqueue(size)
        while True:
            try:
                granted.result(_CHECK_SECONDS)
            except FutureTimeoutError:
                try:
                    check()
                except BaseException:
                    if not granted.cancel():
                        self._release(size)
                    raise
            else:
                return lambda: self._release(size)

    @asynccontextmanager
    async def reserve(self, size: int) -> AsyncIterator[None]:
        """Reserve `size` bytes within this context."""
        release = await self.acquire(size)
        try:
            yield
        finally:
            release()

    def _enqueue(self, size: int) -> tuple[Future[None], int]:
        entry: tuple[Future[None], int] = Future(), min(size, self._capacity)
        with self._lock:
            self._waiting.append(entry)
            self._grant()
        return entry

    def _release(self, size: int) -> None:
        with self._lock:
            self._used -= size
            self._grant()

    def _grant(self) -> None:
        while self._waiting:
            future, size = self._waiting[0]
            if not future.cancelled() and self._used + size > self._capacity:
                return
            self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                self._used += size
                future.set_result(None)


class AnswerReservation:
    """Memory reserved for the large answers of one task.

    It reserves only once because its answers arrive one by one; a second reservation could wait for the first.
    """

    def __init__(self, outer: AnswerReservation | None) -> None:
        self._outer = outer
        self._releases: list[Callable[[], None]] = []
        self._released = asyncio.Event()

    @property
    def is_reserved(self) -> bool:
        """Whether any memory is reserved."""
        return bool(self._releases)

    def keep(self, release: Callable[[], None]) -> None:
        """Register a function that releases a reservation at the end of the task."""
        self._releases.append(release)

    def pass_on(self) -> None:
        """Transfer the reservation to the enclosing task, or keep it until the end if there is none."""
        if self._outer is not None:
            self._outer._releases += self._releases
            self._releases = []

    def release(self) -> None:
        """Release all reservations."""
        while self._releases:
            self._releases.pop()()
        self._released.set()

    async def wait_for_release(self) -> None:
        """Wait until another task has released the reservation."""
        self._released.clear()
        while self._releases:
            await self._released.wait()


_current: ContextVar[AnswerReservation | None] = ContextVar("formalimg_answer_memory", default=None)


@contextmanager
def answer_memory() -> Iterator[AnswerReservation]:
    """Provide a reservation for large answers, which is released at the end of the context."""
    memory = AnswerReservation(_current.get())
    token = _current.set(memory)
    try:
        yield memory
    finally:
        _current.reset(token)
        memory.release()


async def reserve_answer(gate: MemoryGate, size: int) -> None:
    """Wait until there is enough memory to continue reading a large answer."""
    memory = _current.get()
    if memory is not None and not memory.is_reserved:
        memory.keep(await gate.acquire(size))


def reserve_answer_in_thread(gate: MemoryGate, size: int, check: Callable[[], None]) -> None:
    """Wait as `reserve_answer` does, from a blocking thread; `check` may raise an exception to stop waiting."""
    memory = _current.get()
    if memory is not None and not memory.is_reserved:
        memory.keep(gate.acquire_in_thread(size, check))
