"""Callers without an event loop share one in a thread, which ends with what it belongs to."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator

import pytest

from formalimg.rewards.scorer import BackgroundLoop


async def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_calls_share_a_loop_also_beside_one_that_runs() -> None:
    background = BackgroundLoop()
    first = background.run(_loop())

    async def notebook() -> None:
        assert background.run(_loop()) is first
        assert first is not asyncio.get_running_loop()

    asyncio.run(notebook())


def test_it_ends_with_its_owner_and_closes_what_is_open() -> None:
    closed = threading.Event()

    async def client() -> None:
        async def connection() -> AsyncIterator[None]:
            try:
                yield
            finally:
                closed.set()

        keep.append(connection())
        await anext(keep[0])

    keep: list[AsyncIterator[None]] = []
    background = BackgroundLoop()
    background.run(client())
    del background
    gc.collect()
    assert closed.wait(10)


def test_who_waits_for_itself_is_told() -> None:
    background = BackgroundLoop()

    async def judge() -> None:
        background.run(_loop())

    with pytest.raises(RuntimeError, match="use another scorer"):
        background.run(judge())
