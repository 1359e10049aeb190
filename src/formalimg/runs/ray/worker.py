"""Workers: Ray actors that hold an image model, a judge, or both; and how they are started and ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import ImageRequest, ImageResult
from formalimg.runs.inspection import inspect
from formalimg.runs.ray.messages import (
    GeneratedBatch,
    JudgedImage,
    WorkerSetup,
    WorkerStatus,
    failure_of,
    installed_version,
)
from formalimg.runs.ray.ray_cluster import ResourceRequest
from formalimg.types import ImageModel, Item, Judge, Unscored

POLL_SECONDS = 5.0
"""Interval at which the cluster is checked for any machine that could hold a worker that does not start."""

NO_MACHINE_TIMEOUT = 60.0
"""Seconds that a pool without workers waits for a machine that can hold one."""


class Worker:
    """Runs as a Ray actor, in an event loop: many calls may be under way, as many as model and judge allow.

    Nothing is raised to the caller: errors are returned as messages without API keys that can be read everywhere.
    This goes for `sys.exit()` too: it would end the event loop and not the process, and no answer would ever come.
    """

    _model: ImageModel
    _judge: Judge

    async def start(self, setup: WorkerSetup) -> WorkerStatus:
        """Open model and judge; must be called first."""
        host = platform.node()
        with contextlib.suppress(OSError):
            os.chdir(setup.folder)
        try:
            await asyncio.to_thread(self._open, setup)
        except BaseException as error:
            return WorkerStatus(host, failure_of(error))
        return WorkerStatus(host)

    def _open(self, setup: WorkerSetup) -> None:
        here = installed_version()
        if setup.version != here:
            raise FormalimgError(
                f"it has formalimg {here}, and the run was started with {setup.version}: install the same"
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

    async def judge(self, item: Item[object], data: bytes) -> JudgedImage:
        """Return the verdict on an image, given as the file that the image model returned."""
        async with self._judging:
            try:
                image: LoadedImage | Unscored = await asyncio.to_thread(inspect, data)
                return JudgedImage(image if isinstance(image, Unscored) else await self._judge.judge(item, image))
            except BaseException as error:
                return JudgedImage(None, failure_of(error))


class StartedWorker(NamedTuple):
    """The actor handle of a worker that is ready, and its machine."""

    worker: Any
    host: str


class WorkerLostError(Exception):
    """A worker or its machine died before the worker was ready."""


async def start_worker(
    setup: WorkerSetup, resources: ResourceRequest, calls: int, no_workers: Callable[[], bool]
) -> StartedWorker:
    """Start a worker where there is room, spread over the machines; waits until there is room."""
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
        host, failure = await _unless_no_machine(worker.start.remote(setup), resources, no_workers)
        if failure:
            raise FormalimgError(f"the worker on {host} cannot begin: {failure.message}")
    except BaseException as error:
        end_worker(worker)
        if isinstance(error, RayTaskError):  # its setup cannot be deserialized there
            raise FormalimgError(f"a worker cannot begin: {failure_of(error).message}") from None
        if isinstance(error, RayError):
            raise WorkerLostError(failure_of(error).message) from None
        raise
    return StartedWorker(worker, host)


def end_worker(worker: Any) -> None:
    """End a worker, whatever it does and whether or not it is still there."""
    import ray

    if worker is not None:
        with contextlib.suppress(Exception):  # the cluster itself may be gone
            ray.kill(worker)


async def _unless_no_machine(status: Any, resources: ResourceRequest, no_workers: Callable[[], bool]) -> WorkerStatus:
    import ray

    started = asyncio.ensure_future(_result(status))
    waited = 0.0
    try:
        while not (await asyncio.wait({started}, timeout=min(POLL_SECONDS, NO_MACHINE_TIMEOUT)))[0]:
            no_machine = no_workers() and resources.fits(await asyncio.to_thread(ray.nodes)) == 0
            waited = waited + POLL_SECONDS if no_machine else 0.0
            if waited >= NO_MACHINE_TIMEOUT:
                raise FormalimgError(
                    f"no machine of the cluster can hold a worker that takes {resources}: start one that can, or ask "
                    "for less with --cpus-per-worker and --gpus-per-worker. What is done is kept"
                )
        return started.result()
    finally:
        started.cancel()


async def _result(reference: Any) -> WorkerStatus:
    status: WorkerStatus = await reference
    return status
