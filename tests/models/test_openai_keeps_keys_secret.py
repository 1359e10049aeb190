"""A key goes out in the header of requests, and nowhere else: not even if the server throws it back at us."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError
from formalimg.models.providers.anthropic import open_anthropic_chat
from formalimg.models.providers.openai import open_openai_chat, open_openai_images
from formalimg.models.providers.openai_images import OpenAIImages
from formalimg.models.providers.sdk import connect_openai
from formalimg.types import ChatModel, ImageModel
from tests.support.loopback import Fault, Loopback, scripted
from tests.support.remote_models import CONVERSATION, PLANTED, answers, request, stand_alone, wait_for

SAID = [
    f"Incorrect API key provided: {PLANTED}.",
    f"Incorrect API key provided: {PLANTED[:9]}*************{PLANTED[-4:]}. Look it up.",
    f"no such model for Bearer {PLANTED}",
    f"{'x' * 235}{PLANTED}",
]
STATUSES = ["400", "401", "403", "404", "429", "500"]


class Seen(BaseModel):
    seen: bool


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)


def _traces(key: str) -> Iterator[str]:
    """The key and parts of it that nobody would write by chance."""
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
