"""Chat providers: adds retries, rate limits, structured output, prices and caching to a single API call."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from re import Pattern

from formalimg._util.text import truncate
from formalimg.models.base import (
    Answered,
    Attachment,
    CallError,
    ChatProvider,
    Completion,
    Message,
    Reply,
    Unanswered,
    Usage,
)
from formalimg.models.cache import AnswerCache, CurrentQuestion, cache_folder, cache_key, single_flight
from formalimg.models.pricing import price_of
from formalimg.models.retry import DEFAULT_RETRY_POLICY, RateLimiter, RetryPolicy
from formalimg.models.secrets import StoredSettings, mask_secrets, redact_known_keys, redact_values
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

_BYTES_PER_TOKEN = 2  # on the safe side: English text has about four bytes a token, and other languages three
_MESSAGE_TOKENS = 100  # more than what any chat template puts around a message
_IMAGE_TOKENS = 3_000  # more than what most models count for an image
_MANY_IMAGE_TOKENS = {"gpt-4o-mini": 50_000}
"""The same for models that count more, by a part of their names: gpt-4o-mini counts up to 48,169."""
_SHORTEST_ANSWER = 500
"""Tokens that are counted at least for an answer of which nothing is known: it may have been lost, or thought about."""
_LONGEST_ANSWER = 65_536  # tokens that are counted at most for an answer if no setting limits it
_LENGTH_LIMITS = ("max_tokens", "max_completion_tokens")
"""Settings that limit the length of an answer, thinking included; also as fields that the user adds."""


def estimate_input(model: str, messages: Sequence[Message], schema: Mapping[str, object]) -> int:
    """Estimate the input tokens of a request, including the answer schema, which may be sent twice."""
    image_tokens = next((count for part, count in _MANY_IMAGE_TOKENS.items() if part in model), _IMAGE_TOKENS)
    size, tokens = 2 * len(json.dumps(schema)), 0
    for message in messages:
        tokens += _MESSAGE_TOKENS
        for part in message.parts:
            if isinstance(part, Attachment):
                tokens += image_tokens
            else:
                size += len(part.encode("utf-8", "replace"))
    return tokens + _estimate_tokens(size)


def maximum_output(settings: Mapping[str, Setting]) -> int | None:
    """Return the output token limit in these settings, or None if they set no limit."""
    limits = [settings.get(prefix + name) for name in _LENGTH_LIMITS for prefix in ("", "extra.")]
    return max((int(limit) for limit in limits if limit is not None and str(limit).isdecimal()), default=None)


def complete_usage(reported: Usage, received: int, *, sent: Callable[[], int], longest: int | None) -> Usage:
    """Return the usage of a call, estimating counts that the provider did not report."""
    if reported.input_tokens:
        return reported
    limit = _LONGEST_ANSWER if longest is None else longest
    return Usage(sent(), reported.output_tokens or min(max(_SHORTEST_ANSWER, _estimate_tokens(received)), limit))


def _estimate_tokens(size: int) -> int:
    return -(-size // _BYTES_PER_TOKEN)


_VERSION = 1  # incremented with every change after which models are asked, or answers are parsed, differently

_log = logging.getLogger(__name__)


class ProviderChatModel:
    """A chat model backed by a provider."""

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
        """All settings except the messages that affect the answers, including the version of the question format."""
        return {**self._settings.of(self._provider.settings), "asking": _VERSION, "format": format_instruction()[0]}

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        """Ask a question and parse the answer as a Pydantic type; return `Unanswered` if all retries fail.

        Whoever asks the same while it is being asked waits for that answer, which is then paid for once.
        """
        schema = answer_schema(answer_type)
        key = cache_key(self.name, self.settings, messages, schema)
        if not self._policy.cache:
            return await self._ask(key, messages, schema, answer_type, None)
        async with single_flight(f"{cache_folder()} {key}") as current:
            if self._cache is None:
                self._cache = AnswerCache(cache_folder())
            cached = current.answer or await asyncio.to_thread(self._cache.get, key)
            if cached is not None:
                value = await parse_answer_aside(cached.text, answer_type)
                if not isinstance(value, ParseFailure):
                    _log.debug("%s: answer from the cache", self.name)
                    soft = cached.p_yes, cached.first_tokens
                    return Answered(value, cached.text, Usage(), 0.0, cached.served, True, *soft)
                await self._drop(key)  # the type's own checks have changed, and the first answer would stay
            return await self._ask(key, messages, schema, answer_type, current)

    async def forget(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> None:
        """Remove a cached answer that was parsed successfully but cannot be used."""
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
            answer: AnswerType | ParseFailure
            if completion.ended == "length" and not is_text_answer(answer_type):
                answer = ParseFailure("the answer was cut off by the limit on its length")
            else:
                answer = await parse_answer_aside(completion.text, answer_type)
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
        sent = None if schema == TEXT_SCHEMA else schema
        if sent is not None and sent != OBJECT_SCHEMA and not getattr(self._provider, "supports_schema", True):
            messages = with_format(messages, schema)
        completion = await self._provider.complete(messages, sent)
        if completion.ended != "refusal" and completion.text.strip() and not completion.usage.output_tokens:
            completion = replace(completion, usage=Usage())  # it cannot be that words took no tokens
        note_text(completion.text)
        text = completion.text.encode("utf-8", "replace").decode()  # half a character would fit into no file
        return replace(completion, text=redact_known_keys(text), served=redact_values(completion.served))

    async def _drop(self, key: str) -> None:
        if self._cache is not None:
            await asyncio.to_thread(self._cache.delete, key)


def build_chat_model(
    provider: ChatProvider, *, retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY, limiter: RateLimiter | None = None
) -> ProviderChatModel:
    """Build a chat model from a provider, adding rate limits, retries, timeouts, prices, caching and answer parsing.

    Args:
        provider: makes the calls. If its attribute `supports_schema` is False, the schema is sent as text in the
            messages.
        retry_policy: limits and backoff.
        limiter: a rate limiter shared with other models; a new one if None.
    """
    limiter = limiter or RateLimiter(retry_policy, name=mask_secrets(provider.name))
    return ProviderChatModel(provider, retry_policy, limiter)


class SchemaProvider:
    """A chat provider whose server may enforce the answer schema; subclasses send the requests.

    In the mode `json_schema` the schema is sent, in `json_object` any JSON is asked for, and in `none` nothing. The
    last is the mode once the server rejects schemas: then they are text in the messages.
    """

    marks_rejection = False  # whether `served` says that the schema was rejected

    def __init__(self, name: str, settings: Mapping[str, Setting], mode: str, rejection: Pattern[str]) -> None:
        self.name = name
        self.settings: Mapping[str, Setting] = dict(settings)
        self._mode = mode
        self._rejection = rejection  # what such a server says

    @property
    def supports_schema(self) -> bool:
        """Whether the server enforces the answer schema."""
        return self._mode == "json_schema"

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Send one request, and retry it with the schema as text if the server rejects schemas."""
        completion, rejected = await self._with_schema(self._send, messages, schema)
        if rejected and self.marks_rejection:
            return replace(completion, served={**completion.served, "schema": "none"})
        return completion

    async def _send(self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str) -> Completion:
        raise NotImplementedError

    async def _with_schema(
        self,
        send: Callable[[Sequence[Message], Mapping[str, object] | None, str], Awaitable[Completion]],
        messages: Sequence[Message],
        schema: Mapping[str, object] | None,
    ) -> tuple[Completion, bool]:
        mode = "none" if schema is None else self._mode
        if schema == OBJECT_SCHEMA and mode != "none":
            mode = "json_object"
        try:
            return await send(messages, schema, mode), False
        except CallError as error:
            if mode == "none" or error.kind != "rejected" or not self._rejection.search(error.reason):
                raise
        self._mode = "none"
        _log.info("the server rejects JSON schemas: they are sent as text from now on")
        # In the mode json_object the schema is in the messages already.
        plain = with_format(messages, schema) if mode == "json_schema" and schema is not None else messages
        return await send(plain, None, "none"), True
