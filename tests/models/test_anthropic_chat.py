"""Questions through the anthropic library, against a server that speaks Anthropic's messages."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, Field

from formalimg.models.base import Answered, Completion, Usage
from formalimg.models.providers.anthropic import AnthropicChat, open_anthropic_chat
from tests.support.loopback import Asked, Loopback, scripted
from tests.support.remote_models import CONVERSATION, IMAGE, PLANTED, wait_for

pytestmark = pytest.mark.usefixtures("stand_alone")

NAME = "claude-sonnet-5"


class Seen(BaseModel):
    seen: bool
    how_sure: int = Field(ge=0, le=10)


def _provider(server: Loopback, **options: str) -> AnthropicChat:
    model = open_anthropic_chat(NAME, {"base_url": server.url, "timeout": "0.3", **options})
    provider = vars(model)["_provider"]
    assert isinstance(provider, AnthropicChat)
    return provider


def _complete(server: Loopback, schema: dict[str, object] | None = None, **options: str) -> Completion:
    return wait_for(_provider(server, **options).complete(CONVERSATION, schema))


def _seen(asked: Asked) -> str:
    return json.dumps({"seen": IMAGE in asked.images, "how_sure": 9})


def test_words_and_images_arrive_in_their_order() -> None:
    asked: list[Asked] = []
    with Loopback(reply=lambda question: asked.append(question) or "fine") as server:  # type: ignore[func-returns-value]
        completion = _complete(server)
    assert completion.text == "fine"
    assert asked == [Asked(NAME, ("You look closely.", "Is there a cup?"), (IMAGE,), None)]
    (came,) = server.requests
    assert came.path == "/v1/messages"
    assert PLANTED in (came.headers.get("x-api-key", "") + came.headers.get("authorization", ""))
    assert came.json.keys() == {"model", "max_tokens", "messages", "system"}
    assert [message["role"] for message in came.json["messages"]] == ["user"]


def test_what_was_served_and_used_is_told() -> None:
    with Loopback(reply=_seen) as server:
        completion = _complete(server)
    assert (completion.ended, completion.usage) == ("stop", Usage(100, 20))
    assert completion.served == {"model": f"{NAME}-20250101", "id": "msg_1", "request_id": "req_message"}


def test_a_schema_is_sent_in_the_form_that_is_understood_there() -> None:
    with Loopback(reply=_seen) as server:
        reply = wait_for(open_anthropic_chat(NAME, {"base_url": server.url}).ask(CONVERSATION, Seen))
    assert isinstance(reply, Answered)
    assert reply.value == Seen(seen=True, how_sure=9)
    form = server.requests[0].json["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["additionalProperties"] is False
    assert not {"minimum", "maximum"} & form["schema"]["properties"]["how_sure"].keys()


def test_options_are_sent_and_on_record() -> None:
    options = {"max_tokens": "99", "temperature": "0.5", "effort": "low", "thinking": "2048", "extra.top_k": "5"}
    with Loopback(reply=_seen) as server:
        model = open_anthropic_chat(NAME, {**options, "base_url": server.url, "schema": "none"})
        wait_for(model.ask(CONVERSATION, Seen))
    sent = server.requests[0].json
    assert (sent["max_tokens"], sent["temperature"], sent["top_k"]) == (99, 0.5, 5)
    assert sent["output_config"] == {"effort": "low"}
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    on_record = {"max_tokens": 99, "temperature": 0.5, "effort": "low", "thinking": "2048", "schema": "none"}
    assert on_record.items() <= model.settings.items()
    assert model.settings["extra.top_k"] == "5"


@pytest.mark.parametrize(("fault", "ended"), [("length", "length"), ("refusal", "refusal")])
def test_how_an_answer_ended_is_told(fault: str, ended: str) -> None:
    with Loopback(reply=_seen, faults=scripted([fault])) as server:
        assert _complete(server).ended == ended
