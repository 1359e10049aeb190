"""From one call of a provider to a chat model: good retry_policy, answers of a known form, and a memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import NamedTuple

from formalimg._util.text import truncate
from formalimg.models.base import CallError, Setting, Usage
from formalimg.models.cache import Memory, cache_folder, question_key
from formalimg.models.chat import Answered, AnswerType, ChatProvider, Completion, Message, Reply, Unanswered
from formalimg.models.pricing import Price, price
from formalimg.models.retry import USUAL, Door, RetryPolicy
from formalimg.models.secrets import without_keys, without_known_keys
from formalimg.models.structured_output import Unreadable, answer_schema, read_answer

_VERSION = 1
"""Raised with every change after which a model is asked, or its answers are read, differently."""


class FormatText(NamedTuple):
    """Our words on the form of an answer, and their version."""

    version: int
    text: str


class AskedChatModel:
    """A chat model behind a provider.

    Attributes:
        name, concurrency: as for every chat model.
    """

    def __init__(self, provider: ChatProvider, retry_policy: RetryPolicy, door: Door, price: Price) -> None:
        self.name = provider.name
        self.concurrency = retry_policy.concurrency
        self._provider = provider
        self._manners = retry_policy
        self._door = door
        self._price = price
        self._memory: Memory | None = None

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything besides the messages that shapes the answers, with the version of how we ask."""
        return {**self._provider.settings, "asking": _VERSION, "format": _format_text().version}

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        """Ask, and read the answer as a Pydantic type; what cannot be read is asked again, then `Unanswered`."""
        schema = answer_schema(answer_type)
        question = question_key(self.name, self.settings, messages, schema)
        remembered = await self._recalled(question)
        if remembered is not None:
            known = read_answer(remembered.text, answer_type)
            if not isinstance(known, Unreadable):
                return Answered(known, remembered.text, served=remembered.served, remembered=True)
            await self._forgotten(question)  # the type's own checks have changed, and the first answer would stay
        return await self._asked(question, messages, schema, answer_type)

    async def forget(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> None:
        """Let go of a remembered answer that has the wanted form and still cannot be used."""
        await self._forgotten(question_key(self.name, self.settings, messages, answer_schema(answer_type)))

    async def _asked(
        self, question: str, messages: Sequence[Message], schema: Mapping[str, object], answer_type: type[AnswerType]
    ) -> Reply[AnswerType]:
        spent = Unanswered("unreadable", "nothing was asked")
        for _ in range(1 + self._manners.reads):
            wasted: list[Usage] = []
            try:
                completion = await self._door.politely(partial(self._completed, messages, schema, wasted))
            except CallError as error:
                spent = self._spent(spent, *wasted)
                if error.fault == "refused":
                    return replace(spent, kind="refused", reason=error.reason)
                return replace(spent, kind="failed", reason=f"{error.fault}: {error.reason}")
            spent = replace(self._spent(spent, *wasted, completion.usage), raw=completion.text)
            if completion.ended == "refusal":
                return replace(spent, kind="refused", reason=_in_one_line(completion.text) or "the model declined")
            answer = _read(completion, answer_type)
            if not isinstance(answer, Unreadable):
                await self._kept(question, completion)
                return Answered(answer, completion.text, spent.usage, spent.cost, completion.served)
            spent = replace(spent, reason=answer.reason)
        return spent

    async def _completed(
        self, messages: Sequence[Message], schema: Mapping[str, object], wasted: list[Usage]
    ) -> Completion:
        """One call; what it used up goes to `wasted` if nothing came of it.

        A provider may find out in the middle of a run that its server cannot be held to a schema.
        """
        holds_to_schema = getattr(self._provider, "holds_to_schema", True)
        asked = messages if holds_to_schema else with_format(messages, schema)
        try:
            completion = await self._provider.complete(asked, schema)
        except CallError as error:
            if error.usage != Usage():  # mostly nothing was used, or nobody says how much
                wasted.append(error.usage)
            raise
        text = completion.text.encode("utf-8", "replace").decode()  # half a character would fit into no file
        return replace(completion, text=without_known_keys(text), served=without_keys(completion.served))

    def _spent(self, before: Unanswered, *used: Usage) -> Unanswered:
        costs = [before.cost, *map(self._price.cost, used)]
        known = [cost for cost in costs if cost is not None]
        total = sum(known) if len(known) == len(costs) else None
        return replace(before, usage=sum(used, before.usage), cost=total)

    async def _recalled(self, question: str) -> Completion | None:
        if not self._manners.cache:
            return None
        if self._memory is None:
            self._memory = Memory(cache_folder())
        return await asyncio.to_thread(self._memory.recall, question)

    async def _kept(self, question: str, completion: Completion) -> None:
        if self._memory is not None:
            await asyncio.to_thread(self._memory.remember, question, completion)

    async def _forgotten(self, question: str) -> None:
        if self._memory is not None:
            await asyncio.to_thread(self._memory.forget, question)


def asking(provider: ChatProvider, *, retry_policy: RetryPolicy = USUAL, door: Door | None = None) -> AskedChatModel:
    """A chat model of a provider's calls: with limits, retries, time-outs, prices, a memory, and answers that are read.

    Args:
        provider: makes the calls. If its attribute `holds_to_schema` is False, our words on the form of the answer go
            with the messages.
        retry_policy: how.
        door: the way to the model, if several share one limit; a new one if None.
    """
    return AskedChatModel(provider, retry_policy, door or Door(retry_policy), price(provider.name))


def with_format(messages: Sequence[Message], schema: Mapping[str, object]) -> tuple[Message, ...]:
    """The messages, the last of the user's with our words on the form of the answer at its end."""
    words = _format_text().text.replace("{schema}", json.dumps(schema, ensure_ascii=False))
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=None)
    if last is None:
        return (*messages, Message("user", (words,)))
    asked = messages[last]
    return (*messages[:last], Message("user", (*asked.parts, words)), *messages[last + 1 :])


def _read(completion: Completion, answer_type: type[AnswerType]) -> AnswerType | Unreadable:
    if completion.ended == "length":
        return Unreadable("the answer was cut off by the limit on its length")
    return read_answer(completion.text, answer_type)


@cache
def _format_text() -> FormatText:
    text = (files("formalimg.models") / "prompts" / "answer_format.txt").read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    return FormatText(int(first.removeprefix("version:")), rest.strip())


def _in_one_line(text: str) -> str:
    return truncate(" ".join(text.split()), 300, 50)
