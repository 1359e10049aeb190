"""Questions through the openai library, against a server that speaks chat completions."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from formalimg.models.base import Answered, Usage
from formalimg.models.providers.openai import OpenAIChat, open_openai_chat
from formalimg.models.providers.sdk import connect_openai
from tests.support.loopback import Asked, Loopback, scripted
from tests.support.remote_models import CONVERSATION, IMAGE, wait_for

pytestmark = pytest.mark.usefixtures("stand_alone")

SCHEMA = {"type": "object", "properties": {"seen": {"type": "boolean"}}, "required": ["seen"]}


class Seen(BaseModel):
    seen: bool


def _provider(server: Loopback, schema: str = "json_schema") -> OpenAIChat:
    return OpenAIChat("gpt-4.1", connect_openai("openai/gpt-4.1", f"{server.url}/v1", timeout=5), schema=schema)


def _seen(asked: Asked) -> str:
    return json.dumps({"seen": IMAGE in asked.images})


def test_words_and_images_arrive_in_their_order() -> None:
    asked: list[Asked] = []
    with Loopback(reply=lambda question: asked.append(question) or "fine") as server:  # type: ignore[func-returns-value]
        completion = wait_for(_provider(server).complete(CONVERSATION, None))
    assert completion.text == "fine"
    assert asked == [Asked("gpt-4.1", ("You look closely.", "Is there a cup?"), (IMAGE,), None)]
    system, user = server.requests[0].json["messages"]
    assert system == {"role": "system", "content": "You look closely."}
    assert [part["type"] for part in user["content"]] == ["text", "image_url"]


def test_what_was_served_and_used_is_told() -> None:
    with Loopback(reply=_seen) as server:
        completion = wait_for(_provider(server).complete(CONVERSATION, None))
    assert (completion.ended, completion.usage) == ("stop", Usage(100, 20))
    assert completion.served["model"] == "gpt-4.1-2025-01-01"
    assert completion.served["request_id"] == "req_chat"
    assert completion.served["system_fingerprint"] == "fp_1"


@pytest.mark.parametrize(
    ("way", "sent"),
    [
        ("json_schema", {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}),
        ("json_object", {"type": "json_object"}),
        ("none", None),
    ],
)
def test_the_form_of_the_answer_is_told_in_the_chosen_way(way: str, sent: object) -> None:
    with Loopback() as server:
        provider = _provider(server, way)
        wait_for(provider.complete(CONVERSATION, SCHEMA))
    assert server.requests[0].json.get("response_format") == sent
    assert provider.supports_schema == (way == "json_schema")


@pytest.mark.parametrize(
    ("fault", "ended", "text"),
    [("length", "length", '{"seen"'), ("refusal", "refusal", "I cannot help with that."), ("filter", "refusal", "")],
)
def test_how_an_answer_ended_is_told(fault: str, ended: str, text: str) -> None:
    with Loopback(reply=_seen, faults=scripted([fault])) as server:
        completion = wait_for(_provider(server).complete(CONVERSATION, SCHEMA))
    assert (completion.ended, completion.text) == (ended, text)
    assert completion.usage == Usage(100, 20)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4.1", {"temperature": 0, "max_tokens": 4096}),
        ("Qwen/Qwen3-VL-8B-Instruct", {"temperature": 0, "max_tokens": 4096}),
        ("gpt-5-chat-latest", {"temperature": 0, "max_tokens": 4096}),
        ("gpt-5-mini", {"max_completion_tokens": 16384}),
        ("openai/gpt-6-astra", {"max_completion_tokens": 16384}),
        ("o3", {"max_completion_tokens": 16384}),
    ],
)
def test_usual_fields_by_model(model: str, expected: dict[str, object]) -> None:
    with Loopback(reply=_seen) as server:
        wait_for(open_openai_chat(model, {"base_url": f"{server.url}/v1"}).ask(CONVERSATION, Seen))
    sent = server.requests[0].json
    assert {name: sent[name] for name in sent.keys() - {"model", "messages", "response_format"}} == expected


def test_options_are_sent_and_on_record() -> None:
    options = {
        "temperature": "0.7",
        "max_tokens": "100",
        "max_tokens_field": "max_completion_tokens",
        "top_p": "0.9",
        "seed": "3",
    }
    options |= {"reasoning_effort": "low", "detail": "high", "extra.chat_template_kwargs": '{"enable_thinking": false}'}
    with Loopback(reply=_seen) as server:
        model = open_openai_chat("gpt-4.1", {**options, "base_url": f"{server.url}/v1"})
        wait_for(model.ask(CONVERSATION, Seen))
    sent = server.requests[0].json
    assert (sent["temperature"], sent["max_completion_tokens"], sent["top_p"], sent["seed"]) == (0.7, 100, 0.9, 3)
    assert "max_tokens" not in sent
    assert sent["reasoning_effort"] == "low"
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert sent["messages"][1]["content"][1]["image_url"]["detail"] == "high"
    on_record = {"temperature": 0.7, "max_completion_tokens": 100, "schema": "json_schema", "detail": "high"}
    assert on_record.items() <= model.settings.items()
    assert model.settings["extra.chat_template_kwargs"] == '{"enable_thinking": false}'


def test_no_temperature_is_sent_where_the_default_is_asked_for() -> None:
    with Loopback(reply=_seen) as server:
        options = {"base_url": f"{server.url}/v1", "temperature": "default"}
        wait_for(open_openai_chat("gpt-4.1", options).ask(CONVERSATION, Seen))
    assert "temperature" not in server.requests[0].json


def test_a_question_is_answered_in_the_wanted_form() -> None:
    with Loopback(reply=_seen) as server:
        reply = wait_for(open_openai_chat("gpt-4.1", {"base_url": f"{server.url}/v1"}).ask(CONVERSATION, Seen))
    assert isinstance(reply, Answered)
    assert reply.value == Seen(seen=True)
    assert server.requests[0].json["response_format"]["json_schema"]["schema"]["additionalProperties"] is False
