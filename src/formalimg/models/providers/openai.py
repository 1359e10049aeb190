"""OpenAI chat and image models, including compatible servers: vLLM, SGLang, Ollama, gateways."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Completion, Message, Usage
from formalimg.models.chat_provider import SchemaProvider, build_chat_model
from formalimg.models.image_provider import build_image_model
from formalimg.models.options import MODEL_DEFAULT, Options, read_extra_fields, with_base_url, without_none
from formalimg.models.providers.http import plain_fields, read_usage
from formalimg.models.providers.limits import MAX_CHAT_BYTES
from formalimg.models.providers.openai_images import OpenAIChatImages, OpenAIImages
from formalimg.models.providers.sdk import (
    OPENAI_KEY,
    OpenAIClient,
    complete_chat,
    connect_openai,
    encode_message,
    first_message,
    response_format,
)
from formalimg.models.registry import requires
from formalimg.models.retry import chat_retry_policy, image_retry_policy
from formalimg.models.spending import note_usage
from formalimg.models.yes_probability import LogprobsFields, LogprobsMode, read_top_logprobs
from formalimg.types import ChatModel, ImageModel, Setting

_REASONING_MODEL = re.compile(r"o\d|gpt-[5-9](?!.*chat)")
"""OpenAI's reasoning models: they take no temperature, and have another name for the token limit."""
_FINISH_REASONS: Mapping[object, Literal["stop", "length", "refusal"]] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", None), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "safety"), "refusal"),
}
_ABOUT_SCHEMA = re.compile(r"response_format|json_schema|json_object|structured.?output|guided|grammar", re.IGNORECASE)
_IMAGE_FIELDS = ("quality", "output_format", "background", "moderation", "style", "input_fidelity")

_requires_openai = requires(
    modules=["openai"], install=install_line("openai"), keys=[OPENAI_KEY], unless="for a server of your own"
)


