"""A pool of workers with the same model and judge, which replaces lost workers and retries their calls."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, ImageRequest, ImageResult, NotStartedError, PremadeImageModel
from formalimg.runs.parties import Reopenable
from formalimg.runs.progress import Progress
from formalimg.runs.ray.worker import (
    ComponentSpec,
    GeneratedBatch,
    ResourceRequest,
    WorkerFailure,
    WorkerLostError,
    WorkerSetup,
    WorkerVerdict,
    connect,
    end_worker,
    failure_of,
    start_worker,
)
from formalimg.types import ImageModel, Item, Judge, Setting, Unscored, Verdict

_MAX_LISTED = 8
"""Up to this number of workers, rates are shown one by one; of more, the lowest and highest of each machine."""

_POLL_SECONDS = 0.5  # Interval at which a waiting call checks whether it is still needed


class WorkerRate(NamedTuple):
    """The throughput of a worker."""

    host: str  # its machine; empty as long as it has not started
    rate: float  # images and verdicts per second since it started


def format_rates(rates: Sequence[WorkerRate]) -> str:
    """Return the rates of all workers by machine, such as `3 workers: a 1.2 + 1.3/s, b 0.9/s; 1 starting`."""
    by_host: dict[str, list[float]] = defaultdict(list)
    for worker in rates:
        if worker.host:
            by_host[worker.host].append(worker.rate)
    starting = sum(not worker.host for worker in rates)
    parts = []
    for host, values in sorted(by_host.items()):
        each = " + ".join(f"{rate:.1f}" for rate in values)
        text = each if len(rates) <= _MAX_LISTED else f"{len(values)} × {min(values):.1f} to {max(values):.1f}"
        parts.append(f"{host} {text}/s")
    working = len(rates) - starting
    text = f"{working} worker{'s' * (working != 1)}" + (f": {', '.join(parts)}" if parts else "")
    return f"{text}; {starting} starting" if starting else text


@dataclass
class WorkerSlot:
    """A permanent slot for one worker, whose worker can be replaced."""

    worker: Any = None  # the Ray actor handle; None if there is none
    host: str = ""  # its machine; empty if there is none
    lost: asyncio.Event = field(default_factory=asyncio.Event)  # set when the worker no longer answers
    done: int = 0  # number of images and verdicts that came from it
    since: float = 0.0  # when it started
    failures: int = 0  # number of workers in a row that could not be started

    def assign(self, worker: Any, host: str) -> None:
        """Assign a ready worker to the slot."""
        self.worker, self.host, self.done, self.since, self.failures = worker, host, 0, time.monotonic(), 0

    def clear(self) -> Any:
        """Empty the slot and return its worker."""
        worker, self.worker, self.host = self.worker, None, ""
        return worker

    @property
    def rate(self) -> WorkerRate:
        """The throughput of the current worker."""
        seconds = time.monotonic() - self.since
        return WorkerRate(self.host, self.done / seconds if self.host and seconds else 0.0)


class CallSlot(NamedTuple):
    """Capacity for one call to a worker."""

    depth: int  # number of other calls the worker has when the call slots before this one are taken
    number: int  # orders call slots of the same depth
    slot: WorkerSlot  # whose it is, as long as that worker is in that slot
    worker: Any


class CallScheduler:
    """The available call slots of all workers."""

    def __init__(self) -> None:
        self._free: asyncio.PriorityQueue[CallSlot] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._ended: BaseException | None = None

    def add(self, slot: WorkerSlot, calls: int) -> None:
        """Add a worker with capacity for `calls` concurrent calls."""
        for depth in range(calls):
            self._free.put_nowait(CallSlot(depth, next(self._numbers), slot, slot.worker))

    def end(self, error: BaseException) -> None:
        """Raise the error in every waiting and future call."""
        self._ended = error
        self._free.put_nowait(_WAKE_UP)

    @asynccontextmanager
    async def next(self, is_needed: Callable[[], bool] = lambda: True) -> AsyncIterator[CallSlot]:
        """Wait for a call slot and yield it, releasing it after the block if the worker is still alive."""
        call = await self._take(is_needed)
        while self._ended is None and call.worker is not call.slot.worker:
            call = await self._take(is_needed)
        if self._ended is not None:
            self._free.put_nowait(_WAKE_UP)  # for the next who waits
            raise self._ended
        try:
            if not is_needed():
                raise NotStartedError
            yield call
        finally:
            if call.worker is call.slot.worker:
                self._free.put_nowait(call._replace(number=next(self._numbers)))

    async def _take(self, is_needed: Callable[[], bool]) -> CallSlot:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    return await self._free.get()
            if not is_needed():
                raise NotStartedError


_WAKE_UP = CallSlot(-1, -1, WorkerSlot(), None)


_MAX_FAILURES = 3  # After this number of workers in a row that could not be started, their slot stays empty
_RESTART_DELAY = 1.0
"""Seconds before a lost worker is replaced: the cluster needs a moment to notice a machine that died."""

_CLOSED = "these workers have been ended: use pool.model and pool.judge inside the block of open_worker_pool"

_log = logging.getLogger(__name__)


@contextmanager
def open_worker_pool(
    model: Reopenable[ImageModel] | Callable[[], ImageModel] | None = None,
    judge: Reopenable[Judge] | Callable[[], Judge] | None = None,
    *,
    workers: int | None = None,
    resources: ResourceRequest | None = None,
    address: str = "auto",
) -> Iterator[WorkerPool]:
    """Open a pool of Ray workers that all hold the same model, judge, or both."""
    resources = resources or ResourceRequest()
    if workers is not None and workers < 1:
        raise FormalimgError(f"invalid number of workers {workers}: give 1 or more")
    with connect(address):
        pool = WorkerPool(
            _pool_size(workers, resources),
            resources,
            Reopenable.open(model) if callable(model) else model,
            Reopenable.open(judge) if callable(judge) else judge,
        )
        try:
            yield pool
        finally:
            pool.close()


def _pool_size(workers: int | None, resources: ResourceRequest) -> int:
    import ray

    room = resources.fits(ray.nodes())
    if workers is None and room is None:
        raise FormalimgError("workers without CPU and GPU have no natural number: give --workers")
    if room == 0:
        raise FormalimgError(f"no machine of the cluster can hold a worker that takes {resources}: request less")
    return workers or room or 1


class WorkerPool:
    """A pool of workers on the connected Ray cluster, started by the first call."""

    def __init__(
        self,
        size: int,
        resources: ResourceRequest,
        model: Reopenable[ImageModel] | None = None,
        judge: Reopenable[Judge] | None = None,
    ) -> None:
        if model and isinstance(model.instance, PremadeImageModel):
            raise FormalimgError(f"{model.instance.name} serves images that exist already: it needs no workers")
        self.size = size
        # for a run, in place of those they stand for
        self.model = DistributedModel(self, model.instance) if model else None
        self.judge = DistributedJudge(self, judge.instance) if judge else None
        self._resources = resources
        self._setup = WorkerSetup(
            ComponentSpec.of(model) if model else None,
            ComponentSpec.of(judge) if judge else None,
            version("formalimg"),
            str(Path.cwd()),
        )
        self._calls = {
            "generate": max(1, model.instance.concurrency) + EXTRA_CALLS if model else 0,
            "judge": max(1, judge.instance.concurrency) + EXTRA_CALLS if judge else 0,
        }
        self._slots = [WorkerSlot() for _ in range(size)]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._progress: Progress | None = None

    def rates_text(self) -> str:
        """Return the throughput of each worker as text."""
        return format_rates([slot.rate for slot in self._slots])

    def watch_progress(self, progress: Progress) -> None:
        """Watch the progress, making no new calls once the run is stopped."""
        self._progress = progress

    async def generate(
        self, requests: Sequence[ImageRequest], *, alone: bool = False, begun: bool = False
    ) -> GeneratedBatch | None:
        """Generate images on a worker, or return None if the worker died."""
        batch = await self._call("generate", (requests,), len(requests), alone, begun)
        return GeneratedBatch([], batch) if isinstance(batch, WorkerFailure) else batch

    async def judge_image(self, item: Item[object], data: bytes, *, alone: bool = False) -> WorkerVerdict | None:
        """Judge an image file on a worker, or return None if the worker died."""
        verdict = await self._call("judge", (item, data), 1, alone, begun=False)
        return WorkerVerdict(None, verdict) if isinstance(verdict, WorkerFailure) else verdict

    def close(self) -> None:
        """End all workers, including those still starting, and reject further calls."""

        def cancel() -> None:
            for task in self._slot_tasks:
                task.cancel()
            for scheduler in self._schedulers.values():
                scheduler.end(FormalimgError(_CLOSED))

        self._closed = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # mostly the loop has ended, and all that ran in it
                self._loop.call_soon_threadsafe(cancel)
        for slot in self._slots:
            end_worker(slot.clear())

    async def _call(self, method: str, arguments: tuple[Any, ...], steps: int, alone: bool, begun: bool) -> Any:
        from ray.exceptions import RayError, RayTaskError

        self._begin()
        next_call = self._schedulers[method].next(lambda: begun or self._is_running)
        async with self._alone if alone else contextlib.nullcontext(), next_call as call:
            try:
                answer = await getattr(call.worker, method).remote(*arguments)
            except RayTaskError as error:  # such as an answer that cannot be serialized
                return failure_of(error.cause)
            except RayError:
                if call.slot.worker is call.worker:  # at once, so that nothing else is sent to it
                    end_worker(call.slot.clear())
                    call.slot.lost.set()
                return None
            call.slot.done += steps
            return answer

    def _begin(self) -> None:
        """Start the workers, or reuse running ones in a new event loop."""
        loop = asyncio.get_running_loop()
        if self._closed:
            raise FormalimgError(_CLOSED)  # Ray would start a cluster of its own for this call
        if loop is self._loop:
            return
        if self._loop is not None and self._loop.is_running():
            raise FormalimgError("these workers are busy with another run: wait for it to end, or open another pool")
        self._loop = loop
        self._alone = asyncio.Lock()
        self._schedulers = {method: CallScheduler() for method in self._calls}
        self._slot_tasks = [loop.create_task(self._keep_filled(slot)) for slot in self._slots]

    async def _keep_filled(self, slot: WorkerSlot) -> None:
        """Start a worker in the slot, and replace lost workers until starting fails too often."""
        calls = sum(self._calls.values())
        reason = ""
        slot.failures = 0
        try:
            while slot.failures < _MAX_FAILURES:
                if slot.worker is None:
                    try:
                        slot.assign(*await start_worker(self._setup, self._resources, calls, self._has_no_workers))
                    except WorkerLostError as error:
                        slot.failures += 1
                        reason = str(error)
                        _log.info("worker start %d of %d failed: %s", slot.failures, _MAX_FAILURES, reason)
                        continue
                slot.lost = asyncio.Event()
                for method, scheduler in self._schedulers.items():
                    scheduler.add(slot, self._calls[method])
                await slot.lost.wait()
                _log.info("a worker was lost and is replaced")
                await asyncio.sleep(_RESTART_DELAY)
            if all(worker_slot.failures >= _MAX_FAILURES for worker_slot in self._slots):
                raise FormalimgError(f"no worker can be started: {reason}")
        except Exception as error:
            # It concerns every image, so it ends the run; as another exception, each image would fail by it.
            if not isinstance(error, FormalimgError):
                error = FormalimgError(f"no worker can be started: {failure_of(error).message}")
            for scheduler in self._schedulers.values():
                scheduler.end(error)

    @property
    def _is_running(self) -> bool:
        return self._progress is None or not self._progress.stopped

    def _has_no_workers(self) -> bool:
        return all(slot.worker is None for slot in self._slots)


# --- a distributed model and judge: a run sees the same names, settings and keys

MAX_LOSSES = 3  # How often a request may be with a worker that dies. Then it is taken to be the reason
EXTRA_CALLS = 1  # Calls queued at a worker beyond those it can do at a time, so that it need not wait for the next


class _Distributed:
    def __init__(self, pool: WorkerPool, original: ImageModel | Judge) -> None:
        self._pool = pool
        self._original = original
        self.name: str = original.name
        self.settings: Mapping[str, Setting] = original.settings
        self.concurrency: int = pool.size * (max(1, original.concurrency) + EXTRA_CALLS)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the original component, such as the style of a model."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._original, name)

    def watch_progress(self, progress: Progress) -> None:
        """Watch the progress, queuing no new calls once the run is stopped."""
        self._pool.watch_progress(progress)


class DistributedModel(_Distributed):
    """An image model with a copy on each worker of a pool."""

    def __init__(self, pool: WorkerPool, model: ImageModel) -> None:
        super().__init__(pool, model)
        self.batch: int = model.batch  # the model's, or the largest that a worker has found to fit since
        self.sees_spec: bool = model.sees_spec

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order."""
        results: list[ImageResult] = []
        failure: FormalimgError | None = None
        try:
            await self._collect(requests, results, 0)
        except FormalimgError as error:
            failure = error
        for result in results:  # also before the run ends: they may be paid for
            yield result
        if failure:
            raise failure

    async def _collect(
        self, requests: Sequence[ImageRequest], results: list[ImageResult], losses: int, *, begun: bool = False
    ) -> None:
        """Append a result for each request in order, retrying after lost workers and failed batches."""
        # The last retry is without other such retries beside: a request that kills workers must not take others along.
        batch = await self._pool.generate(requests, alone=losses == MAX_LOSSES - 1, begun=begun)
        if batch is None:
            _log.info("a worker died with %d images: loss %d of %d", len(requests), losses + 1, MAX_LOSSES)
            if losses + 1 < MAX_LOSSES:
                await self._collect(requests, results, losses + 1, begun=begun)
            elif len(requests) == 1:
                results.append(Failed(f"{MAX_LOSSES} workers in a row crashed while generating this image"))
            else:
                await self._collect_halves(requests, results, MAX_LOSSES - 1)
            return
        answers, failure, batch_size = batch
        self.batch = max(self.batch, batch_size)
        if len(answers) > len(requests):
            raise FormalimgError(
                f"{self.name} gave {len(answers)} images instead of the {len(requests)} requested, so they cannot be "
                "matched: fix the model, then start a new run"
            )
        results += answers
        if failure and failure.ends_run:
            raise FormalimgError(failure.message)
        remaining = requests[len(answers) :]
        if remaining and failure and len(requests) > 1:
            _log.info("retrying %d images in halves: %s", len(remaining), failure.message)
            await self._collect_halves(remaining, results, losses)
        else:
            reason = failure.message if failure else "the model gave no answer"
            results += [Failed(reason) for _ in remaining]

    async def _collect_halves(self, requests: Sequence[ImageRequest], results: list[ImageResult], losses: int) -> None:
        half = (len(requests) + 1) // 2
        for part in (requests[:half], requests[half:]):
            if part:
                await self._collect(part, results, losses, begun=True)


class DistributedJudge(_Distributed):
    """A judge with a copy on each worker of a pool."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge an image on the next available worker."""
        for losses in range(MAX_LOSSES):
            answer = await self._pool.judge_image(item, image.data, alone=losses == MAX_LOSSES - 1)
            if answer is None:
                _log.info("a worker died with an image to judge: loss %d of %d", losses + 1, MAX_LOSSES)
                continue
            verdict, failure = answer
            if verdict is not None:
                return verdict
            if failure and failure.ends_run:
                raise FormalimgError(failure.message)
            return Unscored("judge failed", failure.message if failure else "the judge gave no verdict")
        return Unscored("judge failed", f"{MAX_LOSSES} workers in a row crashed while judging this image")
