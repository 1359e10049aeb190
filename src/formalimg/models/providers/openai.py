"""OpenAI chat and image models, and those of compatible servers: vLLM, SGLang, Ollama, gateways."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, ImageRequest, Usage
from formalimg.models.chat import Completion, Message
from formalimg.models.chat_provider import SchemaMode, build_chat_model
from formalimg.models.image_provider import ImageCompletion, build_image_model
from formalimg.models.options import (
    Options,
    parse_extra_fields,
    read_temperature,
    read_token_limit,
    with_base_url,
    without_none,
)
from formalimg.models.providers.http import plain_fields, read_usage
from formalimg.models.providers.limits import MAX_CHAT_BYTES
from formalimg.models.providers.openai_chat_images import OpenAIChatImages, received_image
from formalimg.models.providers.openai_client import (
    OpenAIClient,
    connect_openai,
    encode_message,
    image_model_spec,
    requires_openai,
    response_format,
)
from formalimg.models.retry import chat_retry_policy, image_retry_policy
from formalimg.models.spending import note_usage
from formalimg.models.yes_probability import LogprobsFields, LogprobsMode, read_top_logprobs
from formalimg.types import ChatModel, ImageModel, Setting

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_REASONING_MODEL = re.compile(r"o\d|gpt-[5-9](?!.*chat)")
"""OpenAI's reasoning models: they take no temperature, and have another name for the token limit."""

_FINISH_REASONS: Mapping[object, Literal["stop", "length", "refusal"]] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    None: "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "safety": "refusal",
}
_ABOUT_SCHEMA = re.compile(r"response_format|json_schema|json_object|structured.?output|guided|grammar", re.IGNORECASE)
_IMAGE_FIELDS = ("quality", "output_format", "background", "moderation", "style", "input_fidelity")
_SERVED_FIELDS = ("model", "created", "size", "quality", "output_format", "background", "seed")


class OpenAIChat:
    """Chat completions: one call per `complete`.

    Attributes:
        name, settings: as for every chat provider.
    """

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
        """Create a provider."""
        self.name = f"openai/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self._model = model
        self._server = server
        self._schema = SchemaMode(schema, _ABOUT_SCHEMA)
        self._detail = detail
        self._logprobs = LogprobsMode(self.name, top_logprobs)
        self._fields = dict(fields or {})

    @property
    def supports_schema(self) -> bool:
        """Whether the server enforces the schema of an answer."""
        return self._schema.value == "json_schema"

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Send one request; a second one if the server rejects schemas or log-probabilities, without them."""

        async def send(messages: Sequence[Message], sent: Mapping[str, object] | None, mode: str) -> Completion:
            return await self._logprobs.complete(partial(self._send, messages, sent, mode), schema)

        return (await self._schema.complete(send, messages, schema))[0]

    async def _send(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str, logprobs: LogprobsFields
    ) -> tuple[Completion, Mapping[str, Any]]:
        # Most fields go past the library: servers know more of them than it has names for, and in messages it
        # would look at every value, to find the same.
        fields = {
            **self._fields,
            **logprobs,
            "messages": [encode_message(message, self._detail) for message in messages],
        }
        if (form := response_format(mode, schema)) is not None:
            fields["response_format"] = form
        fields = dict(sorted(fields.items()))  # the order in which the library itself writes them

        def send(client: AsyncOpenAI) -> Awaitable[Any]:
            return client.chat.completions.with_raw_response.create(model=self._model, messages=[], extra_body=fields)

        answer, request_id = await self._server.call(send)
        served = plain_fields(answer, "model", "id", "created", "system_fingerprint", "service_tier")
        if request_id:
            served["request_id"] = request_id
        usage = note_usage(read_usage(answer.get("usage"), ["prompt_tokens"], ["completion_tokens"]))
        return _parse(answer, usage, served), answer


class OpenAIImages:
    """Image generations, and edits if there is a reference image: one call per `complete`.

    Attributes:
        name, settings, takes_images: as for every image provider.
    """

    def __init__(
        self,
        model: str,
        server: OpenAIClient,
        *,
        size: str | None = None,
        send_seed: bool = False,
        response_format: str = "auto",
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
        timeout: float = 120.0,
    ) -> None:
        """Create a provider."""
        self.name = f"openai/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self._model = model
        self._server = server
        self._size = size
        self._send_seed = send_seed
        self._fields = dict(fields or {})
        self._timeout = timeout
        self._spec = image_model_spec(model)
        self.takes_images = self._spec.edits
        if response_format == "auto":
            response_format = "b64_json" if self._spec.asks_for_data else "none"
        if response_format != "none":
            self._fields["response_format"] = response_format

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        answer, request_id = await self._server.call(lambda client: self._send(client, request))
        # Paid for from here on, whether or not there is an image in it or at the address it names.
        usage = note_usage(read_usage(answer.get("usage"), ["input_tokens"], ["output_tokens"], images=1))
        entries = answer.get("data")
        first = entries[0] if isinstance(entries, list) and entries else None
        if not isinstance(first, dict):
            raise CallError("wrong", "there is no image in the answer")
        data = await received_image(first.get("b64_json"), first.get("url"), self._timeout)
        served = {"asked_size": self._size or self._spec.size(request.size), **plain_fields(answer, *_SERVED_FIELDS)}
        served |= plain_fields(first, "revised_prompt", "seed")
        if self._send_seed:
            served.setdefault("seed", request.seed)
        if request_id:
            served["request_id"] = request_id
        return ImageCompletion(data, served, usage)

    def _send(self, client: AsyncOpenAI, request: ImageRequest) -> Awaitable[Any]:
        # Most fields go past the library: which of them it knows by name differs between versions and methods.
        fields = {**self._fields, "seed": request.seed} if self._send_seed else self._fields
        size = self._size or self._spec.size(request.size)
        images = client.images.with_raw_response
        if request.reference is None:
            return images.generate(model=self._model, prompt=request.prompt, size=size, extra_body=fields)
        image = ("reference.png", request.reference, "image/png")
        return images.edit(model=self._model, prompt=request.prompt, size=size, image=image, extra_body=fields)


@requires_openai
def open_openai_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model of OpenAI, or of a server that speaks as OpenAI does: vLLM, SGLang, Ollama, gateways."""
    name = f"openai/{model}"
    given = Options(name, with_base_url(options, "OPENAI_BASE_URL"))
    given.accept_old_name("limit", "max_tokens_field")
    retry_policy = chat_retry_policy(given)
    base_url = given.url("base_url", None)
    is_reasoning = _REASONING_MODEL.match(model.rpartition("/")[2]) is not None
    limit = given.choice(
        "max_tokens_field",
        ("max_tokens", "max_completion_tokens"),
        "max_completion_tokens" if is_reasoning else "max_tokens",
    )
    found: dict[str, float | int | str | None] = {
        "temperature": read_temperature(given, name, None if is_reasoning else 0.0, maximum=2.0),
        limit: read_token_limit(given, name, 16384 if is_reasoning else 4096),
        "top_p": given.number("top_p", None, minimum=0, maximum=1),
        "seed": given.integer("seed", None),
        "reasoning_effort": given.text("reasoning_effort", None),
    }
    schema = given.choice("schema", ("json_schema", "json_object", "none"), "json_schema")
    detail = given.choice("detail", ("auto", "low", "high"), None)
    top_logprobs = read_top_logprobs(given, name)
    extras = given.with_prefix("extra.")
    given.reject_unknown()  # before the key: a server of one's own needs none, and its option may be misspelt
    server = connect_openai(name, base_url, retry_policy.timeout, MAX_CHAT_BYTES)
    sent: dict[str, float | int | str] = without_none(found)
    settings: dict[str, Setting] = {**sent, "schema": schema}
    settings |= {f"extra.{field}": text for field, text in extras.items()}
    settings |= without_none({"detail": detail, "base_url": base_url})
    if top_logprobs is not None:  # only then: without it, judges of earlier versions are the same judges
        settings |= {"logprobs": True, "top_logprobs": top_logprobs}
    fields: dict[str, object] = dict(sent)
    if (temperature := options.get("temperature", "")).isdecimal():
        fields["temperature"] = int(temperature)  # 0, not 0.0: requests are equal to published ones to the byte
    fields |= parse_extra_fields(name, extras)
    provider = OpenAIChat(
        model, server, schema=schema, detail=detail, top_logprobs=top_logprobs, fields=fields, settings=settings
    )
    return build_chat_model(provider, retry_policy=retry_policy)


