"""Connections belong to an event loop: they are used again within it, and closed with it."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.models.providers.sdk import ClientPool, PerEventLoop
from formalimg.models.secrets import redact_known_keys
from formalimg.types import ImageModel
from tests.remote.knowing_server import painter
from tests.support.loopback import Loopback
from tests.support.remote_models import PLANTED, wait_for

pytestmark = pytest.mark.usefixtures("stand_alone")


async def _paint(model: ImageModel, count: int) -> list[ImageResult]:
    async def one(number: int) -> list[ImageResult]:
        return [answer async for answer in model.generate([ImageRequest("1", 0, f"Cup {number}.", 7, 64)])]

    return [answer for answers in await asyncio.gather(*map(one, range(count))) for answer in answers]


def test_one_model_in_several_loops_leaves_nothing_behind(
    caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    caplog.set_level(logging.WARNING)
    with Loopback(latency=0.05) as server:
        model = painter(server, concurrency="20")
        for _ in range(3):
            assert all(isinstance(answer, Generated) for answer in wait_for(_paint(model, 20)))
            gc.collect()
        for _ in range(2):  # also when nobody knows the model any more before its loop ends
            wait_for(_paint(painter(server), 2))
            gc.collect()
    assert server.most_at_once == 20
    assert caplog.records == []
    assert [str(warning.message) for warning in recwarn if "unclosed" in str(warning.message)] == []


class _Client:
    closed = False

    async def close(self) -> None:
        self.closed = True


def test_clients_are_as_few_as_will_do() -> None:
    opened: list[_Client] = []

    def connect() -> _Client:
        opened.append(_Client())
        return opened[-1]

    async def call(clients: ClientPool[_Client]) -> None:
        with clients.acquire():
            await asyncio.sleep(0.001)

    async def work() -> None:
        clients = kept.get()
        assert kept.get() is clients
        for at_once, expected in ((1, 1), (8, 1), (9, 2), (3, 2), (64, 8), (64, 8)):
            await asyncio.gather(*(call(clients) for _ in range(at_once)))
            assert len(opened) == expected
        assert not any(client.closed for client in opened)

    kept = PerEventLoop(lambda: ClientPool(connect), ClientPool.close)
    wait_for(work())
    assert all(client.closed for client in opened)
    assert len(opened) == 8


def test_a_client_whose_call_failed_takes_others() -> None:
    clients = ClientPool(_Client)
    with pytest.raises(ZeroDivisionError), clients.acquire():
        raise ZeroDivisionError
    with clients.acquire() as again:
        assert again is not None
        with clients.acquire() as another:
            assert another is again


def test_what_must_stay_as_it_came_loses_known_keys_only() -> None:
    said = '{"note": "***bold*** words, sk-of-somebody-else and hf_nobody12345"}'
    assert redact_known_keys(said) == said
    assert redact_known_keys(f'{{"note": "Bearer {PLANTED}", "more": 1}}') == '{"note": "Bearer ***", "more": 1}'
