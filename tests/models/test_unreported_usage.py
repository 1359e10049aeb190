"""What calls cost whose answers are of no use, or say nothing of what they used."""

from __future__ import annotations

import asyncio
import base64
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
    CallError,
    Completion,
    Failed,
    Generated,
    ImageRequest,
    Message,
    Reply,
    Usage,
)
from formalimg.models.pricing import note_usage, open_meter
from formalimg.models.provider_models import ImageCompletion, build_chat_model, build_image_model
from formalimg.models.providers.http import read_usage
from formalimg.models.retry import RetryPolicy
from formalimg.runs.progress import Progress
from formalimg.types import Setting
from tests.support.remote_models import answers, request

WORDS = "Is it rød?"
QUESTION = (Message("user", (WORDS,)),)
PRICES = """
[prices]
"acme/chat" = { input = 1_000, output = 100_000 }
"acme/free" = { input = 0, output = 0 }
"acme/image" = { image = 2 }
"acme/tokens" = { input = 1_000, output = 1_000 }
"acme/both" = { input = 1_000, output = 1_000, image = 2 }
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


# --- images


@dataclass
class Painter:
    done: ImageCompletion | Exception
    name: str = "acme/image"
    paid: Usage | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    takes_images: bool = True
    hang: bool = False

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        if self.paid is not None:
            note_usage(self.paid)
        if self.hang:
            await asyncio.sleep(60)
        if isinstance(self.done, Exception):
            raise self.done
        return self.done


def _image(painter: Painter, **policy: Any) -> Generated | Failed:
    policy = {"initial_backoff": 0, "max_attempts": 2, **policy}
    (answer,) = answers(build_image_model(painter, retry_policy=RetryPolicy(**policy)), [request()])
    assert isinstance(answer, Generated | Failed)
    return answer


@pytest.mark.parametrize(
    ("name", "usage", "cost"),
    [
        ("acme/image", Usage(0, 0, 1), 2),
        ("acme/image", Usage(5, 9, 1), 2),
        ("acme/both", Usage(5, 9, 1), 0.014),
        ("acme/both", Usage(0, 0, 1), 2),
        ("acme/both", Usage(5, 0, 1), 2),  # without the tokens of the image
        ("acme/tokens", Usage(5, 9, 1), 0.014),
        ("acme/tokens", Usage(0, 0, 1), None),
        ("acme/tokens", Usage(5, 0, 1), None),
    ],
)
def test_an_image_costs_its_tokens_or_the_price_of_an_image(name: str, usage: Usage, cost: float | None) -> None:
    answer = _image(Painter(ImageCompletion(b"png", {}, usage), name))
    assert answer.cost == cost


@pytest.mark.parametrize(
    ("error", "paid", "cost"),
    [
        (CallError("wrong", "HTML"), None, 4),
        (CallError("wrong", "no base64"), Usage(images=1), 4),
        (CallError("unavailable", "the image could not be fetched"), Usage(images=1), 4),
        (CallError("unavailable", "500"), None, 0),
        (CallError("rejected", "too long"), None, 0),
        (CallError("rejected", "blocked", usage=Usage(10, 20)), None, 2),
        (ValueError("what is this"), None, 4),
    ],
)
def test_a_failed_image_costs_what_its_attempts_did(error: Exception, paid: Usage | None, cost: float) -> None:
    answer = _image(Painter(error, paid=paid))
    assert (type(answer), answer.cost) == (Failed, cost)


def test_an_image_that_takes_too_long_after_it_was_paid_for_counts() -> None:
    broken = CallError("wrong", "")
    assert _image(Painter(broken, paid=Usage(images=1), hang=True), timeout=0.05).cost == 4
    assert _image(Painter(broken, hang=True), timeout=0.05).cost == 4, "nobody knows whether it is billed"
    assert _image(Painter(broken, "acme/tokens", hang=True), timeout=0.05).cost == 0, "there is no estimate"


def test_failed_attempts_before_an_image_are_a_part_of_its_cost() -> None:
    @dataclass
    class Third(Painter):
        calls: int = 0

        async def complete(self, request: ImageRequest) -> ImageCompletion:
            self.calls += 1
            if self.calls < 3:
                raise CallError("wrong", "HTML")
            return ImageCompletion(base64.b64decode("iVBORw0KGgo="))

    answer = _image(Third(CallError("wrong", "")), max_attempts=3)
    assert (type(answer), answer.cost) == (Generated, 6)


def test_no_attempt_is_begun_once_the_budget_is_used_up() -> None:
    progress = Progress(0, 0, budget=3.0)
    with open_meter(progress) as meter:
        answer = _image(Painter(CallError("wrong", "HTML")), max_attempts=100)
        assert (answer, meter.blocked) == (Failed("wrong: HTML", cost=4), True)
        assert _image(Painter(CallError("wrong", "HTML"))) == Failed(
            "rejected: the budget is used up, so no call was begun"
        )
    assert (progress.cost, progress.estimated, progress.stopped) == (4, 2, True)
