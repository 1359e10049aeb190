"""Device pools for local models: one worker thread per device, a loading lock, and adaptive batches."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Condition, Event, local
from typing import Generic, NamedTuple, TypeVar

from formalimg.models.base import NotStartedError

PoolTask = TypeVar("PoolTask")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)

# messages of devices that have no exception of their own for it
_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")
_MARGIN = 0.8  # the part of the free memory that may be counted on: it is fragmented, and libraries take some too
# seconds that a free worker waits for more tasks: callers that got the answers of a batch mostly have the next at once
_BATCH_DELAY = 0.02

# While libraries load weights, they change torch for the whole process: the dtype of new tensors, and how modules keep
# their parameters. An image generated in another thread meanwhile could come out differently. So this is a
# readers-writer lock: many threads may run inference, or one may load.
_changed = Condition()
_computing = 0
_loading = 0  # number of threads that load, or wait to
_batches = 0  # number of threads that load weights or compute a batch, whether or not somebody waits for it


@contextmanager
def inference_allowed() -> Iterator[None]:
    """Block loading during inference. Many threads may run inference, but not while a model is loading."""
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
    """Load exclusively: wait for running inference to finish, and block further inference and loading."""
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


def has_work_under_way() -> bool:
    """Return whether a thread of any pool is busy, which would delay the exit of the process."""
    return _batches > 0


class _QueuedTask(NamedTuple, Generic[PoolTask, Result]):
    task: PoolTask
    result: Future[Result]
    abandoned: Event


class DevicePool(Generic[PoolTask, Result]):
    """Queue of tasks for several devices, each with a worker thread that processes the next batch when free."""

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
        """Run a task on the first free device, in order of arrival, and return its result."""
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
        """Cancel all tasks: queued tasks are not started, and running ones are abandoned at their next step."""
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
        """Raise `NotStartedError` if all tasks of the current batch have been abandoned."""
        if all(queued.abandoned.is_set() for queued in self._thread.batch):
            raise NotStartedError

    def _run_batch(self) -> None:
        batch = self._next_batch()
        if not batch:
            return
        global _batches
        self._thread.batch = batch
        try:
            with _changed:
                _batches += 1
            try:
                results = self._worker()([queued.task for queued in batch])
            finally:
                with _changed:
                    _batches -= 1
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
            import torch

            index = torch.device(self._thread.device).index
            if index is not None and not self._thread.device.startswith("cpu"):
                torch.accelerator.set_device_index(index)  # for libraries that do not specify a device
            self._thread.work = self._start(self._thread.device)
        work: Callable[[Sequence[PoolTask]], Sequence[Result]] = self._thread.work
        return work

    def _next_batch(self) -> list[_QueuedTask[PoolTask, Result]]:
        """Dequeue the first task and later ones with the same batch key, skipping cancelled tasks."""
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


class AdaptiveBatcher:
    """Runs work in batches that fit into memory, halving the batch size after each out-of-memory error."""

    def __init__(self, max_batch: int | None = None, *, gauge: CudaMemoryGauge | None = None, limit: int = 1) -> None:
        self.max_batch = max_batch
        self._gauge = gauge
        self._limit = limit

    def run(
        self, work: Callable[[Sequence[PoolTask]], Sequence[Result]], requests: Sequence[PoolTask], too_large: Result
    ) -> list[Result]:
        """Return the results of all requests, with `too_large` for a request that exceeds the memory by itself."""
        results: list[Result] = []
        while len(results) < len(requests):
            size = min(self.max_batch or len(requests), len(requests) - len(results))
            batch = requests[len(results) : len(results) + size]
            if self._gauge:
                self._gauge.begin()
            try:
                results.extend(work(batch))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            else:
                self._grow(size)
                continue
            # Only here, since the exception holds on to the memory of everything that was being computed.
            free_memory()
            _log.info("out of memory with a batch of %d", size)
            if size == 1:
                results.append(too_large)
            else:
                self.max_batch = self._limit = size // 2
        return results

    def _grow(self, size: int) -> None:
        """After a full batch, increase the batch size to the largest power of two that is estimated to fit."""
        if self._gauge is None or self.max_batch is None or size < self.max_batch:
            return
        # What all of a batch share counts as if each took it, so that this is on the safe side, less so with each step.
        fits = int(self._gauge.free() * _MARGIN * size / max(1, self._gauge.taken()))
        target = min(fits, self._limit)
        self.max_batch = max(self.max_batch, 1 << (target.bit_length() - 1) if target else 1)


class CudaMemoryGauge:
    """Measures the memory usage of a CUDA device."""

    def __init__(self, device: str, share: int = 1) -> None:
        self._device = device
        self._share = share
        self._before = self._free = 0

    def begin(self) -> None:
        """Start a measurement."""
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        self._before = torch.cuda.memory_allocated(self._device)
        cached_by_torch = torch.cuda.memory_reserved(self._device) - self._before
        self._free = int(torch.cuda.mem_get_info(self._device)[0]) + cached_by_torch

    def free(self) -> int:
        """Return the bytes that were free at the start, divided by the number of copies on the device."""
        return self._free // self._share

    def taken(self) -> int:
        """Return the peak memory usage since the start, in bytes, relative to the usage at the start."""
        import torch

        return int(torch.cuda.max_memory_allocated(self._device)) - self._before


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception is a device's out-of-memory error."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # the latter is torch's
        return True
    return isinstance(error, RuntimeError) and any(text in str(error).lower() for text in _OUT_OF_MEMORY)


def free_memory() -> None:
    """Release the accelerator memory that torch caches."""
    import torch

    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()
