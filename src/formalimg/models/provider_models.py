"""Chat and image models of a provider: retries, limits, structured output, prices and caching for its API calls."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from re import Pattern
from typing import Protocol

from formalimg._util.io import cache_folder
from formalimg._util.text import truncate
from formalimg.models.base import (
    Answered,
    Attachment,
    CallError,
    ChatProvider,
    Completion,
    Failed,
    Generated,
    Identified,
    ImageRequest,
    ImageResult,
    Message,
    Refused,
    Reply,
    Unanswered,
    Usage,
)
from formalimg.models.cache import AnswerCache, CurrentQuestion, cache_key, single_flight
from formalimg.models.pricing import NO_USAGE, RequestCost, note_text, note_waste, price_of
from formalimg.models.retry import DEFAULT_RETRY_POLICY, RateLimiter, RetryPolicy
from formalimg.models.secrets import StoredSettings, mask_secrets, redact_known_keys, redact_values
from formalimg.models.structured_output import (
    OBJECT_SCHEMA,
    TEXT_SCHEMA,
    ParseFailure,
    answer_schema,
    format_instruction,
    is_text_answer,
    parse_answer,
    read_aside,
    with_format,
)
from formalimg.types import AnswerType, Setting

_BYTES_PER_TOKEN = 2  # on the safe side: English text has about four bytes a token, and other languages three
_MESSAGE_TOKENS = 100  # more than what any chat template puts around a message
_IMAGE_TOKENS = 3_000  # more than what most models count for an image
_MANY_IMAGE_TOKENS = {"gpt-4o-mini": 50_000}  # models that count more, by a part of their names
_SHORTEST_ANSWER = 500  # tokens counted at least for an answer of which nothing is known, as it may have been lost
_LONGEST_ANSWER = 65_536  # tokens that are counted at most for an answer if no setting limits it
# settings that limit the length of an answer, thinking included; also as fields that the user adds
_LENGTH_LIMITS = ("max_tokens", "max_completion_tokens")
_VERSION = 1  # incremented with every change after which models are asked, or answers are parsed, differently
_log = logging.getLogger(__name__)


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

        Concurrent calls with the same question wait for one answer, which is paid for once.
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
                value = await read_aside(len(cached.text), parse_answer, cached.text, answer_type)
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
                answer = await read_aside(len(raw), parse_answer, raw, answer_type)
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

    If the attribute `supports_schema` of the provider is False, the schema is sent as text in the messages. A limiter
    can be shared between models.
    """
    limiter = limiter or RateLimiter(retry_policy, name=mask_secrets(provider.name))
    return ProviderChatModel(provider, retry_policy, limiter)


class SchemaProvider:
    """A chat provider whose server may enforce the answer schema; subclasses send the requests.

    The mode `json_schema` sends the schema, `json_object` requests any JSON, and `none` requests neither. Once the
    server rejects schemas, the mode is `none`, and they are sent as text in the messages.
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


# --- images


@dataclass(frozen=True)
class ImageCompletion:
    """A generated image in the format returned by the provider."""

    data: bytes  # the file as received
    served: Mapping[str, Setting] = field(default_factory=dict)  # what was actually used, as far as it is reported
    usage: Usage = field(default_factory=lambda: Usage(images=1))  # tokens or images used


class ImageProvider(Identified, Protocol):
    """One API call to an image model. `build_image_model` adds retries, rate limits and prices."""

    @property
    def takes_images(self) -> bool:
        """Whether the model accepts a reference image in addition to the prompt."""

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Send one request."""


class ProviderImageModel:
    """An image model backed by a provider. A failed call becomes a result with a reason."""

    batch = 1
    sees_spec = False

    def __init__(self, provider: ImageProvider, retry_policy: RetryPolicy, limiter: RateLimiter) -> None:
        self.name = mask_secrets(provider.name)
        self.concurrency = retry_policy.concurrency
        self.takes_images = provider.takes_images
        self._provider = provider
        self._settings = StoredSettings()
        self._limiter = limiter
        self.price = retry_policy.price or price_of(provider)

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything except the request that affects the images."""
        return self._settings.of(self._provider.settings)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order."""
        for request in requests:
            yield await self._generate_one(request)

    async def _generate_one(self, request: ImageRequest) -> ImageResult:
        if request.reference is not None and not self.takes_images:
            return Failed(f"{self.name} takes text only, and was given an image")
        spent = RequestCost(self.price, self._complete_usage, keeps_answers=True)
        try:
            completion = await self._limiter.call(lambda: spent.attempt(lambda: self._provider.complete(request)))
        except CallError as error:
            if error.kind == "refused":
                return Refused(error.reason, cost=spent.cost)
            return Failed(f"{error.kind}: {error.reason}", cost=spent.cost)
        served = redact_values(completion.served)
        return Generated(completion.data, {**served, "usage": NO_USAGE} if spent.estimated else served, spent.cost)

    def _complete_usage(self, reported: Usage, received: int) -> Usage:
        """Return the usage with missing counts filled in, assuming that one image is billed."""
        if self.price.output is None:  # a price by the image, or none
            return reported if reported.images else replace(reported, images=1)
        if reported.output_tokens > 0 or (reported.input_tokens > 0 and not reported.images):
            return reported
        # The price of an image, if there is one: tokens without those of the image are not its cost.
        return Usage(images=max(1, reported.images))


def build_image_model(
    provider: ImageProvider, *, retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY, limiter: RateLimiter | None = None
) -> ProviderImageModel:
    """Build an image model from a provider, adding rate limits, retries, timeouts and prices.

    A limiter can be shared between models.
    """
    limiter = limiter or RateLimiter(retry_policy, name=mask_secrets(provider.name))
    return ProviderImageModel(provider, retry_policy, limiter)
