"""Faults of OpenAI and compatible servers, and keys in them."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Failed, Generated, ImageResult, Refused, Usage
from formalimg.models.providers.anthropic import open_anthropic_chat
from formalimg.models.providers.openai import OpenAIChat, OpenAIImages, open_openai_chat, open_openai_images
from formalimg.models.providers.sdk import connect_openai
from formalimg.types import ChatModel, ImageModel
from tests.support.loopback import Dialect, Fault, Loopback, Wish, at_random, scripted
from tests.support.loopback.images import painted
from tests.support.loopback.openai import OPENAI
from tests.support.remote_models import CONVERSATION, PLANTED, answers, request, wait_for
from tests.support.sizes import tries

pytestmark = pytest.mark.usefixtures("stand_alone")

EVERY = [
    ("429", "busy"),
    ("500", "unavailable"),
    ("503", "unavailable"),
    ("409", "unavailable"),
    ("hang", "unavailable"),
    ("reset", "unavailable"),
    ("empty", "wrong"),
    ("html", "wrong"),
    ("truncated", "wrong"),
    ("schema", "wrong"),
    ("400", "rejected"),
    ("422", "rejected"),
]


def _paint_failing(server: Loopback, timeout: float = 0.3) -> CallError:
    provider = OpenAIImages("gpt-image-1", connect_openai("openai/gpt-image-1", f"{server.url}/v1", timeout))
    with pytest.raises(CallError) as caught:
        wait_for(provider.complete(request()))
    return caught.value


def _ask_failing(server: Loopback) -> CallError:
    provider = OpenAIChat("gpt-4.1", connect_openai("openai/gpt-4.1", f"{server.url}/v1", timeout=0.3))
    with pytest.raises(CallError) as caught:
        wait_for(provider.complete(CONVERSATION, {"type": "object"}))
    return caught.value


@pytest.mark.parametrize(("fault", "expected"), [*EVERY, ("no image", "wrong"), ("text", "wrong")])
def test_faults_of_image_calls(fault: str, expected: str) -> None:
    with Loopback(faults=scripted([fault])) as server:
        error = _paint_failing(server)
    assert (error.kind, len(server.requests)) == (expected, 1)
    assert error.reason.isprintable()
    assert len(error.reason) < 400


@pytest.mark.parametrize(("fault", "expected"), [*EVERY, ("no text", "wrong")])
def test_faults_of_chat_calls(fault: str, expected: str) -> None:
    with Loopback(faults=scripted([fault])) as server:
        error = _ask_failing(server)
    assert (error.kind, len(server.requests)) == (expected, 1)
    assert error.usage == (Usage(100, 20) if fault == "no text" else Usage())


@pytest.mark.parametrize("fault", ["refusal", "old refusal"])
def test_moderation_is_a_refusal_and_not_tried_again(fault: str) -> None:
    with Loopback(faults=scripted([fault])) as server:
        model = open_openai_images("gpt-image-1", {"base_url": f"{server.url}/v1"})
        (answer,) = answers(model, [request()])
    assert isinstance(answer, Refused)
    assert answer.reason.startswith("400: ")
    assert len(server.requests) == 1


def test_a_content_type_that_is_wrong_does_not_matter_if_the_answer_is_right() -> None:
    with Loopback(faults=scripted(["wrong type"])) as server:
        provider = OpenAIImages("gpt-image-1", connect_openai("openai/gpt-image-1", f"{server.url}/v1", 5))
        assert wait_for(provider.complete(request())).data == painted(Wish("", "A red cup."))


@pytest.mark.parametrize(("header", "expected"), [("3", 3.0), ("0.25", 0.25), (None, None), ("soon", None)])
def test_the_wish_to_be_left_alone_is_passed_on(header: str | None, expected: float | None) -> None:
    with Loopback(faults=scripted([Fault("429", retry_after=header)])) as server:
        assert _paint_failing(server).retry_after == expected


def test_nobody_listening_is_an_outage_that_names_the_place() -> None:
    provider = OpenAIImages("gpt-image-1", connect_openai("openai/gpt-image-1", "http://127.0.0.1:9/v1", 1))
    with pytest.raises(CallError, match=r"127\.0\.0\.1:9") as caught:
        wait_for(provider.complete(request()))
    assert caught.value.kind == "unavailable"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("401", message="Incorrect API key provided"), "OPENAI_API_KEY"),
        (Fault("403", message="your organization must be verified"), "must be verified"),
        (Fault("404", message="no such model"), "openai/gpt-image-1"),
        (Fault("429", code="insufficient_quota", message="You exceeded your current quota"), "out of money"),
        (Fault("400", code="billing_hard_limit_reached", message="Billing hard limit"), "out of money"),
        (Fault("402", message="pay first"), "out of money"),
    ],
)
def test_what_no_call_can_mend_ends_the_run_with_advice(fault: Fault, said: str) -> None:
    with Loopback(faults=scripted([fault])) as server:
        model = open_openai_images("gpt-image-1", {"base_url": f"{server.url}/v1"})
        with pytest.raises(FormalimgError, match=said):
            answers(model, [request()])
    assert len(server.requests) == 1


def test_an_error_inside_an_answer_of_status_200_is_an_error() -> None:
    busy = {"error": {"code": 429, "message": "slow down"}}
    with Loopback(faults=scripted([Fault("200")]), dialects=_always(busy)) as server:
        assert _paint_failing(server).kind == "busy"
    with Loopback(faults=scripted([Fault("200")]), dialects=_always({"error": "upstream is away"})) as server:
        assert _paint_failing(server).kind == "unavailable"


def _always(value: object) -> list[Dialect]:
    return [OPENAI._replace(error=lambda status, code, message: value)]


@pytest.mark.parametrize("fault", ["429", "500", "hang", "reset", "empty", "html", "truncated", "schema", "text"])
def test_a_fault_that_passes_leaves_no_trace(fault: str) -> None:
    timeout = "0.3" if fault == "hang" else "20"  # the others must not be late by the clock
    with Loopback(faults=scripted([fault, fault])) as server:
        options = {"base_url": f"{server.url}/v1", "initial_backoff": "0", "timeout": timeout, "max_attempts": "3"}
        (answer,) = answers(open_openai_images("gpt-image-1", options), [request()])
    assert isinstance(answer, Generated)
    assert answer.data == painted(Wish("", "A red cup."))
    assert len(server.requests) == 3


def test_a_fault_that_stays_fails_with_its_name() -> None:
    with Loopback(faults=lambda number: Fault("503")) as server:
        options = {"base_url": f"{server.url}/v1", "initial_backoff": "0", "max_attempts": "4"}
        (answer,) = answers(open_openai_images("gpt-image-1", options), [request()])
    assert isinstance(answer, Failed)
    assert answer.reason.startswith("unavailable: 503")
    assert len(server.requests) == 4


def test_a_storm_of_faults_costs_no_image_and_mixes_none_up() -> None:
    kinds = ["429", "500", "reset", "empty", "html", "truncated", "schema", "refusal", "url"]
    requests = [request(f"Image {number}.") for number in range(tries(80, 200))]
    with Loopback(faults=at_random(0.3, kinds, seed=5), latency=0.002) as server:
        options = {"base_url": f"{server.url}/v1", "initial_backoff": "0", "max_attempts": "20", "concurrency": "16"}
        model = open_openai_images("gpt-image-1", options)
        made = wait_for(_all_at_once(model, [asked.prompt for asked in requests], 16))
    kinds_of_answer = Counter(type(answer) for answer in made)
    assert kinds_of_answer.keys() == {Generated, Refused}
    assert kinds_of_answer.total() == len(requests)
    for asked, answer in zip(requests, made, strict=True):
        if isinstance(answer, Generated):
            assert answer.data == painted(Wish("", asked.prompt))
    assert server.most_at_once > 4


async def _all_at_once(model: ImageModel, prompts: list[str], width: int) -> list[ImageResult]:
    gate = asyncio.Semaphore(width)

    async def one(prompt: str) -> ImageResult:
        async with gate:
            (answer,) = [answer async for answer in model.generate([request(prompt)])]
            return answer

    return list(await asyncio.gather(*(one(prompt) for prompt in prompts)))


SAID = [
    f"Incorrect API key provided: {PLANTED}.",
    f"Incorrect API key provided: {PLANTED[:9]}*************{PLANTED[-4:]}. Look it up.",
    f"no such model for Bearer {PLANTED}",
    f"{'x' * 235}{PLANTED}",
]
STATUSES = ["400", "401", "403", "404", "429", "500"]


class Seen(BaseModel):
    seen: bool


def _traces(key: str) -> Iterator[str]:
    yield from (key[start : start + 8] for start in range(len(key) - 8))


def _shown(error: BaseException) -> str:
    return f"{error} {error!r} {error.__dict__} {''.join(traceback.format_exception(error))}"


@pytest.mark.parametrize("status", STATUSES)
def test_no_error_of_a_provider_holds_it(status: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for said in SAID:
        with Loopback(faults=scripted([Fault(status, message=said)])) as server:
            provider = OpenAIImages("gpt-image-1", connect_openai("openai/gpt-image-1", f"{server.url}/v1", 5))
            with pytest.raises((CallError, FormalimgError)) as caught:
                wait_for(provider.complete(request()))
        assert server.requests[0].headers["authorization"] == f"Bearer {PLANTED}"
        shown = _shown(caught.value) + caplog.text
        assert not [part for part in _traces(PLANTED) if part in shown]
        assert caught.value.__context__ is None


@pytest.mark.parametrize("fault", [None, "500", "reset", "html", "truncated", "schema", "refusal"])
def test_no_model_shows_it(fault: str | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shown = []
    with Loopback(
        faults=lambda number: Fault(fault) if fault else None, reply=lambda asked: '{"seen": true}'
    ) as server:
        options = {"max_attempts": "1", "base_url": f"{server.url}/v1", "parse_retries": "0"}
        image_model: ImageModel = open_openai_images(
            "gpt-image-1", {"max_attempts": "1", "base_url": f"{server.url}/v1"}
        )
        shown += [str(answers(image_model, [request()])), repr(image_model), str(image_model.settings)]
        chats: list[ChatModel] = [
            open_openai_chat("gpt-4.1", options),
            open_anthropic_chat("claude-sonnet-5", {**options, "base_url": server.url}),
        ]
        for chat in chats:
            shown += [str(wait_for(chat.ask(CONVERSATION, Seen))), repr(chat), str(chat.settings)]
    assert len(server.requests) == 3
    assert PLANTED in str([came.headers for came in server.requests])
    everything = caplog.text + "".join(shown)
    assert not [part for part in _traces(PLANTED) if part in everything]


def test_no_file_of_the_memory_holds_it(tmp_path: Path) -> None:
    with Loopback(reply=lambda asked: '{"seen": true}') as server:
        wait_for(open_openai_chat("gpt-4.1", {"base_url": f"{server.url}/v1"}).ask(CONVERSATION, Seen))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files, "the answer should have been remembered"
    for path in files:
        content = path.read_bytes()
        assert not [part for part in _traces(PLANTED) if part.encode() in content]
