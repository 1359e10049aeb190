"""Loading is done while nothing is computed.

While libraries load weights, they change torch for the whole process: what kind of numbers a new tensor gets, and how
modules keep their parameters. An image that is made in another thread meanwhile could come out differently.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition, local
from typing import Generic, NamedTuple, TypeVar

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.options import Options

_changed = Condition()
_computing = 0
_loading = 0
"""How many load, or wait to."""


@contextmanager
def computing() -> Iterator[None]:
    """Many may compute at the same time, but nobody while somebody loads, or waits for that."""
    global _computing
    with _changed:
        _changed.wait_for(lambda: not _loading)
        _computing += 1
    try:
        yield
    finally:
        with _changed:
            _computing -= 1
            _changed.notify_all()


@contextmanager
def loading_alone() -> Iterator[None]:
    """One loads at a time, when all that is being computed is done."""
    global _loading, _computing
    with _changed:
        _loading += 1
        _changed.wait_for(lambda: not _computing)
        _computing += 1  # so that nobody else begins to load either
    try:
        yield
    finally:
        with _changed:
            _computing -= 1
            _loading -= 1
            _changed.notify_all()


def read_device(given: Options) -> str:
    """The device that the option `device` asks for: the accelerator, if there is one, unless it says otherwise.

    Raises:
        FormalimgError: if it is not there.
    """
    return _usable("device", given.text("device", "auto"))


def read_devices(given: Options) -> tuple[str, ...]:
    """The devices that the options ask for, each with a copy of the weights: `device=…` for one, `devices=…` for more.

    Several are written as `0,1` (accelerators by their numbers), `all` (every accelerator) or by their names. One that
    is named twice gets two copies.

    Raises:
        FormalimgError: if one of them is not there, or they are of different kinds.
    """
    several = given.text("devices", None)
    if several is None:
        return (read_device(given),)
    one = given.text("device", None)
    if one is not None:
        raise FormalimgError(f"device={one} and devices={several} cannot both be had: give one of them")
    names = [name.strip() for name in several.split(",")]
    if names == ["all"]:
        return _all_accelerators()
    found = tuple(_usable("devices", _by_number(name, several) if name.isdecimal() else name) for name in names)
    if len({kind_of(device) for device in found}) > 1:
        raise FormalimgError(f"devices={several} are of different kinds, which compute differently: give one kind")
    return found


def kind_of(device: str) -> str:
    """Such as `cuda` or `cpu`, without a number."""
    return device.partition(":")[0]


def quick_dtype(devices: Sequence[str]) -> str:
    """The shortest numbers with which all of the devices are quick."""
    import torch

    if kind_of(devices[0]) != "cuda":
        return "float32"
    for device in devices:
        with torch.cuda.device(device):
            if not torch.cuda.is_bf16_supported(including_emulation=False):
                return "float16"
    return "bfloat16"


def sit_at(device: str) -> None:
    """Let the thread compute on this device wherever a library does not say on which; each thread has its own."""
    import torch

    index = torch.device(device).index
    if index is not None and kind_of(device) != "cpu":
        torch.accelerator.set_device_index(index)


def _accelerator() -> str | None:
    import torch

    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if accelerator is None else str(accelerator.type)


def _all_accelerators() -> tuple[str, ...]:
    import torch

    kind = _accelerator()
    if kind is None:
        return ("cpu",)
    return tuple(f"{kind}:{number}" for number in range(torch.accelerator.device_count()))


def _by_number(number: str, wished: str) -> str:
    kind = _accelerator()
    if kind is None:
        raise FormalimgError(f"devices={wished} cannot be used here, since there is no accelerator: leave it out")
    return f"{kind}:{number}"


def _usable(option: str, wished: str) -> str:
    import torch

    if wished == "auto":
        return _accelerator() or "cpu"
    try:
        torch.empty(1, device=wished)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = truncate(str(error).partition("\n")[0], 150, 0)
        raise FormalimgError(
            f"{option}={wished} cannot be used here ({why}): give auto, cpu, cuda, cuda:1 or mps"
        ) from None
    return wished


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
