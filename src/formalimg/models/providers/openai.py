"""OpenAI chat and image models, including compatible servers: vLLM, SGLang, Ollama, gateways."""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from formalimg._util.images import image_type
from formalimg._util.installing import install_line
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment, CallError, Completion, ImageRequest, Message, Usage
from formalimg.models.options import MODEL_DEFAULT, Options, read_extra_fields, with_base_url, without_none
from formalimg.models.pricing import note_usage
from formalimg.models.provider_models import ImageCompletion, SchemaProvider, build_chat_model, build_image_model
from formalimg.models.providers.http import download_image, plain_fields, read_usage
from formalimg.models.providers.limits import MAX_CHAT_BYTES
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
from formalimg.models.yes_probability import LogprobsFields, LogprobsMode, read_top_logprobs
from formalimg.types import ChatModel, ImageModel, Setting

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# OpenAI's reasoning models: they take no temperature, and have another name for the token limit.
_REASONING_MODEL = re.compile(r"o\d|gpt-[5-9](?!.*chat)")
_FINISH_REASONS: Mapping[object, Literal["stop", "length", "refusal"]] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", None), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "safety"), "refusal"),
}
_ABOUT_SCHEMA = re.compile(r"response_format|json_schema|json_object|structured.?output|guided|grammar", re.IGNORECASE)
_IMAGE_FIELDS = ("quality", "output_format", "background", "moderation", "style", "input_fidelity")
_SERVED_FIELDS = ("model", "created", "size", "quality", "output_format", "background", "seed")
_IN_TEXT = re.compile(  # an image in Markdown, or a data address by itself
    r"!\[[^\]]*\]\(\s*<?((?:data:image/|https?://)[^)\s>]+)>?[^)]*\)|(data:image/[\w.+-]+;base64,[\w+/=]+)"
)

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
    limits = ("max_tokens", "max_completion_tokens")
    limit = parsed.choice("max_tokens_field", limits, limits[is_reasoning])
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


@dataclass(frozen=True)
class ImageModelSpec:
    """Capabilities of an image model, read from a data file so that new models can be added easily."""

    begins: str  # prefix of the names of such models
    sides: tuple[int, ...] = ()  # allowed lengths in pixels of a square image; empty if there is no list
    step: int = 1  # lengths must be multiples of it
    asks_for_data: bool = True  # whether the image must be requested as data, because the model would send a URL
    edits: bool = True  # whether it accepts an image beside the prompt

    def size(self, requested: int) -> str:
        """Return the supported size closest to the requested one, in request format."""
        if self.sides:
            side = min(self.sides, key=lambda side: (abs(side - requested), side))
        else:
            side = max(self.step, round(requested / self.step) * self.step)
        return f"{side}x{side}"


@cache
def _image_model_specs() -> tuple[ImageModelSpec, ...]:
    text = (files("formalimg.models.providers") / "openai_image_models.toml").read_text(encoding="utf-8")
    return tuple(
        ImageModelSpec(**{**entry, "sides": tuple(entry.get("sides", ()))}) for entry in tomllib.loads(text)["models"]
    )


@dataclass
class OpenAIImages:
    """An image model for generation, or editing with a reference image: one call per `complete`."""

    model: str
    server: OpenAIClient
    size: str | None = None
    send_seed: bool = False
    response_format: str = "auto"
    fields: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    timeout: float = 120.0

    def __post_init__(self) -> None:
        self.name = f"openai/{self.model}"
        model = self.model.rpartition("/")[2]  # without a gateway's vendor prefix, as in `openai/gpt-image-1`
        self._spec = next((spec for spec in _image_model_specs() if model.startswith(spec.begins)), ImageModelSpec(""))
        self.takes_images = self._spec.edits
        if self.response_format == "auto":
            self.response_format = "b64_json" if self._spec.asks_for_data else "none"
        if self.response_format != "none":
            self.fields = {**self.fields, "response_format": self.response_format}

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        size = self.size or self._spec.size(request.size)
        answer, request_id = await self.server.call(lambda client: self._send(client, request, size))
        # Paid for from here on, whether or not there is an image in it or at the address it names.
        usage = note_usage(read_usage(answer.get("usage"), ["input_tokens"], ["output_tokens"], images=1))
        entries = answer.get("data")
        entry = entries[0] if isinstance(entries, list) and entries else None
        if not isinstance(entry, dict):
            raise CallError("wrong", "there is no image in the answer")
        data = await read_image(entry.get("b64_json"), entry.get("url"), self.timeout)
        served = {"asked_size": size, **plain_fields(answer, *_SERVED_FIELDS)}
        served |= plain_fields(entry, "revised_prompt", "seed")
        if self.send_seed:
            served.setdefault("seed", request.seed)
        return ImageCompletion(data, {**served, **request_id}, usage)

    def _send(self, client: AsyncOpenAI, request: ImageRequest, size: str) -> Awaitable[Any]:
        # Most fields go past the library: which of them it knows by name differs between versions and methods.
        fields = {**self.fields, "seed": request.seed} if self.send_seed else self.fields
        images = client.images.with_raw_response
        if request.reference is None:
            return images.generate(model=self.model, prompt=request.prompt, size=size, extra_body=fields)
        image = ("reference.png", request.reference, "image/png")
        return images.edit(model=self.model, prompt=request.prompt, size=size, image=image, extra_body=fields)


