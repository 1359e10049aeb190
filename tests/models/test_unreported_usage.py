"""What answers cost that say nothing of what they used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from formalimg.models.base import (
    Answered,
    Attachment,
    Completion,
    Message,
    Reply,
    Usage,
)
from formalimg.models.provider_models import build_chat_model
from formalimg.models.providers.http import read_usage
from formalimg.models.retry import RetryPolicy
from formalimg.types import Setting

WORDS = "Is it rød?"
QUESTION = (Message("user", (WORDS,)),)
PRICES = """
[prices]
"acme/chat" = { input = 1_000, output = 100_000 }
"""


@pytest.fixture(autouse=True)
def _prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list.toml").write_text(PRICES)
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "list.toml"))
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))


class Holds(BaseModel):
    holds: bool


@dataclass
class Talker:
    usage: Usage
    name: str = "acme/chat"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"max_tokens": 7})
    ended: Any = "stop"
    text: str = '{"holds": true}'

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        return Completion(self.text, self.ended, self.usage)


def _reply(talker: Talker, messages: Sequence[Message] = QUESTION) -> Reply[Holds]:
    model = build_chat_model(talker, retry_policy=RetryPolicy(max_attempts=1, parse_retries=1, cache=False))
    return asyncio.run(model.ask(messages, Holds))


def test_without_a_report_the_cost_is_estimated_from_what_was_sent_and_came_back() -> None:
    reply = _reply(Talker(Usage()))
    assert reply.usage.output_tokens == 7, "the limit on its length"
    assert _reply(Talker(Usage(), settings={"max_tokens": 16_384})).usage.output_tokens == 500, "not the limit"
    lengthy = '{"holds": true' + " " * 5_000 + "}"
    assert _reply(Talker(Usage(), settings={}, text=lengthy)).usage.output_tokens == 2_508
    assert reply.usage.input_tokens >= len(WORDS.encode()) / 2 + len(json.dumps(Holds.model_json_schema()))
    assert reply.cost == pytest.approx(reply.usage.input_tokens / 1000 + 0.7)
    assert isinstance(reply, Answered)
    assert reply.served["usage"] == "not reported: the cost is an estimate"
    longer = _reply(Talker(Usage()), (Message("user", (WORDS + "ø" * 100,)),))
    assert longer.usage.input_tokens == reply.usage.input_tokens + 100, "a token of two bytes"
    shown = _reply(Talker(Usage()), (Message("user", (WORDS, Attachment(b"png", "image/png"))),))
    assert shown.usage.input_tokens - reply.usage.input_tokens == 3_000
    many = _reply(Talker(Usage(), "acme/gpt-4o-mini"), (Message("user", (WORDS, Attachment(b"png", "image/png"))),))
    assert many.usage.input_tokens - reply.usage.input_tokens > 48_169, "as many as gpt-4o-mini counts at most"


def test_a_report_of_one_half_is_completed() -> None:
    assert _reply(Talker(Usage(0, 2))).usage.output_tokens == 2
    assert _reply(Talker(Usage(0, 2))).usage.input_tokens > len(WORDS)
    assert _reply(Talker(Usage(3, 0))).usage.output_tokens == 7, "words that took no tokens"
    assert _reply(Talker(Usage(3, 0), ended="refusal")).cost == 0.003, "a prompt that was blocked before the first word"


def test_the_limit_may_have_another_name_or_be_a_field_that_the_user_adds() -> None:
    cases: list[tuple[Mapping[str, Setting], int]] = [
        ({"max_completion_tokens": 9}, 9),
        ({"max_tokens": 4, "extra.max_tokens": "11"}, 11),
        ({"extra.max_completion_tokens": "12"}, 12),
    ]
    for settings, limit in cases:
        assert _reply(Talker(Usage(), settings=settings)).usage.output_tokens == limit


@pytest.mark.parametrize("count", [10**400, 10**13, -1, True, 1.5, "12", None])
def test_counts_that_cannot_be_are_none(count: object) -> None:
    assert read_usage({"sent": 5, "received": count}, ["sent"], ["received"]) == Usage(5 if count is None else 0)
    assert read_usage({"sent": count, "received": 5}, ["sent"], ["received"]) == Usage(0, 5 if count is None else 0)
