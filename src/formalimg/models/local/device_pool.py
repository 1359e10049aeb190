"""Device pool of local models: one worker thread per device, and a lock between loading and inference."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Condition, Event, local
from typing import Generic, NamedTuple, TypeVar

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import NotStartedError
from formalimg.models.options import Options

PoolTask = TypeVar("PoolTask")
Result = TypeVar("Result")

_BATCH_DELAY = 0.02
"""Seconds that a free worker waits for more tasks, if it can do several at once: the callers that got the answers of a
batch mostly have the next question at once."""

# While libraries load weights, they change torch for the whole process: the dtype of new tensors, and how modules keep
# their parameters. An image generated in another thread meanwhile could come out differently. So this is a
# readers-writer lock: many threads may run inference, or one may load.
_changed = Condition()
_computing = 0
_loading = 0
"""Number of threads that load, or wait to."""


@contextmanager
def inference_allowed() -> Iterator[None]:
    """Hold off loading during inference. Many threads may hold this, but none while one loads or waits to load."""
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
def exclusive_loading() -> Iterator[None]:
    """Load alone: wait until all inference is done, and hold off further inference and loading."""
    global _loading, _computing
    with _changed:
        _loading += 1
        _changed.wait_for(lambda: not _computing)
        _computing += 1  # so that no other thread begins to load either
    try:
        yield
    finally:
        with _changed:
            _computing -= 1
            _loading -= 1
            _changed.notify_all()


_batches = 0
"""Number of threads that load weights or compute a batch, whether or not somebody waits for it."""


@contextmanager
def _counted() -> Iterator[None]:
    global _batches
    with _changed:
        _batches += 1
    try:
        yield
    finally:
        with _changed:
            _batches -= 1


def has_work_under_way() -> bool:
    """Return whether a thread of any pool is busy; Python would wait for it before the process ends."""
    return _batches > 0


class _QueuedTask(NamedTuple, Generic[PoolTask, Result]):
    task: PoolTask
    result: Future[Result]
    abandoned: Event


class DevicePool(Generic[PoolTask, Result]):
    """Queue of tasks for several devices: each device has a worker thread, and a free worker takes the next batch."""

    def __init__(
        self,
        name: str,
        devices: Sequence[str],
        start: Callable[[str], Callable[[Sequence[PoolTask]], Sequence[Result]]],
        *,
        max_batch: int = 1,
        batch_key: Callable[[PoolTask], object] = lambda task: None,
    ) -> None:
        """Create a pool with an empty queue."""
        self._start = start
        self._max_batch = max_batch
        self._batch_key = batch_key
        self._queue: deque[_QueuedTask[PoolTask, Result]] = deque()
        self._running: list[_QueuedTask[PoolTask, Result]] = []
        self._changed = Condition()
        self._thread = local()
        # Threads that do not refer to the pool end when it is garbage collected, and what they hold is freed.
        self._threads = ThreadPoolExecutor(len(devices), name, _assign_device, (self._thread, deque(devices)))

    async def run(self, task: PoolTask) -> Result:
        """Return the result of a task, from the first free device; first come, first served."""
        queued = _QueuedTask[PoolTask, Result](task, Future(), Event())
        with self._changed:
            self._queue.append(queued)
            self._changed.notify_all()
        # One job per task: a job that takes several tasks leaves empty jobs over.
        self._threads.submit(self._run_batch)
        try:
            return await asyncio.wrap_future(queued.result)
        finally:
            queued.abandoned.set()

    def interrupt(self) -> None:
        """Give up all tasks: those that wait are not begun, and nobody waits for the next step of those under way."""
        with self._changed:
            waiting, running = list(self._queue), self._running
            self._queue.clear()
            self._running = []
        for queued in waiting:
            if queued.result.set_running_or_notify_cancel():
                queued.result.set_exception(NotStartedError())
        for queued in running:
            queued.abandoned.set()
            with suppress(InvalidStateError):  # it has just ended
                queued.result.set_exception(NotStartedError())

    def require_wanted(self) -> None:
        """Look, from within a task, whether anybody still waits for this batch."""
        if all(queued.abandoned.is_set() for queued in self._thread.batch):
            raise NotStartedError

    def _run_batch(self) -> None:
        batch = self._next_batch()
        if not batch:
            return
        self._thread.batch = batch
        try:
            with _counted():
                results = self._worker()([queued.task for queued in batch])
            if len(results) != len(batch):
                raise RuntimeError(f"{len(batch)} tasks have {len(results)} results")
        except BaseException as error:
            for queued in batch:
                with suppress(InvalidStateError):  # it was given up
                    queued.result.set_exception(error)
            return
        finally:
            with self._changed:
                self._running = [queued for queued in self._running if queued not in batch]
        for queued, result in zip(batch, results, strict=True):
            with suppress(InvalidStateError):
                queued.result.set_result(result)

    def _worker(self) -> Callable[[Sequence[PoolTask]], Sequence[Result]]:
        if not hasattr(self._thread, "work"):
            set_thread_device(self._thread.device)
            self._thread.work = self._start(self._thread.device)
        work: Callable[[Sequence[PoolTask]], Sequence[Result]] = self._thread.work
        return work

    def _next_batch(self) -> list[_QueuedTask[PoolTask, Result]]:
        """Take the first task, and later ones with the same batch key; skip cancelled tasks."""
        with self._changed:
            if self._max_batch > 1 and self._queue:
                self._changed.wait_for(lambda: not 0 < len(self._queue) < self._max_batch, _BATCH_DELAY)
            batch: list[_QueuedTask[PoolTask, Result]] = []
            skipped: list[_QueuedTask[PoolTask, Result]] = []
            while self._queue and len(batch) < self._max_batch:
                queued = self._queue.popleft()
                if batch and self._batch_key(queued.task) != self._batch_key(batch[0].task):
                    skipped.append(queued)
                elif queued.result.set_running_or_notify_cancel():
                    batch.append(queued)
            self._queue.extendleft(reversed(skipped))
            self._running += batch
            self._changed.notify_all()
            return batch


def _assign_device(thread: local, devices: deque[str]) -> None:
    thread.device = devices.popleft()


def read_device(given: Options) -> str:
    """Return the device of the option `device`: by default the accelerator, if there is one."""
    return _check_device("device", given.text("device", "auto"))


def read_devices(given: Options) -> tuple[str, ...]:
    """Return the devices of the options `device` (one) or `devices` (several, each with a copy of the weights).

    Several are written as `0,1` (accelerators by their numbers), `all` (every accelerator) or by their names. A device
    that is listed twice gets two copies.
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
    found = tuple(_check_device("devices", _by_number(name, several) if name.isdecimal() else name) for name in names)
    if len({device_type(device) for device in found}) > 1:
        raise FormalimgError(f"devices={several} are of different kinds, which compute differently: give one kind")
    return found