class OpenAIChat(SchemaProvider):
    """A chat model accessed through chat completions: one call per `complete`."""

    def __init__(
        self,
        model: str,
        server: OpenAIClient,
        *,
        schema: str = "json_schema",
        detail: str | None = None,
        top_logprobs: int | None = None,
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> None:
        super().__init__(f"openai/{model}", settings or {}, schema, _ABOUT_SCHEMA)
        self._model = model
        self._server = server
        self._detail = detail
        self._logprobs = LogprobsMode(self.name, top_logprobs)
        self._fields = dict(fields or {})

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Send one request, and retry it without schema or log-probabilities if the server rejects them."""

        async def send(messages: Sequence[Message], sent: Mapping[str, object] | None, mode: str) -> Completion:
            return await self._logprobs.complete(partial(self._send_once, messages, sent, mode), schema)

        return (await self._with_schema(send, messages, schema))[0]

    async def _send_once(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str, logprobs: LogprobsFields
    ) -> tuple[Completion, Mapping[str, Any]]:
        encoded = [encode_message(message, self._detail) for message in messages]
        fields = {**self._fields, **logprobs, "messages": encoded}
        if (form := response_format(mode, schema)) is not None:
            fields["response_format"] = form
        fields = dict(sorted(fields.items()))  # the order in which the library itself writes them
        answer, request_id = await complete_chat(self._server, self._model, fields)
        served = plain_fields(answer, "model", "id", "created", "system_fingerprint", "service_tier")
        usage = note_usage(read_usage(answer.get("usage"), ["prompt_tokens"], ["completion_tokens"]))
        return _parse_completion(answer, usage, {**served, **request_id}), answer


@_requires_openai
def open_openai_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model of OpenAI, or of a server that speaks as OpenAI does: vLLM, SGLang, Ollama, gateways."""
    name = f"openai/{model}"
    parsed = Options(name, with_base_url(options, "OPENAI_BASE_URL"))
    parsed.accept_old_name("limit", "max_tokens_field")
    retry_policy = chat_retry_policy(parsed)
    base_url = parsed.url("base_url", None)
    is_reasoning = _REASONING_MODEL.match(model.rpartition("/")[2]) is not None
    limit = parsed.choice(
        "max_tokens_field",
        ("max_tokens", "max_completion_tokens"),
        "max_completion_tokens" if is_reasoning else "max_tokens",
    )
    temperature = parsed.number(
        "temperature", None if is_reasoning else 0.0, minimum=0, maximum=2.0, words=MODEL_DEFAULT
    )
    max_tokens = parsed.integer("max_tokens", 16384 if is_reasoning else 4096, minimum=1, words=MODEL_DEFAULT)
    sampling: dict[str, float | int | str | None] = {
        "temperature": temperature,
        limit: max_tokens,
        "top_p": parsed.number("top_p", None, minimum=0, maximum=1),
        "seed": parsed.integer("seed", None),
        "reasoning_effort": parsed.text("reasoning_effort", None),
    }
    schema = parsed.choice("schema", ("json_schema", "json_object", "none"), "json_schema")
    detail = parsed.choice("detail", ("auto", "low", "high"), None)
    top_logprobs = read_top_logprobs(parsed, name)
    extra_fields, extra_settings = read_extra_fields(parsed)
    parsed.reject_unknown()  # before the key: a server of one's own needs none, and its option may be misspelt
    server = connect_openai(name, base_url, retry_policy.timeout, MAX_CHAT_BYTES)
    sent: dict[str, float | int | str] = without_none(sampling)
    settings: dict[str, Setting] = {**sent, "schema": schema, **extra_settings}
    settings |= without_none({"detail": detail, "base_url": base_url})
    if top_logprobs is not None:  # only then: without it, judges of earlier versions are the same judges
        settings |= {"logprobs": True, "top_logprobs": top_logprobs}
    fields: dict[str, object] = dict(sent)
    if (text := options.get("temperature", "")).isdecimal():
        fields["temperature"] = int(text)  # 0, not 0.0: requests are equal to published ones to the byte
    fields |= extra_fields
    provider = OpenAIChat(
        model, server, schema=schema, detail=detail, top_logprobs=top_logprobs, fields=fields, settings=settings
    )
    return build_chat_model(provider, retry_policy=retry_policy)


@_requires_openai
def open_openai_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """An image model of OpenAI, or of a server that speaks as OpenAI does."""
    name = f"openai/{model}"
    parsed = Options(name, with_base_url(options, "OPENAI_BASE_URL"))
    parsed.accept_old_name("seeded", "send_seed")
    retry_policy = image_retry_policy(parsed)
    base_url = parsed.url("base_url", None)
    size = parsed.text("size", None)
    send_seed = parsed.flag("send_seed", False)
    response_format = parsed.choice("response_format", ("auto", "b64_json", "url", "none"), "auto")
    fields: dict[str, object] = without_none({field: parsed.text(field, None) for field in _IMAGE_FIELDS})
    compression = parsed.integer("output_compression", None, minimum=0, maximum=100)
    if compression is not None:
        fields["output_compression"] = compression
    extra_fields, extra_settings = read_extra_fields(parsed)
    api = parsed.choice("api", ("images", "chat"), "images")
    parsed.reject_unknown()
    unused = [*fields, *(["size"] if size else []), *(["response_format"] if response_format != "auto" else [])]
    if api == "chat" and unused:
        raise FormalimgError(f"{unused[0]} of {name} is not for api=chat: give extra.{unused[0]}=…, or leave it out")
    server = connect_openai(name, base_url, retry_policy.timeout)
    settings: dict[str, Setting] = {field: str(value) for field, value in fields.items()}
    settings |= {**extra_settings, **without_none({"size": size})}
    settings |= {"seeded": True} if send_seed else {}  # runs are stored under this name
    settings |= {"base_url": base_url} if base_url else {}
    provider: OpenAIImages | OpenAIChatImages
    if api == "chat":
        settings["api"] = api
        provider = OpenAIChatImages(
            model, server, send_seed=send_seed, fields=extra_fields, settings=settings, timeout=retry_policy.timeout
        )
    else:
        provider = OpenAIImages(
            model,
            server,
            size=size,
            send_seed=send_seed,
            response_format=response_format,
            fields={**fields, **extra_fields},
            settings=settings,
            timeout=retry_policy.timeout,
        )
    return build_image_model(provider, retry_policy=retry_policy)


def _parse_completion(answer: Mapping[str, Any], usage: Usage, served: Mapping[str, Setting]) -> Completion:
    choice, message = first_message(answer)
    text, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    if isinstance(refusal, str) and refusal:
        return Completion(refusal, "refusal", usage, served)
    if not isinstance(reason, str | None) or reason not in _FINISH_REASONS:
        raise CallError("wrong", f"the answer ended in an unknown way: {reason!r:.60}", usage=usage)
    ended = _FINISH_REASONS[reason]
    if ended == "stop" and not (isinstance(text, str) and text.strip()):
        raise CallError("wrong", "there is no text in the answer", usage=usage)
    return Completion(text if isinstance(text, str) else "", ended, usage, served)
