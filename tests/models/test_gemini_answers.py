"""Answers through the google-genai library, against a server that speaks Gemini's format."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from formalimg.models.base import Answered, Completion, Message, Reply, Usage
from formalimg.models.options import Options
from formalimg.models.providers.gemini import GeminiChat, _token_usage, open_gemini_chat, open_gemini_client
from tests.support.loopback import Asked, Fault, Loopback, scripted
from tests.support.loopback.gemini import GEMINI
from tests.support.remote_models import CONVERSATION, IMAGE, PLANTED, stand_alone, wait_for

MODEL = "gemini-2.5-flash"
SCHEMA: dict[str, object] = {"type": "object", "properties": {"cup": {"type": "boolean"}}, "required": ["cup"]}


class Seen(BaseModel):
    cup: bool


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", PLANTED)


def _server(*faults: str | Fault | None) -> Loopback:
    return Loopback(faults=scripted(faults), reply=lambda asked: '{"cup": true}', dialects=(GEMINI,))


def _complete(server: Loopback, schema: dict[str, object] | None = None) -> Completion:
    session = open_gemini_client(MODEL, Options(MODEL, {"base_url": server.url}), timeout=5)
    return wait_for(GeminiChat(session, {"schema": "json_schema"}).complete(CONVERSATION, schema))


def _ask(server: Loopback, **options: str) -> Reply[Seen]:
    model = open_gemini_chat(MODEL, {"base_url": server.url, "max_attempts": "1", "parse_retries": "0", **options})
    return wait_for(model.ask(CONVERSATION, Seen))


def test_an_answer_comes_back_without_thoughts_and_with_what_was_used() -> None:
    with _server() as server:
        completion = _complete(server)
    served = {"model": f"{MODEL}-001", "response_id": "resp_1"}
    assert completion == Completion('{"cup": true}', "stop", Usage(10, 1297), served)


def test_what_is_not_counted_counts_nothing() -> None:
    from google.genai.types import GenerateContentResponse

    for counted, expected in [({}, Usage()), ({"thoughtsTokenCount": 7}, Usage(0, 7)), (None, Usage())]:
        assert _token_usage(GenerateContentResponse.model_validate({"usageMetadata": counted})) == expected


def test_rules_words_and_images_go_where_they_belong() -> None:
    asked: list[Asked] = []

    def reply(question: Asked) -> str:
        asked.append(question)
        return '{"cup": true}'

    with Loopback(reply=reply, dialects=(GEMINI,)) as server:
        messages = (*CONVERSATION, Message("assistant", ("Perhaps.",)), Message("user", ("Look again.",)))
        session = open_gemini_client(MODEL, Options(MODEL, {"base_url": server.url}), timeout=5)
        wait_for(GeminiChat(session, {"schema": "json_schema"}).complete(messages, SCHEMA))
    assert asked == [
        Asked(MODEL, ("You look closely.", "Is there a cup?", "Perhaps.", "Look again."), (IMAGE,), SCHEMA)
    ]
    sent = server.requests[0].json
    assert sent["systemInstruction"]["parts"] == [{"text": "You look closely."}]
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]
    assert sent["generationConfig"]["responseMimeType"] == "application/json"


def test_options_are_sent_and_on_record() -> None:
    options = {"temperature": "0.5", "top_p": "0.9", "max_tokens": "300", "seed": "5", "thinking_budget": "128"}
    options |= {"thinking_level": "low", "media_resolution": "high"}
    with _server() as server:
        assert isinstance(_ask(server, **options), Answered)
        settings = dict(open_gemini_chat(MODEL, {**options, "base_url": server.url}).settings)
    sent = server.requests[0].json["generationConfig"]
    assert (sent["temperature"], sent["topP"], sent["maxOutputTokens"], sent["seed"]) == (0.5, 0.9, 300, 5)
    assert sent["mediaResolution"] == "MEDIA_RESOLUTION_HIGH"
    assert set(sent["thinkingConfig"].values()) == {128, "LOW"}
    assert {name: str(settings[name]) for name in options} == options
    assert PLANTED not in str(settings)


@pytest.mark.parametrize(
    ("model", "given", "sent"),
    [
        ("gemini-2.5-flash", {}, 0.0),
        ("gemini-2.5-flash", {"temperature": "default"}, None),
        ("gemini-3-pro-preview", {}, None),
        ("gemini-3-pro-preview", {"temperature": "0.2"}, 0.2),
    ],
)
def test_the_temperature_is_zero_unless_the_model_minds(model: str, given: dict[str, str], sent: float | None) -> None:
    with _server() as server:
        wait_for(open_gemini_chat(model, {"base_url": server.url, **given}).ask(CONVERSATION, Seen))
    assert server.requests[0].json["generationConfig"].get("temperature") == sent


@pytest.mark.parametrize(
    ("schema", "mime_type", "bound", "words"),
    [
        ("json_schema", "application/json", True, False),
        ("json_object", "application/json", False, True),
        ("none", None, False, True),
    ],
)
def test_the_form_is_bound_or_asked_for_in_words(schema: str, mime_type: str | None, bound: bool, words: bool) -> None:
    with _server() as server:
        assert isinstance(_ask(server, schema=schema), Answered)
    sent = server.requests[0].json
    assert sent["generationConfig"].get("responseMimeType") == mime_type
    assert ("responseJsonSchema" in sent["generationConfig"]) == bound
    assert ("cup" in sent["contents"][-1]["parts"][-1].get("text", "")) == words


@pytest.mark.parametrize(
    ("fault", "ended", "text"),
    [
        ("length", "length", '{"cup"'),
        ("CONTINUATION", "length", ""),
        ("blocked", "refusal", "the prompt was blocked: PROHIBITED_CONTENT"),
        ("SAFETY", "refusal", "ended with SAFETY"),
    ],
)
def test_how_an_answer_ended_is_told_apart(fault: str, ended: str, text: str) -> None:
    with _server(fault) as server:
        completion = _complete(server)
    assert (completion.ended, completion.text) == (ended, text)
    assert completion.usage == Usage(10, 1297), "an answer that will not do is paid all the same"
    assert len(server.requests) == 1, "the library must not go on by itself"