@dataclass
class OpenAIChatImages:
    """An image model accessed through chat completions, which have no size parameter: one call per `complete`."""

    model: str
    server: OpenAIClient
    send_seed: bool = False
    fields: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    timeout: float = 120.0
    takes_images: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name as users write it."""
        return f"openai/{self.model}"

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        parts: tuple[str | Attachment, ...] = (request.prompt,)
        if request.reference is not None:
            parts = (request.prompt, Attachment(request.reference, "image/png"))
        seed = {"seed": request.seed} if self.send_seed else {}
        fields = {
            "modalities": ["image", "text"],
            **self.fields,
            **seed,
            "messages": [encode_message(Message("user", parts))],
        }
        answer, request_id = await complete_chat(self.server, self.model, fields)
        usage = note_usage(read_usage(answer.get("usage"), ["prompt_tokens"], ["completion_tokens"], images=1))
        addresses = _image_addresses(answer)
        data = await read_image(None, addresses[0], self.timeout)
        served = plain_fields(answer, "model", "id", "created", "system_fingerprint")
        served |= {**seed, **({"images": len(addresses)} if len(addresses) > 1 else {}), **request_id}
        return ImageCompletion(data, served, usage)


async def read_image(encoded: object, url: object, timeout: float) -> bytes:
    """Return the content of an image from base64 data, a data URL or a web URL."""
    if isinstance(url, str) and url.startswith("data:"):
        encoded = url.partition(",")[2]
    if isinstance(encoded, str) and encoded:
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise CallError("wrong", "the image in the answer is not base64") from None
    elif isinstance(url, str) and url:
        data = await download_image(url, timeout)
    else:
        raise CallError("wrong", "there is neither an image nor its address in the answer")
    if image_type(data) is None:
        raise CallError("wrong", f"the response is not a PNG, JPEG or WebP file ({len(data):,} bytes)")
    return data


def _image_addresses(answer: Mapping[str, Any]) -> list[str]:
    choice, message = first_message(answer)
    content, refusal = message.get("content"), message.get("refusal")
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
    words = " ".join(text for text in texts if isinstance(text, str))
    addresses = [*_addresses_in_parts(message.get("images")), *_addresses_in_parts(content)]
    addresses += [markdown or plain for markdown, plain in _IN_TEXT.findall(words)]
    if addresses:
        return list(dict.fromkeys(addresses))
    if isinstance(refusal, str) and refusal:
        raise CallError("refused", truncate(" ".join(refusal.split()), 200, 0))
    if choice.get("finish_reason") in ("content_filter", "safety"):
        raise CallError("refused", "the server's filter stopped the answer")
    if words.strip():
        raise CallError("refused", f"text instead of an image: {truncate(' '.join(words.split()), 200, 0)}")
    raise CallError("wrong", "there is no image in the answer")


def _addresses_in_parts(parts: object) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str) and part.startswith(("data:image/", "http://", "https://")):
            yield part
        if not isinstance(part, dict):
            continue
        image = part.get("image_url", part.get("image", part))
        image = image if isinstance(image, dict) else {"url": image}
        address, encoded = image.get("url"), image.get("b64_json") or image.get("data")
        if isinstance(address, str) and address:
            yield address
        elif isinstance(encoded, str) and encoded:
            yield f"data:image/png;base64,{encoded}"


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
    timeout = retry_policy.timeout
    provider: OpenAIImages | OpenAIChatImages
    if api == "chat":
        settings["api"] = api
        provider = OpenAIChatImages(model, server, send_seed, extra_fields, settings, timeout)
    else:
        fields |= extra_fields
        provider = OpenAIImages(model, server, size, send_seed, response_format, fields, settings, timeout)
    return build_image_model(provider, retry_policy=retry_policy)