@requires_openai
def open_openai_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """An image model of OpenAI, or of a server that speaks as OpenAI does."""
    name = f"openai/{model}"
    given = Options(name, with_base_url(options, "OPENAI_BASE_URL"))
    given.accept_old_name("seeded", "send_seed")
    retry_policy = image_retry_policy(given)
    base_url = given.url("base_url", None)
    size = given.text("size", None)
    send_seed = given.flag("send_seed", False)
    response_format = given.choice("response_format", ("auto", "b64_json", "url", "none"), "auto")
    fields: dict[str, object] = without_none({field: given.text(field, None) for field in _IMAGE_FIELDS})
    compression = given.integer("output_compression", None, minimum=0, maximum=100)
    if compression is not None:
        fields["output_compression"] = compression
    extras = given.with_prefix("extra.")
    api = given.choice("api", ("images", "chat"), "images")
    given.reject_unknown()
    unused = [*fields, *(["size"] if size else []), *(["response_format"] if response_format != "auto" else [])]
    if api == "chat" and unused:
        raise FormalimgError(f"{unused[0]} of {name} is not for api=chat: give extra.{unused[0]}=…, or leave it out")
    server = connect_openai(name, base_url, retry_policy.timeout)
    settings: dict[str, Setting] = {field: str(value) for field, value in fields.items()}
    settings |= {f"extra.{field}": text for field, text in extras.items()}
    settings |= {"size": size} if size else {}
    settings |= {"seeded": True} if send_seed else {}  # runs are stored under this name
    settings |= {"base_url": base_url} if base_url else {}
    if api == "chat":
        chat = OpenAIChatImages(
            model,
            server,
            send_seed=send_seed,
            fields=parse_extra_fields(name, extras),
            settings={**settings, "api": api},
            timeout=retry_policy.timeout,
        )
        return build_image_model(chat, retry_policy=retry_policy)
    provider = OpenAIImages(
        model,
        server,
        size=size,
        send_seed=send_seed,
        response_format=response_format,
        fields={**fields, **parse_extra_fields(name, extras)},
        settings=settings,
        timeout=retry_policy.timeout,
    )
    return build_image_model(provider, retry_policy=retry_policy)


def _parse(answer: Mapping[str, Any], usage: Usage, served: Mapping[str, Setting]) -> Completion:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise CallError("wrong", "there is no message in the answer")
    text, refusal, reason = message.get("content"), message.get("refusal"), first.get("finish_reason")
    if isinstance(refusal, str) and refusal:
        return Completion(refusal, "refusal", usage, served)
    if not isinstance(reason, str | None) or reason not in _FINISH_REASONS:
        raise CallError("wrong", f"the answer ended in an unknown way: {reason!r:.60}", usage=usage)
    ended = _FINISH_REASONS[reason]
    if ended == "stop" and not (isinstance(text, str) and text.strip()):
        raise CallError("wrong", "there is no text in the answer", usage=usage)
    return Completion(text if isinstance(text, str) else "", ended, usage, served)
