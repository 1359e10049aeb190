"""A server that sends a byte now and then is given up in time, and the connection to it is closed."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from formalimg.models.base import CallError, Failed
from formalimg.models.providers.hf import ThreadCall, open_hf_images
from formalimg.types import ImageModel
from tests.support.loopback.hostile import Answer, HostileServer, drip, whole
from tests.support.remote_calls import CALLERS, plant_keys, why_it_failed
from tests.support.remote_models import answers, request, stand_alone, wait_for
from tests.support.run_contents import until
from tests.support.sizes import tries


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)


def _calls_under_way() -> int:
    return sum(thread.name == "model-call" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("caller", "headers_too"),
    [*((caller, False) for caller in list(CALLERS)[:: tries(2, 1)]), ("openai chat", True), ("hf images", True)],
)
def test_a_dripping_answer_is_given_up_in_time(caller: str, headers_too: bool) -> None:
    with HostileServer(whole(b"{}")) as server:
        assert why_it_failed(caller, server.url)  # after this, the library is loaded
    with HostileServer(drip(headers_too=headers_too)) as server:
        assert why_it_failed(caller, server.url, timeout="3") == "unavailable: no answer within 3 s"
        assert server.hung_up.wait(10), "the connection is still open"
    until(lambda: _calls_under_way() == 0)


def _address_of(image: bytes) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        host = handler.headers["host"]
        if handler.command == "GET" and "/api/models/" in handler.path:
            serving = {"status": "live", "task": "text-to-image", "providerId": "fal-ai/painter"}
            whole(f'{{"id": "m", "inferenceProviderMapping": {{"fal-ai": {_json(serving)}}}}}'.encode())(handler)
        elif handler.command == "GET":
            drip(head=image)(handler)
        else:
            entry = f'[{{"url": "http://{host}/image.png?signature=s"}}]'
            whole(f'{{"data": {entry}, "images": {entry}}}'.encode())(handler)

    return answer


def _json(value: object) -> str:
    return str(value).replace("'", '"')


def test_a_dripping_image_is_given_up_in_time() -> None:
    with HostileServer(_address_of(b"\x89PNG")) as server:
        reason = why_it_failed("openai images", server.url, timeout="3", response_format="url")
        assert reason == "unavailable: no answer within 3 s"
        assert server.hung_up.wait(10), "the connection is still open"
    assert [command for command, _, _ in server.came] == ["POST", "GET"]


def test_an_image_that_drips_behind_hugging_face_does_not_hold_up_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.inference._providers import _common
    from huggingface_hub.utils import _detect_agent

    monkeypatch.setattr(_detect_agent, "_registry", _detect_agent._EMPTY_REGISTRY)
    monkeypatch.setenv("HF_TOKEN", "hf_planted0a1b2c3d4e5f6789wxyz")  # with a key of theirs, it asks providers directly
    _common._fetch_inference_provider_mapping.cache_clear()
    steps: list[int] = []

    async def step_on() -> None:
        while True:
            steps.append(len(steps))
            await asyncio.sleep(0.01)

    async def both(model: ImageModel) -> object:
        stepping = asyncio.create_task(step_on())
        answer = await _first(model)
        stepping.cancel()
        return answer

    with HostileServer(_address_of(b"\x89PNG")) as server:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url)
        monkeypatch.setattr("huggingface_hub.constants.INFERENCE_PROXY_TEMPLATE", f"{server.url}/{{provider}}")
        model = open_hf_images("acme/painter", {"provider": "fal-ai", "max_attempts": "1", "timeout": "4"})
        answer = wait_for(both(model))
        assert server.hung_up.wait(10), "the connection is still open"
    _common._fetch_inference_provider_mapping.cache_clear()
    assert answer == Failed("unavailable: no answer within 4 s")
    assert len(steps) > 20
    assert server.came[-1][1] == "/image.png?signature=s"
    until(lambda: _calls_under_way() == 0)


def test_a_thread_ends_when_its_caller_is_cancelled() -> None:
    async def cancel(server: HostileServer) -> None:
        model = open_hf_images("m", {"base_url": server.url, "timeout": "600"})
        call = asyncio.create_task(_first(model))
        while not server.came:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with HostileServer(drip(seconds=0.2)) as server:
        wait_for(cancel(server))
        assert server.hung_up.wait(10), "the connection is still open"
    until(lambda: _calls_under_way() == 0)


async def _first(model: ImageModel) -> object:
    (answer,) = [answer async for answer in model.generate([request()])]
    return answer


def test_requests_of_others_with_the_same_client_have_no_limits() -> None:
    from huggingface_hub import get_session

    with HostileServer(whole(b"{}")) as server:
        assert answers(open_hf_images("m", {"base_url": server.url, "max_attempts": "1"}), [request()])
        assert server.came[0][2]["accept-encoding"] == "gzip"
        with get_session().stream("GET", server.url) as response:
            assert not response.is_stream_consumed
        assert server.came[1][2]["accept-encoding"] != "gzip"


def test_what_a_thread_raises_comes_out_and_its_time_is_limited() -> None:
    def fail() -> None:
        raise StopIteration

    async def call(function: object, timeout: float) -> object:
        return await ThreadCall(timeout, 1000).run(function)  # type: ignore[arg-type]

    with pytest.raises(RuntimeError, match="StopIteration"):
        wait_for(call(fail, 5))
    assert wait_for(call(lambda: 7, 5)) == 7
    release = threading.Event()
    with pytest.raises(CallError, match=r"no answer within 0\.2 s"):
        wait_for(call(lambda: release.wait(30), 0.2))
    release.set()
