"""Chat providers: adds retries, rate limits, structured output, prices and the cache to a single API call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from re import Pattern

from formalimg._util.text import truncate
from formalimg.models.base import CallError, Usage
from formalimg.models.cache import AnswerCache, cache_folder, cache_key
from formalimg.models.chat import Answered, ChatProvider, Completion, Message, Reply, Unanswered
from formalimg.models.chat_usage import complete_usage, estimate_input, maximum_output, without_impossible
from formalimg.models.deduplication import CurrentQuestion, asking
from formalimg.models.pricing import price_of
from formalimg.models.public_identity import StoredSettings, mask_secrets
from formalimg.models.retry import DEFAULT_RETRY_POLICY, RateLimiter, RetryPolicy
from formalimg.models.secrets import redact_known_keys, redact_values
from formalimg.models.spending import NO_USAGE, RequestCost, note_text, note_waste
from formalimg.models.structured_output import (
    OBJECT_SCHEMA,
    TEXT_SCHEMA,
    ParseFailure,
    answer_schema,
    format_instruction,
    is_text_answer,
    parse_answer_aside,
    with_format,
)
from formalimg.types import AnswerType, Setting

_VERSION = 1
"""Incremented with every change after which models are asked, or answers are parsed, differently."""

_log = logging.getLogger(__name__)


class ProviderChatModel:
    """The chat model of a provider.

    Attributes:
        name, concurrency: as for every chat model.
        price: what its calls cost.
    """

    def __init__(self, provider: ChatProvider, retry_policy: RetryPolicy, limiter: RateLimiter) -> None:
        self.name = mask_secrets(provider.name)
        self.concurrency = retry_policy.concurrency
        self._provider = provider
        self._settings = StoredSettings()
        self._policy = retry_policy
        self._limiter = limiter
        self.price = retry_policy.price or price_of(provider)
        self._cache: AnswerCache | None = None

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything besides the messages that shapes the answers, with the version of how models are asked."""
        return {
            **self._settings.of(self._provider.settings),
            "asking": _VERSION,
            "format": format_instruction().version,
        }

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        """Ask, and parse the answer as a Pydantic type; retry what cannot be parsed, then return `Unanswered`.

        Whoever asks the same while it is being asked waits for that answer, which is then paid for once.
        """
        schema = answer_schema(answer_type)
        key = cache_key(self.name, self.settings, messages, schema)
        if not self._policy.cache:
            return await self._ask(key, messages, schema, answer_type, None)
        async with asking(f"{cache_folder()} {key}") as current:
            known = current.answer or await self._cached(key)
            if known is not None:
                value = await parse_answer_aside(known.text, answer_type)
                if not isinstance(value, ParseFailure):
                    _log.debug("%s: answer from the cache", self.name)
                    soft = known.p_yes, known.first_tokens
                    return Answered(value, known.text, Usage(), 0.0, known.served, True, *soft)
                await self._drop(key)  # the type's own checks have changed, and the first answer would stay
            return await self._ask(key, messages, schema, answer_type, current)

    async def forget(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> None:
        """Remove a cached answer that has the requested form and still cannot be used."""
        await self._drop(cache_key(self.name, self.settings, messages, answer_schema(answer_type)))

    async def _ask(
        self,
        key: str,
        messages: Sequence[Message],
        schema: Mapping[str, object],
        answer_type: type[AnswerType],
        current: CurrentQuestion | None,
    ) -> Reply[AnswerType]:
        longest = maximum_output(self._provider.settings)
        sent = partial(estimate_input, self.name, messages, schema)
        spent = RequestCost(self.price, partial(complete_usage, sent=sent, longest=longest))
        send = partial(spent.attempt, partial(self._complete, messages, schema))
        raw, reason = "", "nothing was asked"
        for attempt in range(1 + self._policy.parse_retries):
            try:
                completion = await self._limiter.call(send)
            except CallError as error:
                if error.kind == "refused":
                    return Unanswered("refused", error.reason, raw, spent.usage, spent.cost)
                return Unanswered("failed", f"{error.kind}: {error.reason}", raw, spent.usage, spent.cost)
            raw = completion.text
            if completion.ended == "refusal":
                reason = truncate(" ".join(raw.split()), 300, 50) or "the model declined"
                return Unanswered("refused", reason, raw, spent.usage, spent.cost)
            answer = await _parse(completion, answer_type)
            if not isinstance(answer, ParseFailure):
                if current is not None:
                    current.answer = completion
                if self._cache is not None:
                    # What could be read is whole, even if it was cut off: see `TextAnswer`.
                    await asyncio.to_thread(self._cache.put, key, replace(completion, ended="stop"))
                served = {**completion.served, "usage": NO_USAGE} if spent.estimated else completion.served
                soft = completion.p_yes, completion.first_tokens
                return Answered(answer, raw, spent.usage, spent.cost, served, False, *soft)
            reason = answer.reason
            note_waste()
            # Without the reason, which quotes the answer.
            _log.info("%s: answer %d of %d cannot be parsed", self.name, attempt + 1, 1 + self._policy.parse_retries)
        return Unanswered("unreadable", reason, raw, spent.usage, spent.cost)

    async def _complete(self, messages: Sequence[Message], schema: Mapping[str, object]) -> Completion:
        """Make one call. A provider may find out during a run that its server has no structured output."""
        sent = None if schema == TEXT_SCHEMA else schema
        if sent is not None and sent != OBJECT_SCHEMA and not getattr(self._provider, "supports_schema", True):
            messages = with_format(messages, schema)
        completion = without_impossible(await self._provider.complete(messages, sent))
        note_text(completion.text)
        text = completion.text.encode("utf-8", "replace").decode()  # half a character would fit into no file
        return replace(completion, text=redact_known_keys(text), served=redact_values(completion.served))

    async def _cached(self, key: str) -> Completion | None:
        if self._cache is None:
            self._cache = AnswerCache(cache_folder())
        return await asyncio.to_thread(self._cache.get, key)

    async def _drop(self, key: str) -> None:
        if self._cache is not None:
            await asyncio.to_thread(self._cache.delete, key)


def build_chat_model(
    provider: ChatProvider, *, retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY, limiter: RateLimiter | None = None
) -> ProviderChatModel:
    """Build a chat model from a provider: adds rate limits, retries, timeouts, prices, the cache and answer parsing.

    Args:
        provider: makes the calls. If its attribute `supports_schema` is False, the schema is sent as text in the
            messages.
        retry_policy: limits and backoff.
        limiter: a rate limiter shared with other models; a new one if None.
    """
    limiter = limiter or RateLimiter(retry_policy, name=mask_secrets(provider.name))
    return ProviderChatModel(provider, retry_policy, limiter)


class SchemaMode:
    """How a provider sends the schema of an answer: `json_schema`, `json_object` (any JSON) or `none`.

    Falls back to `none`, with the schema as text in the messages, once the server rejects schemas.

    Attributes:
        value: the current mode.
    """

    def __init__(self, value: str, rejection: Pattern[str]) -> None:
        """Create a mode."""
        self.value = value
        self._rejection = rejection

    async def complete(
        self,
        send: Callable[[Sequence[Message], Mapping[str, object] | None, str], Awaitable[Completion]],
        messages: Sequence[Message],
        schema: Mapping[str, object] | None,
    ) -> tuple[Completion, bool]:
        """Call `send(messages, schema, mode)`, and once more without the schema if the server rejects it."""
        mode = "none" if schema is None else self.value
        if schema == OBJECT_SCHEMA and mode != "none":
            mode = "json_object"
        try:
            return await send(messages, schema, mode), False
        except CallError as error:
            if mode == "none" or error.kind != "rejected" or not self._rejection.search(error.reason):
                raise
        self.value = "none"
        _log.info("the server rejects JSON schemas: they are sent as text from now on")
        # In the mode json_object the schema is in the messages already.
        plain = with_format(messages, schema) if mode == "json_schema" and schema is not None else messages
        return await send(plain, None, "none"), True


async def _parse(completion: Completion, answer_type: type[AnswerType]) -> AnswerType | ParseFailure:
    if completion.ended == "length" and not is_text_answer(answer_type):
        return ParseFailure("the answer was cut off by the limit on its length")
    return await parse_answer_aside(completion.text, answer_type)
