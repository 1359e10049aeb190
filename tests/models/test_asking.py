"""Asking a chat model: an answer of the wanted form, or why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import BaseModel

from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Attachment, CallError, Completion, Message, Reply, Unanswered, Usage
from formalimg.models.provider_models import ProviderChatModel, build_chat_model
from formalimg.models.retry import RetryPolicy
from formalimg.models.structured_output import with_format
from formalimg.types import Setting

KEY = "planted-asking-key-0815"
MESSAGES = (
    Message("system", ("You judge.",)),
    Message("user", ("Is it red?", Attachment(b"bytes of it", "image/png"))),
)
TWENTY = Usage(20, 10)


class Verdict(BaseModel):
    holds: bool


@dataclass
class Talker:
    script: Sequence[Completion | Exception]
    name: str = "openai/gpt-4o"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"temperature": 0})
    supports_schema: bool = True
    asked: list[tuple[Sequence[Message], Mapping[str, object] | None]] = field(default_factory=list)

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        self.asked.append((messages, schema))
        done = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(done, Exception):
            raise done
        return done


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))


def _model(talker: Talker, *, max_attempts: int = 2, parse_retries: int = 2, cache: bool = True) -> ProviderChatModel:
    return build_chat_model(
        talker,
        retry_policy=RetryPolicy(
            initial_backoff=0, max_attempts=max_attempts, parse_retries=parse_retries, cache=cache
        ),
    )


def _reply(talker: Talker, *, max_attempts: int = 2, parse_retries: int = 2, cache: bool = True) -> Reply[Verdict]:
    return asyncio.run(
        _model(talker, max_attempts=max_attempts, parse_retries=parse_retries, cache=cache).ask(MESSAGES, Verdict)
    )


def _said(text: str, ended: str = "stop") -> Completion:
    return Completion(text, ended, TWENTY, {"model": "gpt-4o-2024-08-06"})  # type: ignore[arg-type]


YES = _said('{"holds": true}')
TALK = _said("It does.")
COST = (20 * 2.50 + 10 * 10.00) / 1_000_000


def test_an_answer_comes_with_what_it_cost() -> None:
    talker = Talker([YES])
    assert _reply(talker) == Answered(
        Verdict(holds=True), '{"holds": true}', TWENTY, COST, {"model": "gpt-4o-2024-08-06"}
    )
    ((messages, schema),) = talker.asked
    assert messages == MESSAGES
    assert schema == {
        "type": "object",
        "properties": {"holds": {"type": "boolean"}},
        "required": ["holds"],
        "additionalProperties": False,
    }


def test_who_cannot_be_held_to_a_schema_is_told_it() -> None:
    talker = Talker([YES], supports_schema=False)
    assert isinstance(_reply(talker), Answered)
    ((messages, _),) = talker.asked
    assert messages[0] == MESSAGES[0]
    assert messages[1].parts[:2] == MESSAGES[1].parts
    words = messages[1].parts[2]
    assert isinstance(words, str)
    assert '"required": ["holds"]' in words
    assert "version" not in words
    assert "{schema}" not in words


def test_the_form_is_told_to_whoever_speaks_last_for_the_user() -> None:
    messages = (Message("user", ("a",)), Message("assistant", ("b",)), Message("user", ("c",)))
    shown = with_format(messages, {"x": 1})
    assert (shown[:2], shown[2].parts[0], len(shown[2].parts)) == (messages[:2], "c", 2)
    assert [message.role for message in with_format((Message("system", ("a",)),), {})] == ["system", "user"]


@pytest.mark.parametrize(
    "unreadable",
    [TALK, _said('{"holds": "true"}'), _said('{"holds": tr'), _said('{"holds": true}', "length"), _said("")],
)
def test_what_cannot_be_read_is_asked_again(unreadable: Completion) -> None:
    talker = Talker([unreadable, unreadable, YES])
    reply = _reply(talker)
    assert isinstance(reply, Answered)
    assert reply.usage == Usage(60, 30)
    assert reply.cost == pytest.approx(3 * COST)
    assert len(talker.asked) == 3


def test_what_can_never_be_read_is_no_answer() -> None:
    talker = Talker([TALK])
    reply = _reply(talker, parse_retries=1)
    assert reply == Unanswered("unreadable", "there is no JSON in the answer", "It does.", Usage(40, 20), 2 * COST)
    assert len(talker.asked) == 2


def test_a_refusal_is_not_asked_again() -> None:
    talker = Talker([_said("I cannot\nhelp with that.", "refusal")])
    assert _reply(talker) == Unanswered(
        "refused", "I cannot help with that.", "I cannot\nhelp with that.", TWENTY, COST
    )
    assert len(talker.asked) == 1
    assert _reply(Talker([CallError("refused", "blocked")])) == Unanswered("refused", "blocked")
    assert _reply(Talker([_said("", "refusal")])).reason == "the model declined"  # type: ignore[union-attr]


def test_what_was_paid_for_an_answer_without_words_is_counted() -> None:
    silence = CallError("wrong", "no text", usage=TWENTY)
    reply = _reply(Talker([silence, YES]))
    assert isinstance(reply, Answered)
    assert (reply.usage, reply.cost) == (Usage(40, 20), 2 * COST)
    never = _reply(Talker([TALK, silence]), cache=False)
    assert never == Unanswered("failed", "wrong: no text", "It does.", Usage(60, 30), never.cost)
    assert never.cost == pytest.approx(3 * COST)


@pytest.mark.parametrize(
    "done",
    [
        CallError("rejected", f"wrong key {KEY}"),
        RuntimeError(f"Bearer {KEY}"),
        FormalimgError(f"wrong key {KEY}"),
        Completion('{"holds": true}', served={"request": KEY}),
    ],
)
def test_no_reply_holds_a_key(done: Completion | Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    try:
        shown = repr(_reply(Talker([done])))
    except FormalimgError as error:
        shown = str(error)
    assert "***" in shown
    assert KEY not in shown
