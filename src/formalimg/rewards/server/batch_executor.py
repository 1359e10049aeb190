"""Batch executor: one thread runs short jobs one by one, and hands back the results of several at once.

Python runs short jobs faster one after the other than side by side, and switching from one thread to another costs
about as much as a short job does. So waiting jobs are taken along by the thread that is running already.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")

_BATCH = 8
"""Maximum number of jobs that are done before their results are handed back."""

_MAX_BATCH_SECONDS = 0.25
"""Seconds that a batch may take; then the executor counts as blocked."""


class _BlockedError(Exception):
    """A job was not begun, because the one before it takes long."""


class _Job(NamedTuple, Generic[Argument, Result]):
    argument: Argument
    future: asyncio.Future[Result]


class _JobResult(NamedTuple, Generic[Result]):
    future: asyncio.Future[Result]
    result: Result | None
    error: BaseException | None


class BatchExecutor(Generic[Argument, Result]):
    """Runs jobs that are nearly always short. Belongs to one event loop.

    A job that takes long blocks the executor, and nobody else: those behind it are run in threads of their own.
    """

    def __init__(self, work: Callable[[Argument], Result]) -> None:
        """Create an executor that calls this function in its thread."""
        self._work = work
        self._calls = SimpleQueue[asyncio.AbstractEventLoop | None]()
        # A daemon: when the program ends, nobody waits for its results.
        Thread(target=self._run, name="formalimg-batches", daemon=True).start()
        self._waiting = deque[_Job[Argument, Result]]()
        self._done = deque[_JobResult[Result]]()
        self._is_busy = self._is_blocked = False
        self._timer: asyncio.TimerHandle | None = None

    async def submit(self, argument: Argument) -> Result:
        """Run a job and return its result. A caller that is cancelled meanwhile gives it up."""
        if not self._is_blocked:
            with contextlib.suppress(_BlockedError):
                return await self._submit_to_batch(argument)
        return await asyncio.to_thread(self._work, argument)

    def close(self) -> None:
        """Accept no more jobs; the current one is not waited for."""
        self._calls.put(None)

    async def _submit_to_batch(self, argument: Argument) -> Result:
        loop = asyncio.get_running_loop()
        job = _Job[Argument, Result](argument, loop.create_future())
        self._waiting.append(job)
        if not self._is_busy:
            self._start_batch(loop)
        return await job.future

    def _start_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_busy = True
        self._timer = loop.call_later(_MAX_BATCH_SECONDS, self._give_way)
        self._calls.put(loop)

    def _run(self) -> None:
        while (loop := self._calls.get()) is not None:
            self._run_batch(loop)

    def _run_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run waiting jobs up to a number, in the thread."""
        for _ in range(_BATCH):
            try:
                argument, future = self._waiting.popleft()
            except IndexError:
                break
            if not future.done():
                self._done.append(self._run_job(argument, future))
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all callers in it
            loop.call_soon_threadsafe(self._end_batch, loop)

    def _run_job(self, argument: Argument, future: asyncio.Future[Result]) -> _JobResult[Result]:
        try:
            return _JobResult(future, self._work(argument), None)
        except BaseException as error:  # raised to the caller
            return _JobResult(future, None, error)

    def _end_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        self._hand_back()
        self._is_busy = self._is_blocked = False
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting:
            self._start_batch(loop)

    def _hand_back(self) -> None:
        while self._done:
            future, result, error = self._done.popleft()
            if future.done():  # given up
                continue
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)

    def _give_way(self) -> None:
        """Hand back what is done, and send waiting jobs elsewhere: the thread is blocked."""
        self._is_blocked = True
        self._hand_back()
        while self._waiting:
            with contextlib.suppress(IndexError):  # the thread was faster
                job = self._waiting.popleft()
                if not job.future.done():
                    job.future.set_exception(_BlockedError())
