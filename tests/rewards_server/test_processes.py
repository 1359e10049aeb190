"""Grounders in processes that may die, and the executor of short work."""

from __future__ import annotations

import asyncio
import contextlib
import io
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from formalimg.drawing.icon_scene import draw
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_grounder
from formalimg.rewards.server.processes import ProcessGrounder
from formalimg.rewards.server.request_scoring import BatchExecutor
from formalimg.runs.inspection import inspect
from tests.rewards_server.servers import knolling


def _image() -> LoadedImage:
    file = io.BytesIO()
    draw(knolling()[500].spec.witness, 128).save(file, "PNG")
    found = inspect(file.getvalue())
    assert isinstance(found, LoadedImage)
    return found


def test_an_image_is_looked_at_again_and_the_others_end_too() -> None:
    image, before = _image(), set(multiprocessing.active_children())
    grounder = ProcessGrounder("builtin/icons", 2)
    try:
        asyncio.run(grounder.warm_up())
        first, second = set(multiprocessing.active_children()) - before
        first.kill()
        first.join()
        found = asyncio.run(grounder.ground(image, ["cup"]))
        assert isinstance(found, Grounding)
        assert found == asyncio.run(open_grounder("builtin/icons").ground(image, ["cup"]))
        second.join(30)
        left = second.is_alive()
        second.kill()  # so that the test ends even where it fails
        assert not left
    finally:
        grounder.close()
    assert set(multiprocessing.active_children()) == before


def _die(data: bytes, classes: Sequence[str]) -> None:
    os._exit(1)


def test_an_image_that_kills_whoever_looks_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.rewards.server.processes._ground_in_worker", _die)
    grounder = ProcessGrounder("builtin/icons", 1)
    try:
        with pytest.raises(RuntimeError, match="all processes that judged this image crashed"):
            asyncio.run(grounder.ground(_image(), ["cup"]))
    finally:
        grounder.close()


THREAD = "formalimg-batches"


class Gate:
    def __init__(self, *closed: int) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        self.done: dict[int, str] = {}
        self._closed = closed

    def __call__(self, number: int) -> int:
        if number in self._closed:
            self.reached.set()
            assert self.open.wait(30)
        if number < 0:
            raise ValueError(f"no work for {number}")
        self.done[number] = threading.current_thread().name
        return 2 * number

    def by_the_executor(self, number: int) -> bool:
        return self.done[number].startswith(THREAD)


@contextlib.contextmanager
def an_executor(work: Callable[[int], int]) -> Iterator[BatchExecutor[int, int]]:
    executor = BatchExecutor(work)
    yield executor
    executor.close()


def test_long_work_holds_up_neither_those_before_it_nor_those_behind_it() -> None:
    work = Gate(2)

    async def ask() -> None:
        with an_executor(work) as executor:
            asked = [asyncio.create_task(executor.submit(number)) for number in range(20)]
            others = [task for number, task in enumerate(asked) if number != 2]
            assert await asyncio.gather(*others) == [2 * number for number in range(20) if number != 2]
            assert await executor.submit(50) == 100  # while it is still blocked
            assert not asked[2].done()
            work.open.set()
            assert await asked[2] == 4
            for number in range(100, 1000):  # the executor is used again
                assert await executor.submit(number) == 2 * number
                if work.by_the_executor(number):
                    break
            else:
                raise AssertionError(work.done)

    asyncio.run(ask())


def test_what_is_given_up_before_it_is_begun_is_not_done() -> None:
    work = Gate(0)

    async def ask() -> None:
        with an_executor(work) as executor:
            first, given_up, last = (asyncio.create_task(executor.submit(number)) for number in range(3))
            await asyncio.to_thread(work.reached.wait, 30)
            given_up.cancel()
            work.open.set()
            assert (await first, await last) == (0, 4)
            with pytest.raises(asyncio.CancelledError):
                await given_up

    asyncio.run(ask())
    assert sorted(work.done) == [0, 2]
