"""When a pool is closed, nobody is left: not who is still starting, not who could not begin."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.models import small_items
from tests.support.run_contents import order, until

from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute
from formalimg.runs.ray.pool import WorkerPool, open_worker_pool
from tests_ray.models import Marked, of_this_process, opened_nowhere_else


@pytest.fixture
def member(cluster: Any, root: Path) -> Iterator[Any]:
    """This program is part of the cluster, before and after any pool: that it leaves must not be what ends workers."""
    import ray

    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield cluster
    finally:
        ray.shutdown()


async def ask(pool: WorkerPool) -> None:
    asked = order(pool.model, small_items(1))
    assert pool.model is not None
    async for _ in pool.model.generate([asked.requests.request(asked.items[0], 0, 1)]):
        pass


def nobody_is_left(log: Path) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in log.read_text().split())


def everything_is_free() -> bool:
    import ray

    return bool(ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"])


def test_workers_that_are_starting_are_ended_and_whoever_waits_for_them_is_told(member: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def close_while_they_start() -> None:
        with open_worker_pool(
            partial(opened_nowhere_else, str(log), os.getpid()), workers=2, address=member.address
        ) as pool:
            waiting = asyncio.create_task(ask(pool))
            await asyncio.to_thread(until, log.exists, 60)
        with pytest.raises(FormalimgError, match=r"ended: use pool\.model and pool\.judge inside the block"):
            await waiting
        await asyncio.to_thread(until, partial(nobody_is_left, log), 60)

    asyncio.run(close_while_they_start())


def test_workers_that_cannot_begin_are_ended_also_while_somebody_keeps_the_error(member: Any, tmp_path: Path) -> None:
    with (
        pytest.raises(FormalimgError, match="cannot begin") as kept,
        open_worker_pool(of_this_process, workers=2, address=member.address) as pool,
    ):
        execute(order(pool.model, small_items(4)), tmp_path / "run")
    until(everything_is_free, 60)
    assert kept.value.__traceback__ is not None, "by which it would hold on to a worker"


def test_who_is_asked_after_the_end_says_so_and_starts_nothing(member: Any, tmp_path: Path) -> None:
    with open_worker_pool(partial(Marked, str(tmp_path / "log")), workers=1, address=member.address) as pool:
        asyncio.run(ask(pool))
    with pytest.raises(FormalimgError, match="have been ended"):
        asyncio.run(ask(pool))
    until(everything_is_free, 60)
