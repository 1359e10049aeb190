"""The same question asked several times at the same moment is paid for once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import BaseModel

from formalimg.models.base import Answered, CallError, Completion, Message, Reply, Unanswered, Usage
from formalimg.models.cache import AnswerCache
from formalimg.models.chat_provider import build_chat_model
from formalimg.models.registry import open_chat_model
from formalimg.models.retry import RetryPolicy
from formalimg.types import Setting
from tests.support.loopback import Loopback
from tests.support.remote_models import stand_alone

MESSAGES = (Message("user", ("Is it red?",)),)
YES = Completion('{"holds": true}', usage=Usage(20, 10))
COST = (20 * 2.50 + 10 * 10.00) / 1_000_000


class Holds(BaseModel):
    holds: bool


@dataclass
class SlowTalker:
    """A provider that answers when it is told to: call by call, with an answer or an error."""

    name: str = "openai/gpt-4o"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"max_tokens": 100})
    calls: list[asyncio.Future[Completion]] = field(default_factory=list)

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        self.calls.append(asyncio.get_running_loop().create_future())
        return await self.calls[-1]

    async def next_call(self, number: int) -> asyncio.Future[Completion]:
        """The call of this number, from 1, as soon as it is made; all others that could be made are made too."""
        for _ in range(500):
            await asyncio.sleep(0.001)
            if len(self.calls) >= number:
                await asyncio.sleep(0.05)
                assert len(self.calls) == number
                return self.calls[number - 1]
        raise AssertionError(f"{len(self.calls)} calls, not {number}")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_alone(monkeypatch, tmp_path)


def _ask(talker: SlowTalker, *, cache: bool = True, own: int = 1) -> list[asyncio.Task[Reply[Holds]]]:
    """Three times the same question, by as many models of the same name and settings."""
    policy = RetryPolicy(initial_backoff=0, max_attempts=1, parse_retries=0, cache=cache)
    models = [build_chat_model(talker, retry_policy=policy) for _ in range(own)]
    return [asyncio.create_task(models[number % own].ask(MESSAGES, Holds)) for number in range(3)]


@pytest.mark.parametrize("models", [1, 3])
def test_it_is_asked_once_and_all_get_the_answer(models: int) -> None:
    async def work() -> list[Reply[Holds]]:
        talker = SlowTalker()
        asked = _ask(talker, own=models)
        (await talker.next_call(1)).set_result(YES)
        return await asyncio.gather(*asked)

    replies = asyncio.run(work())
    assert [isinstance(reply, Answered) and reply.value.holds for reply in replies] == [True] * 3
    assert sorted(reply.cost or 0 for reply in replies) == [0, 0, COST]


def test_a_disk_that_keeps_nothing_does_not_make_it_paid_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnswerCache, "put", lambda *given: None)
    test_it_is_asked_once_and_all_get_the_answer(3)


def test_if_the_first_gets_no_answer_the_next_asks_itself() -> None:
    async def work() -> list[Reply[Holds]]:
        talker = SlowTalker()
        asked = _ask(talker)
        (await talker.next_call(1)).set_exception(CallError("rejected", "not today"))
        (await talker.next_call(2)).set_result(YES)
        return await asyncio.gather(*asked)

    first, *others = asyncio.run(work())
    assert isinstance(first, Unanswered)
    assert [type(reply) for reply in others] == [Answered, Answered]
    assert [reply.cost for reply in others] == [COST, 0]


@pytest.mark.parametrize("cancelled", [0, 1])
def test_whoever_is_cancelled_cancels_nobody_else(cancelled: int) -> None:
    async def work() -> list[Reply[Holds] | BaseException]:
        talker = SlowTalker()
        asked = _ask(talker)
        call = await talker.next_call(1)
        asked[cancelled].cancel()
        if cancelled == 0:
            call = await talker.next_call(2)
        call.set_result(YES)
        return await asyncio.gather(*asked, return_exceptions=True)

    replies = asyncio.run(work())
    assert isinstance(replies.pop(cancelled), asyncio.CancelledError)
    assert [type(reply) for reply in replies] == [Answered, Answered]


def test_without_a_cache_each_is_asked() -> None:
    async def work() -> None:
        talker = SlowTalker()
        asked = _ask(talker, cache=False)
        await talker.next_call(3)
        for call in talker.calls:
            call.set_result(YES)
        await asyncio.gather(*asked)

    asyncio.run(work())


def test_a_server_hears_twenty_equal_questions_once() -> None:
    async def work(url: str) -> list[Reply[Holds]]:
        model = open_chat_model("openai/gpt-4o", {"base_url": f"{url}/v1"})
        return await asyncio.gather(*(model.ask(MESSAGES, Holds) for _ in range(20)))

    with Loopback(reply=lambda asked: '{"holds": true}', latency=0.05) as server:
        replies = asyncio.run(work(server.url))
    assert [type(reply) for reply in replies] == [Answered] * 20
    assert len(server.requests) == 1
