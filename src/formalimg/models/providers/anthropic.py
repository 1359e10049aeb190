"""Anthropic chat models, based on the Messages API."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment, CallError, Completion, Message
from formalimg.models.options import (
    MODEL_DEFAULT,
    Options,
    read_extra_fields,
    server_api_key,
    with_base_url,
    without_none,
)
from formalimg.models.pricing import note_usage
from formalimg.models.provider_models import SchemaProvider, build_chat_model
from formalimg.models.providers.http import Endpoint, plain_fields, read_usage
from formalimg.models.providers.limits import MAX_CHAT_BYTES, limit_answers
from formalimg.models.providers.sdk import SdkClient
from formalimg.models.registry import requires
from formalimg.models.retry import chat_retry_policy
from formalimg.types import ChatModel, Setting

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_AnthropicClient: TypeAlias = "SdkClient[AsyncAnthropic]"

_KEY_NAME = "ANTHROPIC_API_KEY"
_DEFAULT_URL = "https://api.anthropic.com"
_STOP_REASONS: Mapping[object, Literal["stop", "length", "refusal"]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_ABOUT_SCHEMA = re.compile(r"output_config|output_format|json_schema|structured.?output|schema", re.IGNORECASE)


class AnthropicChat(SchemaProvider):
    """A chat model accessed through the Messages API: one call per `complete`."""

    def __init__(
        self,
        model: str,
        server: _AnthropicClient,
        *,
        max_tokens: int = 8192,
        schema: str = "json_schema",
        effort: str | None = None,
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> None:
        super().__init__(f"anthropic/{model}", settings or {}, schema, _ABOUT_SCHEMA)
        self._model = model
        self._server = server
        self._max_tokens = max_tokens
        self._effort = effort
        self._fields = dict(fields or {})

    async def _send(self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str) -> Completion:
        fields = {**self._fields, **self._output_config(schema if mode == "json_schema" else None)}
        system = [_encode_part(part) for message in messages if message.role == "system" for part in message.parts]
        if system:
            fields["system"] = system
        turns = [
            {"role": message.role, "content": [_encode_part(part) for part in message.parts]}
            for message in messages
            if message.role != "system"
        ]

        def send(client: AsyncAnthropic) -> Awaitable[Any]:
            # Most fields go past the library: which of them it knows by name differs between versions.
            return client.messages.with_raw_response.create(
                model=self._model,
                max_tokens=self._max_tokens,
                messages=turns,  # type: ignore[arg-type]  # plain values, not the library's types
                extra_body=fields,
            )

        answer, request_id = await self._server.call(send)
        return _parse_completion(answer, {**plain_fields(answer, "model", "id"), **request_id})

    def _output_config(self, schema: Mapping[str, object] | None) -> dict[str, object]:
        config: dict[str, object] = {"effort": self._effort} if self._effort else {}
        if schema is not None:
            from anthropic import transform_schema

            # Bounds and lengths are not understood there; the library moves them into the descriptions.
            config["format"] = {"type": "json_schema", "schema": transform_schema(dict(schema))}
        return {"output_config": config} if config else {}


@requires(modules=["anthropic"], install=install_line("anthropic"), keys=[_KEY_NAME], unless="for a server of your own")
def open_anthropic_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model of Anthropic."""
    name = f"anthropic/{model}"
    parsed = Options(name, with_base_url(options, "ANTHROPIC_BASE_URL"))
    retry_policy = chat_retry_policy(parsed)
    base_url = parsed.url("base_url", None)
    max_tokens = parsed.integer("max_tokens", 8192, minimum=1)
    temperature = parsed.number("temperature", None, minimum=0, maximum=1.0, words=MODEL_DEFAULT)
    effort = parsed.text("effort", None)
    thinking = parsed.text("thinking", None)
    schema = parsed.choice("schema", ("json_schema", "none"), "json_schema")
    fields, extra_settings = read_extra_fields(parsed)
    parsed.reject_unknown()
    server = _connect_anthropic(name, base_url, retry_policy.timeout)
    settings: dict[str, Setting] = {"max_tokens": max_tokens, "schema": schema}
    settings |= without_none({"temperature": temperature, "effort": effort, "thinking": thinking, "base_url": base_url})
    settings |= extra_settings
    fields |= without_none({"temperature": temperature})
    if thinking in ("adaptive", "disabled"):
        fields["thinking"] = {"type": thinking}
    elif thinking is not None:
        tokens = Options(name, {"thinking": thinking}).integer("thinking", None, minimum=1024)
        fields["thinking"] = {"type": "enabled", "budget_tokens": tokens}
    provider = AnthropicChat(
        model, server, max_tokens=max_tokens, schema=schema, effort=effort, fields=fields, settings=settings
    )
    return build_chat_model(provider, retry_policy=retry_policy)


def _connect_anthropic(model: str, base_url: str | None, timeout: float) -> _AnthropicClient:
    try:
        import anthropic
    except ImportError:
        raise FormalimgError(f"{model} needs the anthropic library: {install_line('anthropic')}") from None
    key = server_api_key(model, [_KEY_NAME], base_url)
    url = base_url or _DEFAULT_URL
    hooks = limit_answers(MAX_CHAT_BYTES)

    def connect() -> AsyncAnthropic:
        http_client = anthropic.DefaultAsyncHttpxClient(timeout=timeout, event_hooks=hooks)
        return anthropic.AsyncAnthropic(
            api_key=key, base_url=url, timeout=timeout, max_retries=0, http_client=http_client
        )

    return SdkClient(anthropic, Endpoint(model, _KEY_NAME, url), connect)


def _encode_part(part: str | Attachment) -> dict[str, object]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = base64.b64encode(part.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}


def _parse_completion(answer: Mapping[str, Any], served: Mapping[str, Setting]) -> Completion:
    blocks, reason, used = answer.get("content"), answer.get("stop_reason"), answer.get("usage")
    sent = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
    usage = note_usage(read_usage(used, sent, ["output_tokens"]))
    if not isinstance(blocks, list):
        raise CallError("wrong", "there is no message in the answer")
    if not isinstance(reason, str) or reason not in _STOP_REASONS:
        raise CallError("wrong", f"the answer ended in an unknown way: {reason!r:.60}", usage=usage)
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    text = "".join(part for part in texts if isinstance(part, str))
    ended = _STOP_REASONS[reason]
    if ended == "stop" and not text.strip():
        raise CallError("wrong", "there is no text in the answer", usage=usage)
    return Completion(text, ended, usage, served)
