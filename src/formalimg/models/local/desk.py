"""A desk between those who ask and the devices that do the work: each device has a thread, and who is free takes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition, local
from typing import Generic, NamedTuple, TypeVar

from formalimg.models.local.devices import sit_at

Task = TypeVar("Task")
Result = TypeVar("Result")

_MOMENT = 0.02
"""So many seconds whoever is free waits for more, if it can do several at once: those who got the answers of a batch
mostly have the next question at once."""


class _Waiting(NamedTuple, Generic[Task, Result]):
    task: Task
    result: Future[Result]


class Desk(Generic[Task, Result]):
    """Work that waits until a device is free."""

    def __init__(
        self,
        name: str,
        devices: Sequence[str],
        begin: Callable[[str], Callable[[Sequence[Task]], Sequence[Result]]],
        *,
        most: int = 1,
        alike: Callable[[Task], object] = lambda task: None,
    ) -> None:
        """A desk with nothing on it.

        Args:
            name: for the threads.
            devices: each gets a thread of its own. The same one may be there twice.
            begin: makes a device ready when its first task comes, and gives what then does tasks, with one result
                for each. Only the device's own thread ever calls either.
            most: how many tasks are done at once, if they are there.
            alike: only tasks for which this is the same are done at once.
        """
        self._begin = begin
        self._most = most
        self._alike = alike
        self._waiting: deque[_Waiting[Task, Result]] = deque()
        self._changed = Condition()
        self._here = local()
        # Threads that do not know the desk end when nobody needs it any more, and what they hold is freed.
        self._threads = ThreadPoolExecutor(len(devices), name, _sit, (self._here, deque(devices)))

    async def do(self, task: Task) -> Result:
        """The result of a task, from whichever device was free; the tasks that came first are done first."""
        waiting = _Waiting[Task, Result](task, Future())
        with self._changed:
            self._waiting.append(waiting)
            self._changed.notify_all()
        # As many turns as tasks: who takes several leaves turns over, in which there is nothing to do.
        self._threads.submit(self._turn)
        return await asyncio.wrap_future(waiting.result)

    def _turn(self) -> None:
        taken = self._taken()
        if not taken:
            return
        try:
            results = self._worker()([waiting.task for waiting in taken])
            if len(results) != len(taken):
                raise RuntimeError(f"{len(taken)} tasks have {len(results)} results")
        except BaseException as error:
            for waiting in taken:
                waiting.result.set_exception(error)
            return
        for waiting, result in zip(taken, results, strict=True):
            waiting.result.set_result(result)

    def _worker(self) -> Callable[[Sequence[Task]], Sequence[Result]]:
        if not hasattr(self._here, "work"):
            sit_at(self._here.device)
            self._here.work = self._begin(self._here.device)
        work: Callable[[Sequence[Task]], Sequence[Result]] = self._here.work
        return work

    def _taken(self) -> list[_Waiting[Task, Result]]:
        """The first task, and those after it that can be done with it; not what nobody waits for any more."""
        with self._changed:
            if self._most > 1 and self._waiting:
                self._changed.wait_for(lambda: not 0 < len(self._waiting) < self._most, _MOMENT)
            taken: list[_Waiting[Task, Result]] = []
            passed: list[_Waiting[Task, Result]] = []
            while self._waiting and len(taken) < self._most:
                waiting = self._waiting.popleft()
                if taken and self._alike(waiting.task) != self._alike(taken[0].task):
                    passed.append(waiting)
                elif waiting.result.set_running_or_notify_cancel():
                    taken.append(waiting)
            self._waiting.extendleft(reversed(passed))
            self._changed.notify_all()
            return taken


def _sit(here: local, seats: deque[str]) -> None:
    here.device = seats.popleft()
