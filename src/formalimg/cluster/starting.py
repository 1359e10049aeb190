"""Starting and ending workers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

from formalimg.cluster.demand import ResourceRequest
from formalimg.cluster.wanted import Greeting, Holding, trouble_of
from formalimg.cluster.worker import Worker
from formalimg.errors import FormalimgError

LOOK_AROUND = 5.0
"""So often, in seconds, is looked whether there is any machine for a worker that does not start."""

PATIENCE = 60.0
"""So long, in seconds, a crew without workers waits for a machine that can hold one."""


class Started(NamedTuple):
    """A worker that can be asked, and the machine it is on."""

    worker: Any
    host: str


class NotStartedError(Exception):
    """A worker did not come to say hello: it, or its machine, died before."""


async def start_worker(
    holding: Holding, demand: ResourceRequest, calls: int, nobody_there: Callable[[], bool]
) -> Started:
    """Start a worker where there is room, on as many machines as possible; waits until there is.

    Args:
        holding: what it is to hold.
        demand: what it takes of its machine.
        calls: how many calls it may have at a time.
        nobody_there: does the crew have no workers at all?

    Raises:
        NotStartedError: if it died before it could say hello.
        FormalimgError: if it cannot open what it is to hold; or if there are no workers and no machine for any.
    """
    import ray
    from ray.exceptions import RayError, RayTaskError

    actor = ray.remote(
        num_cpus=demand.cpus,
        num_gpus=demand.gpus,
        max_restarts=0,
        max_concurrency=calls + 1,
        scheduling_strategy="SPREAD",
    )(Worker)
    worker = actor.remote()
    try:
        host, trouble = await _unless_there_is_no_room(worker.hello.remote(holding), demand, nobody_there)
        if trouble:
            raise FormalimgError(f"the worker on {host} cannot begin: {trouble.told}")
    except BaseException as error:
        end_worker(worker)
        if isinstance(error, RayTaskError):  # what it was given cannot be read there
            raise FormalimgError(f"a worker cannot begin: {trouble_of(error).told}") from None
        if isinstance(error, RayError):
            raise NotStartedError(trouble_of(error).told) from None
        raise
    return Started(worker, host)


def end_worker(worker: Any) -> None:
    """End a worker, whatever it does and whether or not it is still there."""
    import ray

    if worker is not None:
        with contextlib.suppress(Exception):  # the cluster itself may be gone
            ray.kill(worker)


async def _unless_there_is_no_room(
    greeting: Any, demand: ResourceRequest, nobody_there: Callable[[], bool]
) -> Greeting:
    import ray

    came = asyncio.ensure_future(_result(greeting))
    waited = 0.0
    try:
        while not (await asyncio.wait({came}, timeout=min(LOOK_AROUND, PATIENCE)))[0]:
            homeless = nobody_there() and demand.fits(await asyncio.to_thread(ray.nodes)) == 0
            waited = waited + LOOK_AROUND if homeless else 0.0
            if waited >= PATIENCE:
                raise FormalimgError(
                    f"no machine of the cluster can hold a worker that takes {demand}: start one that can, or ask for "
                    "less with --cpus-per-worker and --gpus-per-worker. What is done is kept"
                )
        return came.result()
    finally:
        came.cancel()


async def _result(reference: Any) -> Greeting:
    greeting: Greeting = await reference
    return greeting
