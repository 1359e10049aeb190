"""What chat providers send, and what they make of answers, through their real libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, Field

from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Message, Usage
from formalimg.models.providers.gemini import _token_usage
from formalimg.models.providers.hf import open_hf_chat
from tests.models.test_provider_contract import CHATS, KEY
from tests.support.loopback import Asked
from tests.support.remote_models import CONVERSATION, IMAGE, stand_alone, wait_for

SCHEMA: dict[str, object] = {"type": "object", "properties": {"seen": {"type": "boolean"}}, "required": ["seen"]}
each = pytest.mark.parametrize("name", CHATS)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    for variable in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    for provider in CHATS.values():
        monkeypatch.setenv(provider.key, KEY)


class Seen(BaseModel):
    seen: bool
    how_sure: int = Field(ge=0, le=10)


def seen(asked: Asked) -> str:
    return json.dumps({"seen": IMAGE in asked.images, "how_sure": 9})


class Sent(NamedTuple):
    """What one call sends and gives back."""

    path: str
    roles: list[str]
    usage: Usage
    served: dict[str, object]
    options: dict[str, str]
    fields: dict[str, object]


SENT = {
    "openai chat": Sent(
        "/v1/chat/completions",
        ["system", "user"],
        Usage(100, 20),
        {"model": "gpt-4.1-2025-01-01", "request_id": "req_chat", "system_fingerprint": "fp_1"},
        {
            "temperature": "0.7",
            "max_tokens": "100",
            "max_tokens_field": "max_completion_tokens",
            "top_p": "0.9",
            "seed": "3",
            "reasoning_effort": "low",
            "extra.chat_template_kwargs": '{"enable_thinking": false}',
        },
        {
            "temperature": 0.7,
            "max_completion_tokens": 100,
            "top_p": 0.9,
            "seed": 3,
            "reasoning_effort": "low",
            "chat_template_kwargs": {"enable_thinking": False},
        },
    ),
    "anthropic chat": Sent(
        "/v1/messages",
        ["user"],
        Usage(100, 20),
        {"model": "claude-sonnet-5-20250101", "id": "msg_1", "request_id": "req_message"},
        {"max_tokens": "99", "temperature": "0.5", "effort": "low", "thinking": "2048", "extra.top_k": "5"},
        {
            "max_tokens": 99,
            "temperature": 0.5,
            "top_k": 5,
            "thinking": {"type": "enabled", "budget_tokens": 2048},
        },
    ),
    "gemini chat": Sent(
        "/v1/models/gemini-2.5-flash:generateContent",
        ["user"],
        Usage(10, 1297),
        {"model": "gemini-2.5-flash-001", "response_id": "resp_1"},
        {"temperature": "0.5", "top_p": "0.9", "max_tokens": "300", "seed": "5", "thinking_budget": "128"}
        | {"thinking_level": "low", "media_resolution": "high"},
        {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 300, "seed": 5}
        | {"mediaResolution": "MEDIA_RESOLUTION_HIGH"},
    ),
    "hf chat": Sent(
        "/v1/chat/completions",
        ["system", "user"],
        Usage(100, 20),
        {"model": "acme/talker", "id": "chat_1", "created": 1_700_000_000, "system_fingerprint": "3.0.1-sha"},
        {"temperature": "0.5", "top_p": "0.9", "max_tokens": "300", "seed": "5", "extra.repetition_penalty": "1.1"},
        {"temperature": 0.5, "top_p": 0.9, "max_tokens": 300, "seed": 5, "repetition_penalty": 1.1},
    ),
}


def complete(name: str, server: Any, sent: dict[str, object] | None = None, **options: str) -> Any:
    provider = vars(CHATS[name].at(server.url, **options))["_provider"]
    return wait_for(provider.complete(CONVERSATION, sent))


@each
def test_words_and_images_arrive_in_their_order_and_what_was_served_and_used_is_told(name: str) -> None:
    asked: list[Asked] = []
    provider, expected = CHATS[name], SENT[name]

    def reply(question: Asked) -> str:
        asked.append(question)
        return "fine"

    with provider.server(reply=reply) as server:
        completion = complete(name, server)
    assert asked == [Asked(provider.model, ("You look closely.", "Is there a cup?"), (IMAGE,), None)]
    (came,) = server.requests
    assert came.path == expected.path
    assert KEY in str(came.headers)
    turns = came.json.get("messages") or came.json["contents"]
    assert [turn["role"] for turn in turns] == expected.roles
    assert (completion.text, completion.ended, completion.usage) == ("fine", "stop", expected.usage)
    assert expected.served.items() <= completion.served.items()


@each
def test_options_are_sent_and_on_record(name: str) -> None:
    expected = SENT[name]
    with CHATS[name].server(reply=seen) as server:
        model = CHATS[name].at(server.url, **expected.options)
        reply = wait_for(model.ask(CONVERSATION, Seen))
    assert isinstance(reply, Answered)
    assert reply.value == Seen(seen=True, how_sure=9)
    sent = server.requests[0].json
    sent |= sent.get("generationConfig", {})
    assert expected.fields.items() <= sent.items()
    for option, value in expected.options.items():
        if option != "max_tokens_field":
            recorded = (
                "max_completion_tokens" if option == "max_tokens" and "max_tokens_field" in expected.options else option
            )
            assert str(model.settings[recorded]) == value
    assert KEY not in str(model.settings)


@pytest.mark.parametrize(
    ("name", "mode", "sent"),
    [
        *(("openai chat", mode, form) for mode, form in {
            "json_schema": {
                "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
            },
            "json_object": {"type": "json_object"},
            "none": None,
        }.items()),
        ("hf chat", "json_object", {"type": "json_object"}),
        ("hf chat", "none", None),
        ("anthropic chat", "none", None),
        ("gemini chat", "json_schema", "application/json"),
        ("gemini chat", "json_object", "application/json"),
        ("gemini chat", "none", None),
    ],
)  # fmt: skip
def test_the_form_of_the_answer_is_told_in_the_chosen_way(name: str, mode: str, sent: object) -> None:
    with CHATS[name].server() as server:
        complete(name, server, SCHEMA, schema=mode)
    body = server.requests[0].json
    generation = body.get("generationConfig", {})
    assert (body.get("response_format") or body.get("output_config") or generation.get("responseMimeType")) == sent
    assert ("responseJsonSchema" in generation) == (name == "gemini chat" and mode == "json_schema")


def test_a_schema_is_sent_to_anthropic_without_bounds() -> None:
    with CHATS["anthropic chat"].server(reply=seen) as server:
        wait_for(CHATS["anthropic chat"].at(server.url).ask(CONVERSATION, Seen))
    form = server.requests[0].json["output_config"]["format"]
    assert (form["type"], form["schema"]["additionalProperties"]) == ("json_schema", False)
    assert not {"minimum", "maximum"} & form["schema"]["properties"]["how_sure"].keys()


@pytest.mark.parametrize(
    ("name", "fault", "ended", "text"),
    [
        ("openai chat", "length", "length", '{"seen"'),
        ("openai chat", "refusal", "refusal", "I cannot help with that."),
        ("openai chat", "filter", "refusal", ""),
        ("anthropic chat", "length", "length", None),
        ("anthropic chat", "refusal", "refusal", None),
        ("gemini chat", "length", "length", '{"cup"'),
        ("gemini chat", "CONTINUATION", "length", ""),
        ("gemini chat", "blocked", "refusal", "the prompt was blocked: PROHIBITED_CONTENT"),
        ("gemini chat", "SAFETY", "refusal", "ended with SAFETY"),
        ("hf chat", "length", "length", '{"cup"'),
        ("hf chat", "refusal", "refusal", "I cannot help with that."),
        ("hf chat", "filter", "refusal", ""),
    ],
)
def test_how_an_answer_ended_is_told(name: str, fault: str, ended: str, text: str | None) -> None:
    reply = '{"cup": true}' if name in ("gemini chat", "hf chat") else '{"seen": true}'
    with CHATS[name].server(fault, reply=lambda asked: reply) as server:
        completion = complete(name, server, SCHEMA)
    assert completion.ended == ended
    assert text is None or completion.text == text
    assert completion.usage == SENT[name].usage, "an answer that will not do is paid all the same"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("name", "model", "options", "expected"),
    [
        ("openai chat", "gpt-4.1", {}, {"temperature": 0, "max_tokens": 4096}),
        ("openai chat", "Qwen/Qwen3-VL-8B-Instruct", {}, {"temperature": 0, "max_tokens": 4096}),
        ("openai chat", "gpt-5-chat-latest", {}, {"temperature": 0, "max_tokens": 4096}),
        ("openai chat", "gpt-4.1", {"temperature": "default"}, {"max_tokens": 4096}),
        ("openai chat", "gpt-5-mini", {}, {"max_completion_tokens": 16384}),
        ("openai chat", "openai/gpt-6-astra", {}, {"max_completion_tokens": 16384}),
        ("openai chat", "o3", {}, {"max_completion_tokens": 16384}),
        ("gemini chat", "gemini-2.5-flash", {}, {"temperature": 0.0}),
        ("gemini chat", "gemini-2.5-flash", {"temperature": "default"}, {}),
        ("gemini chat", "gemini-3-pro-preview", {}, {}),
        ("gemini chat", "gemini-3-pro-preview", {"temperature": "0.2"}, {"temperature": 0.2}),
        ("hf chat", "acme/talker", {}, {"temperature": 0.0, "max_tokens": 4096}),
        ("anthropic chat", "claude-sonnet-5", {}, {"max_tokens": 8192}),
    ],
)
def test_usual_fields_by_model(name: str, model: str, options: dict[str, str], expected: dict[str, object]) -> None:
    provider = CHATS[name]._replace(model=model)
    with provider.server(reply=seen) as server:
        wait_for(provider.at(server.url, **options).ask(CONVERSATION, Seen))
    sent = server.requests[0].json
    sent |= sent.get("generationConfig", {})
    limits = {"temperature", "max_tokens", "max_completion_tokens"}
    assert {field: sent[field] for field in sent.keys() & limits} == expected


def test_rules_words_and_images_go_where_they_belong_in_gemini() -> None:
    messages = (*CONVERSATION, Message("assistant", ("Perhaps.",)), Message("user", ("Look again.",)))
    with CHATS["gemini chat"].server() as server:
        provider = vars(CHATS["gemini chat"].at(server.url))["_provider"]
        wait_for(provider.complete(messages, SCHEMA))
    sent = server.requests[0].json
    assert sent["systemInstruction"]["parts"] == [{"text": "You look closely."}]
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]


def test_what_gemini_does_not_count_counts_nothing() -> None:
    from google.genai.types import GenerateContentResponse

    for counted, expected in [({}, Usage()), ({"thoughtsTokenCount": 7}, Usage(0, 7)), (None, Usage())]:
        assert _token_usage(GenerateContentResponse.model_validate({"usageMetadata": counted})) == expected


def test_the_detail_of_images_is_sent_to_openai() -> None:
    with CHATS["openai chat"].server() as server:
        complete("openai chat", server, detail="high")
    assert server.requests[0].json["messages"][1]["content"][1]["image_url"]["detail"] == "high"


def test_the_router_of_hugging_face_is_told_the_schema_as_openai_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with CHATS["hf chat"].server(reply=seen) as server:
        monkeypatch.setattr("huggingface_hub.inference._providers.CONVERSATIONAL_AUTO_ROUTER.base_url", server.url)
        reply = wait_for(open_hf_chat("acme/talker", {}).ask(CONVERSATION, Seen))
    assert isinstance(reply, Answered)
    form = server.requests[0].json["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    monkeypatch.setenv("HF_TOKEN", "a-key-of-somebody-else")
    with pytest.raises(FormalimgError, match="auto-router"):
        wait_for(open_hf_chat("acme/talker", {"max_attempts": "1", "cache": "off"}).ask(CONVERSATION, Seen))
