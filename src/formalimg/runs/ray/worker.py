"""Workers: Ray actors that hold an image model, a judge, or both; how they are started, and what they are sent."""

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

NO_MACHINE_TIMEOUT = 60.0
"""Seconds that a pool without workers waits for a machine that can hold one."""

_MAX_MESSAGE = 4_000
"""Characters of the beginning and of the end of an error that ends the run."""

Component = TypeVar("Component", bound=Concurrent)


@dataclass(frozen=True)
class ComponentSpec(Generic[Component]):
    """A model or judge that each worker opens, and the identity that it must have there."""

    factory: Callable[[], Component]  # opens it
    name: str  # those it has where the run was started. Keys are made of them, so they must be the same
    settings: Mapping[str, Setting]

    @classmethod
    def of(cls, component: Reopenable[Component]) -> ComponentSpec[Component]:
        """Return the specification of what is open here."""
        return cls(component.factory, component.instance.name, dict(component.instance.settings))

    def open(self) -> Component:
        """Open it."""
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
    """Everything that a worker opens at its start."""

    model: ComponentSpec[ImageModel] | None  # what it opens; None for nothing
    judge: ComponentSpec[Judge] | None
    version: str  # the version of formalimg that it must have
    folder: str  # the folder from which the run was started; it changes there if it exists, for files and `.env`


class WorkerFailure(NamedTuple):
    """An error in one line without API keys, and whether it ends the whole run."""

    message: str
    ends_run: bool = False


class GeneratedBatch(NamedTuple):
    """The answers to the first requests of a batch, and why there are no more."""

    answers: list[ImageResult]  # in the order of the requests
    failure: WorkerFailure | None = None  # why some are missing; None if none is
    batch: int = 1  # the batch size that the model prefers from now on


class WorkerVerdict(NamedTuple):
    """The verdict of a judge, or why there is none."""

    verdict: Verdict | Unscored | None
    failure: WorkerFailure | None = None


def failure_of(error: BaseException) -> WorkerFailure:
    """Return an exception as a message. Exceptions themselves are not sent: their classes may be unknown elsewhere."""
    if isinstance(error, FormalimgError):
        # Whole, as where there is no cluster: the end of our own messages says what to do.
        return WorkerFailure(one_line(str(error), _MAX_MESSAGE, _MAX_MESSAGE), ends_run=True)
    return WorkerFailure(error_text(error))


class Worker:
    """Runs as a Ray actor, in an event loop: many calls may be under way, as many as model and judge allow.

    Nothing is raised to the caller: errors are returned as messages without API keys that can be read everywhere.
    This goes for `sys.exit()` too: it would end the event loop and not the process, and no answer would ever come.
    """

    _model: ImageModel
    _judge: Judge

    async def start(self, setup: WorkerSetup) -> tuple[str, WorkerFailure | None]:
        """Open model and judge; must be called first. Return the host, and why it cannot work, if it cannot."""
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
        """Return one answer for each request, in their order, as far as the model gets."""
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
        """Return the verdict on an image, given as the file that the image model returned."""
        async with self._judging:
            try:
                image: LoadedImage | Unscored = await asyncio.to_thread(inspect, data)
                return WorkerVerdict(image if isinstance(image, Unscored) else await self._judge.judge(item, image))
            except BaseException as error:
                return WorkerVerdict(None, failure_of(error))


class WorkerLostError(Exception):
    """A worker or its machine died before the worker was ready."""


async def start_worker(
    setup: WorkerSetup, resources: ResourceRequest, calls: int, no_workers: Callable[[], bool]
) -> tuple[Any, str]:
    """Start a worker where there is room, spread over the machines, and wait for it; return its handle and host."""
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
    """End a worker, whatever it does and whether or not it is still there."""
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