def device_type(device: str) -> str:
    """Return the type of a device, such as `cuda` or `cpu`, without a number."""
    return device.partition(":")[0]


def default_dtype(devices: Sequence[str]) -> str:
    """Return the shortest dtype that is fast on all of the devices."""
    import torch

    if device_type(devices[0]) != "cuda":
        return "float32"
    for device in devices:
        with torch.cuda.device(device):
            if not torch.cuda.is_bf16_supported(including_emulation=False):
                return "float16"
    return "bfloat16"


def set_thread_device(device: str) -> None:
    """Make a device the current one of this thread, for libraries that do not name one."""
    import torch

    index = torch.device(device).index
    if index is not None and device_type(device) != "cpu":
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


def _by_number(number: str, devices: str) -> str:
    kind = _accelerator()
    if kind is None:
        raise FormalimgError(f"devices={devices} cannot be used here, since there is no accelerator: leave it out")
    return f"{kind}:{number}"


def _check_device(option: str, device: str) -> str:
    import torch

    if device == "auto":
        return _accelerator() or "cpu"
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = truncate(str(error).partition("\n")[0], 150, 0)
        raise FormalimgError(
            f"{option}={device} cannot be used here ({why}): give auto, cpu, cuda, cuda:1 or mps"
        ) from None
    return device
