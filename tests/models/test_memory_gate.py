"""Bytes that large answers and images reserve together: in turn, never more than there are, and given back."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from formalimg._util.memory_gate import MemoryGate
from formalimg.models.base import Failed
from formalimg.models.providers import limits
from formalimg.models.providers.openai import open_openai_images
from tests.support.loopback.hostile import HostileServer, whole
from tests.support.remote_calls import plant_keys
from tests.support.remote_models import request, stand_alone


def test_work_waits_in_turn_and_a_larger_piece_goes_alone() -> None:
    gate = MemoryGate(10)
    log: list[str] = []

    async def work(name: str, size: int) -> None:
        async with gate.reserve(size):
            log.append(f"{name} begins")
            await asyncio.sleep(0.01)
            log.append(f"{name} ends")

    async def all_work() -> None:
        await asyncio.gather(work("a", 6), work("b", 99), work("c", 4), work("d", 6))

    asyncio.run(all_work())
    assert log[:4] == ["a begins", "a ends", "b begins", "b ends"]
    assert sorted(log[4:6]) == ["c begins", "d begins"]


def test_who_is_cancelled_while_waiting_takes_nothing() -> None:
    gate = MemoryGate(10)

    async def all_work() -> None:
        release = await gate.acquire(10)
        waiting = [asyncio.create_task(gate.acquire(10)) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.gather(waiting[0], return_exceptions=True)
        release()
        (await asyncio.wait_for(waiting[1], 5))()
        (await asyncio.wait_for(gate.acquire(10), 5))()

    asyncio.run(all_work())


def test_a_thread_that_is_called_off_takes_nothing() -> None:
    gate = MemoryGate(10)
    release = gate.acquire_in_thread(10)

    def call_off() -> None:
        raise RuntimeError("nobody waits any more")

    with pytest.raises(RuntimeError, match="nobody waits"):
        gate.acquire_in_thread(10, call_off)
    release()
    gate.acquire_in_thread(10)()


class WatchedGate(MemoryGate):
    """A gate that counts who has passed it."""

    passed = held = most = 0

    async def acquire(self, size: int) -> Callable[[], None]:
        release = await super().acquire(size)
        self.passed += 1
        self.held += 1
        self.most = max(self.most, self.held)

        def leave() -> None:
            self.held -= 1
            release()

        return leave


def test_large_answers_of_a_server_are_read_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)
    gate = WatchedGate(7_000_000)
    monkeypatch.setattr(limits, "_IMAGE_ANSWERS", gate)
    body = json.dumps({"data": [{"b64_json": base64.b64encode(bytes(4_500_000)).decode()}]}).encode()
    with HostileServer(whole(body)) as server:
        model = open_openai_images("m", {"base_url": f"{server.url}/v1", "max_attempts": "1", "concurrency": "6"})

        async def ask() -> list[object]:
            return [answer async for answer in model.generate([request()])]

        async def ask_all() -> list[list[object]]:
            return await asyncio.gather(*(ask() for _ in range(6)))

        answers = asyncio.run(ask_all())
    assert (gate.passed, gate.held, gate.most) == (6, 0, 1)
    for (failed,) in answers:  # each was read to its end
        assert isinstance(failed, Failed)
        assert "what came is no PNG" in failed.reason
