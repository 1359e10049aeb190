"""Ray actors that hold an image model, a judge, or both, and the messages sent to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Generic, NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import ImageRequest, ImageResult
from formalimg.runs.inspection import inspect
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.parties import Reopenable
from formalimg.runs.ray.ray_cluster import ResourceRequest
from formalimg.types import Concurrent, ImageModel, Item, Judge, Setting, Unscored, Verdict

POLL_SECONDS = 5.0
"""Interval at which the cluster is checked for any machine that could hold a worker that does not start."""

NO_MACHINE_TIMEOUT = 60.0  # Seconds that a pool without workers waits for a machine that can hold one
_MAX_MESSAGE = 4_000  # Characters of the beginning and of the end of an error that ends the run
Component = TypeVar("Component", bound=Concurrent)


@dataclass(frozen=True)
class ComponentSpec(Generic[Component]):
    """A model or judge for workers to open, with its expected identity."""

    factory: Callable[[], Component]  # opens it
    name: str  # those it has where the run was started. Keys are made of them, so they must be the same
    settings: Mapping[str, Setting]

    @classmethod
    def of(cls, component: Reopenable[Component]) -> ComponentSpec[Component]:
        """Return the specification of an open component."""
        return cls(component.factory, component.instance.name, dict(component.instance.settings))

    def open(self) -> Component:
        """Open the component and check its identity."""
        component = self.factory()
        local, remote = {"name": component.name, **component.settings}, {"name": self.name, **self.settings}
        different = sorted(key for key in {*local, *remote} if local.get(key) != remote.get(key))
        if different:
            raise FormalimgError(
                f"{self.name} is not the same as where the run was started ({', '.join(different)} differ): use the "
                "same versions and files on all machines, and set what it would choose by itself, such as dtype"
            )
        return component


class WorkerSetup(NamedTuple):
    """The components that a worker opens at startup."""

    model: ComponentSpec[ImageModel] | None  # what it opens; None for nothing
    judge: ComponentSpec[Judge] | None
    version: str  # the version of formalimg that it must have
    folder: str  # the folder from which the run was started; it changes there if it exists, for files and `.env`


class WorkerFailure(NamedTuple):
    """A one-line error message without API keys, and whether the error ends the run."""

    message: str
    ends_run: bool = False


class GeneratedBatch(NamedTuple):
    """The answers to the first requests of a batch, and the failure that ended it."""

    answers: list[ImageResult]  # in the order of the requests
    failure: WorkerFailure | None = None  # why some are missing; None if none is
    batch: int = 1  # the batch size that the model prefers from now on


class WorkerVerdict(NamedTuple):
    """The verdict of a judge, or the failure that prevented it."""

    verdict: Verdict | Unscored | None
    failure: WorkerFailure | None = None


def failure_of(error: BaseException) -> WorkerFailure:
    """Convert an exception to a message that every process can deserialize."""
    if isinstance(error, FormalimgError):
        # Whole, as where there is no cluster: the end of our own messages says what to do.
        return WorkerFailure(one_line(str(error), _MAX_MESSAGE, _MAX_MESSAGE), ends_run=True)
    return WorkerFailure(error_text(error))


class Worker:
    """A Ray actor that runs concurrent calls in an event loop, up to the limits of its model and judge.

    Nothing is raised to the caller: errors are returned as messages without API keys that can be read everywhere.
    This goes for `sys.exit()` too: it would end the event loop and not the process, and no answer would ever come.
    """

    _model: ImageModel
    _judge: Judge

    async def start(self, setup: WorkerSetup) -> tuple[str, WorkerFailure | None]:
        """Open the model and judge, and return the host name and the failure, if any. Must be called first."""
        with contextlib.suppress(OSError):
            os.chdir(setup.folder)
        try:
            await asyncio.to_thread(self._open, setup)
        except BaseException as error:
            return platform.node(), failure_of(error)
        return platform.node(), None

    def _open(self, setup: WorkerSetup) -> None:
        installed = version("formalimg")
        if setup.version != installed:
            raise FormalimgError(
                f"it has formalimg {installed}, and the run was started with {setup.version}: install the same"
            )
        if setup.model:
            self._model = setup.model.open()
            self._generating = asyncio.Semaphore(max(1, self._model.concurrency))
        if setup.judge:
            self._judge = setup.judge.open()
            self._judging = asyncio.Semaphore(max(1, self._judge.concurrency))

    async def generate(self, requests: Sequence[ImageRequest]) -> GeneratedBatch:
        """Return the answers to the requests in order, up to the first failure."""
        answers: list[ImageResult] = []
        async with self._generating:
            try:
                async with aclosing(self._model.generate(requests)) as stream:  # type: ignore[type-var]
                    async for answer in stream:
                        answers.append(answer)  # noqa: PERF401 (those before an error count)
            except BaseException as error:
                return GeneratedBatch(answers, failure_of(error), self._model.batch)
        return GeneratedBatch(answers, batch=self._model.batch)

    async def judge(self, item: Item[object], data: bytes) -> WorkerVerdict:
        """Judge an image, passed as the encoded file from the image model."""
        async with self._judging:
            try:
                image: LoadedImage | Unscored = await asyncio.to_thread(inspect, data)
                return WorkerVerdict(image if isinstance(image, Unscored) else await self._judge.judge(item, image))
            except BaseException as error:
                return WorkerVerdict(None, failure_of(error))


class WorkerLostError(Exception):
    """Raised when a worker or its machine dies before the worker is ready."""


async def start_worker(
    setup: WorkerSetup, resources: ResourceRequest, calls: int, no_workers: Callable[[], bool]
) -> tuple[Any, str]:
    """Start a worker on any machine with capacity, wait until it is ready, and return its handle and host."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    actor = ray.remote(
        num_cpus=resources.cpus,
        num_gpus=resources.gpus,
        max_restarts=0,
        max_concurrency=calls + 1,
        scheduling_strategy="SPREAD",
    )(Worker)
    worker = actor.remote()
    try:
        host, failure = await _wait_unless_no_machine(worker.start.remote(setup), resources, no_workers)
        if failure:
            raise FormalimgError(f"the worker on {host} cannot begin: {failure.message}")
    except BaseException as error:
        end_worker(worker)
        if isinstance(error, RayTaskError):  # its setup cannot be deserialized there
            raise FormalimgError(f"a worker cannot begin: {failure_of(error).message}") from None
        if isinstance(error, RayError):
            raise WorkerLostError(failure_of(error).message) from None
        raise
    return worker, host


def end_worker(worker: Any) -> None:
    """Terminate a worker, whether busy, idle or already gone."""
    import ray

    if worker is not None:
        with contextlib.suppress(Exception):  # the cluster itself may be gone
            ray.kill(worker)


async def _wait_unless_no_machine(
    reference: Any, resources: ResourceRequest, no_workers: Callable[[], bool]
) -> tuple[str, WorkerFailure | None]:
    import ray

    async def result() -> Any:
        return await reference

    task = asyncio.create_task(result())
    waited = 0.0
    try:
        while not (await asyncio.wait({task}, timeout=min(POLL_SECONDS, NO_MACHINE_TIMEOUT)))[0]:
            no_machine = no_workers() and resources.fits(await asyncio.to_thread(ray.nodes)) == 0
            waited = waited + POLL_SECONDS if no_machine else 0.0
            if waited >= NO_MACHINE_TIMEOUT:
                raise FormalimgError(
                    f"no machine of the cluster can hold a worker that takes {resources}: start one that can, or ask "
                    "for less with --cpus-per-worker and --gpus-per-worker. What is done is kept"
                )
        status: tuple[str, WorkerFailure | None] = task.result()
        return status
    finally:
        task.cancel()
