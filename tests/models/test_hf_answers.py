"""Answers through the huggingface_hub library, against a server that speaks as its endpoints do."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Completion, Reply, Usage
from formalimg.models.options import Options
from formalimg.models.providers.hf import HfChat, open_hf_chat, open_hf_client
from formalimg.types import Setting
from tests.support.loopback import Asked, Fault, Loopback, scripted
from tests.support.loopback.hf import HF
from tests.support.remote_models import CONVERSATION, IMAGE, stand_alone, wait_for

PLANTED_TOKEN = "hf_planted0a1b2c3d4e5f6789wxyz"
MODEL = "acme/talker"
SCHEMA: dict[str, object] = {"type": "object", "properties": {"cup": {"type": "boolean"}}, "required": ["cup"]}


class Seen(BaseModel):
    cup: bool


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.setenv("HF_TOKEN", PLANTED_TOKEN)


def _server(*faults: str | Fault | None) -> Loopback:
    return Loopback(faults=scripted(faults), reply=lambda asked: '{"cup": true}', dialects=(HF,))


def _complete(server: Loopback, schema: dict[str, object] | None = None) -> Completion:
    session = open_hf_client(MODEL, Options(MODEL, {"base_url": server.url}), timeout=5)
    return wait_for(HfChat(session, {"schema": "json_schema"}, {}).complete(CONVERSATION, schema))


def _ask(server: Loopback, **options: str) -> Reply[Seen]:
    model = open_hf_chat(MODEL, {"base_url": server.url, "max_attempts": "1", "parse_retries": "0", **options})
    return wait_for(model.ask(CONVERSATION, Seen))


def test_an_answer_comes_back_with_what_was_used() -> None:
    with _server() as server:
        completion = _complete(server)
    served: dict[str, Setting] = {
        "model": MODEL,
        "id": "chat_1",
        "created": 1_700_000_000,
        "system_fingerprint": "3.0.1-sha",
    }
    assert completion == Completion('{"cup": true}', "stop", Usage(100, 20), served)
    assert server.requests[0].headers["authorization"] == f"Bearer {PLANTED_TOKEN}"


def test_words_images_and_schema_arrive() -> None:
    asked: list[Asked] = []

    def reply(question: Asked) -> str:
        asked.append(question)
        return '{"cup": true}'

    with Loopback(reply=reply, dialects=(HF,)) as server:
        _complete(server, SCHEMA)
    assert asked == [Asked(MODEL, ("You look closely.", "Is there a cup?"), (IMAGE,), SCHEMA)]
    first, second = server.requests[0].json["messages"]
    assert first == {"role": "system", "content": "You look closely."}
    assert second["role"] == "user"


def test_the_router_is_told_the_schema_as_openai_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with _server() as server:
        monkeypatch.setattr("huggingface_hub.inference._providers.CONVERSATIONAL_AUTO_ROUTER.base_url", server.url)
        reply = wait_for(open_hf_chat(MODEL, {}).ask(CONVERSATION, Seen))
    assert isinstance(reply, Answered)
    sent = server.requests[0].json
    assert sent["model"] == MODEL
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["strict"] is True


def test_options_are_sent_and_on_record() -> None:
    options = {
        "temperature": "0.5",
        "top_p": "0.9",
        "max_tokens": "300",
        "seed": "5",
        "extra.repetition_penalty": "1.1",
    }
    with _server() as server:
        assert isinstance(_ask(server, **options), Answered)
        settings = dict(open_hf_chat(MODEL, {**options, "base_url": server.url}).settings)
    sent = server.requests[0].json
    wanted = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 300, "seed": 5, "repetition_penalty": 1.1}
    assert {name: sent[name] for name in wanted} == wanted
    assert {name: str(settings[name]) for name in options} == options
    assert PLANTED_TOKEN not in str(settings)


def test_endpoints_are_not_left_to_their_small_limits() -> None:
    with _server() as server:
        _ask(server)
    assert (server.requests[0].json["max_tokens"], server.requests[0].json["temperature"]) == (4096, 0.0)


@pytest.mark.parametrize(
    ("fault", "ended", "text"),
    [("length", "length", '{"cup"'), ("refusal", "refusal", "I cannot help with that."), ("filter", "refusal", "")],
)
def test_how_an_answer_ended_is_told_apart(fault: str, ended: str, text: str) -> None:
    with _server(fault) as server:
        completion = _complete(server)
    assert (completion.ended, completion.text, completion.usage) == (ended, text, Usage(100, 20))


def test_the_router_wants_a_key_of_hugging_face(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "a-key-of-somebody-else")
    with pytest.raises(FormalimgError, match="auto-router"):
        wait_for(open_hf_chat(MODEL, {"max_attempts": "1"}).ask(CONVERSATION, Seen))
