"""OpenAI, and every other server that speaks as it does: vLLM, SGLang, Ollama, gateways."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from formalimg._util.images import image_type
from formalimg.models.base import CallError, Setting, Usage
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.chat_provider import asking, with_format
from formalimg.models.image import ImageModel, ImageRequest
from formalimg.models.image_provider import Painted, remote
from formalimg.models.options import Options, read_extras, read_temperature, with_base_url
from formalimg.models.providers.http import count, fetched, told
from formalimg.models.providers.openai_client import Server, Taking, needs_of_openai, reach, taking
from formalimg.models.retry import chat_retry_policy, image_retry_policy

if TYPE_CHECKING:
    from openai import AsyncOpenAI


_THINKS_FIRST = re.compile(r"o\d|gpt-[5-9](?!.*chat)")
"""OpenAI's models that think before they speak: they take no temperature, and call the limit by another name."""

_ENDED: Mapping[object, Literal["stop", "length", "refusal"]] = {
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
_ABOUT_THE_SCHEMA = re.compile(
    r"response_format|json_schema|json_object|structured.?output|guided|grammar", re.IGNORECASE
)


class OpenAIChat:
    """One call to a chat model.

    Attributes:
        name, settings: as for every provider of chat models.
        holds_to_schema: does the server keep answers to a given form? False after it has said that it cannot.
    """

    def __init__(
        self,
        model: str,
        server: Server,
        *,
        schema: str = "json_schema",
        detail: str | None = None,
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> None:
        """A model on a server.

        Args:
            model: as the server knows it.
            server: where it is.
            schema: how the server is told the form of the answer: `json_schema`, `json_object` (any form), `none`.
            detail: how closely images are to be looked at: `low`, `high`, `auto`.
            fields: what else is sent.
            settings: what is on record of all this.
        """
        self.name = f"openai/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self._model = model
        self._server = server
        self._schema = schema
        self._detail = detail
        self._fields = dict(fields or {})

    @property
    def holds_to_schema(self) -> bool:
        """Does the server keep answers to a given form?"""
        return self._schema == "json_schema"

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Ask once; a server that does not understand the wish for a form is asked again in words."""
        way = self._schema if schema is not None else "none"
        try:
            return await self._completed(messages, _response_format(way, schema))
        except CallError as error:
            if way == "none" or error.fault != "rejected" or not _ABOUT_THE_SCHEMA.search(error.reason):
                raise
        self._schema = "none"
        in_words = with_format(messages, schema) if way == "json_schema" and schema is not None else messages
        return await self._completed(in_words, {})

    async def _completed(self, messages: Sequence[Message], response_format: Mapping[str, object]) -> Completion:
        written = [_written(message, self._detail) for message in messages]

        def call(client: AsyncOpenAI) -> Awaitable[Any]:
            # Most fields go past the library: servers know more of them than it has names for, and in messages it
            # would look at every value, to find the same.
            fields = {**self._fields, **response_format, "messages": written}
            return client.chat.completions.with_raw_response.create(model=self._model, messages=[], extra_body=fields)

        answer, request_id = await self._server.call(call)
        served = told(answer, "model", "id", "created", "system_fingerprint", "service_tier")
        if request_id:
            served["request_id"] = request_id
        used = answer.get("usage")
        return _read(answer, Usage(count(used, "prompt_tokens"), count(used, "completion_tokens")), served)


@needs_of_openai
def open_openai_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model of OpenAI, or of a server that speaks as OpenAI does: vLLM, SGLang, Ollama, gateways.

    Args:
        model: as the server knows it, such as `gpt-5.5` or `Qwen/Qwen3-VL-8B-Instruct`.
        options: `base_url`; `temperature` (0 unless the model takes none; `default` sends none), `top_p`, `seed`,
            `max_tokens` and `limit` (what that is called: `max_tokens` or `max_completion_tokens`), `reasoning_effort`;
            `schema` (`json_schema`, `json_object`, `none`); `detail` of images; `extra.NAME` sends any other field;
            and those of all remote chat models, such as `concurrency`.

    Raises:
        FormalimgError: if an option is wrong, or the library or the key is missing.
    """
    name = f"openai/{model}"
    read = Options(name, with_base_url(options, "OPENAI_BASE_URL"))
    retry_policy = chat_retry_policy(read)
    base_url = read.url("base_url", None)
    server = reach(name, base_url, retry_policy.timeout)
    thinks_first = _THINKS_FIRST.match(model.rpartition("/")[2]) is not None
    limit = read.choice(
        "limit", ("max_tokens", "max_completion_tokens"), "max_completion_tokens" if thinks_first else "max_tokens"
    )
    found: dict[str, float | int | str | None] = {
        "temperature": read_temperature(read, name, None if thinks_first else 0.0, most=2.0),
        limit: read.whole_number("max_tokens", 16384 if thinks_first else 4096, least=1),
        "top_p": read.number("top_p", None, least=0, most=1),
        "seed": read.whole_number("seed", None),
        "reasoning_effort": read.text("reasoning_effort", None),
    }
    schema = read.choice("schema", ("json_schema", "json_object", "none"), "json_schema")
    detail = read.choice("detail", ("auto", "low", "high"), None)
    extras = read.starting_with("extra.")
    read.done()
    fields = {field: value for field, value in found.items() if value is not None}
    settings: dict[str, Setting] = {**fields, "schema": schema}
    settings |= {f"extra.{field}": text for field, text in extras.items()}
    settings |= {"detail": detail} if detail else {}
    settings |= {"base_url": base_url} if base_url else {}
    provider = OpenAIChat(
        model, server, schema=schema, detail=detail, fields={**fields, **read_extras(name, extras)}, settings=settings
    )
    return asking(provider, retry_policy=retry_policy)


def _response_format(way: str, schema: Mapping[str, object] | None) -> dict[str, object]:
    if way == "json_schema":
        wanted = {"name": "answer", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}
    return {"response_format": {"type": "json_object"}} if way == "json_object" else {}


def _written(message: Message, detail: str | None) -> dict[str, object]:
    """A message on the wire. A single text goes as it is: not every server takes a list where there is no image."""
    if len(message.parts) == 1 and isinstance(message.parts[0], str):
        return {"role": message.role, "content": message.parts[0]}
    return {"role": message.role, "content": [_written_part(part, detail) for part in message.parts]}


def _written_part(part: str | Attachment, detail: str | None) -> dict[str, object]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    image = {"url": f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"}
    return {"type": "image_url", "image_url": image if detail is None else {**image, "detail": detail}}


def _read(answer: Mapping[str, Any], usage: Usage, served: Mapping[str, Setting]) -> Completion:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise CallError("wrong", "there is no message in the answer")
    text, declined, reason = message.get("content"), message.get("refusal"), first.get("finish_reason")
    if isinstance(declined, str) and declined:
        return Completion(declined, "refusal", usage, served)
    if not isinstance(reason, str | None) or reason not in _ENDED:
        raise CallError("wrong", f"the answer ended in an unknown way: {reason!r:.60}", usage=usage)
    ended = _ENDED[reason]
    if ended == "stop" and not (isinstance(text, str) and text.strip()):
        raise CallError("wrong", "there is no text in the answer", usage=usage)
    return Completion(text if isinstance(text, str) else "", ended, usage, served)


_SENT_AS_GIVEN = ("quality", "output_format", "background", "moderation", "style", "input_fidelity")
_TOLD = ("model", "created", "size", "quality", "output_format", "background", "seed")


class OpenAIImages:
    """One call to an image model; with a reference image it is an edit.

    Attributes:
        name, settings, takes_images: as for every provider of image models.
    """

    def __init__(
        self,
        model: str,
        server: Server,
        *,
        size: str | None = None,
        seeded: bool = False,
        response_format: str = "auto",
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
        timeout: float = 120.0,
    ) -> None:
        """A model on a server.

        Args:
            model: as the server knows it.
            server: where it is.
            size: as it is sent; None for the one closest_match to the request's that the model takes.
            seeded: whether the request's seed is sent; OpenAI's own models know no seeds.
            response_format: `b64_json`, `url`, `none` for not saying so, `auto` for what fits the model.
            fields: what else is sent.
            settings: what is on record of all this.
            timeout: seconds for fetching an image by its address.
        """
        self.name = f"openai/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self._model = model
        self._server = server
        self._size = size
        self._seeded = seeded
        self._fields = dict(fields or {})
        self._timeout = timeout
        self._takes: Taking = taking(model)
        self.takes_images = self._takes.edits
        if response_format == "auto":
            response_format = "b64_json" if self._takes.asks_for_data else "none"
        if response_format != "none":
            self._fields["response_format"] = response_format

    async def paint(self, request: ImageRequest) -> Painted:
        """Make one image."""
        answer, request_id = await self._server.call(lambda client: self._call(client, request))
        entries = answer.get("data")
        first = entries[0] if isinstance(entries, list) and entries else None
        if not isinstance(first, dict):
            raise CallError("wrong", "there is no image in the answer")
        data = await self._image(first)
        if image_type(data) is None:
            raise CallError("wrong", f"what came is no PNG, JPEG or WebP file ({len(data):,} bytes)")
        served = {"asked_size": self._size or self._takes.size(request.size), **told(answer, *_TOLD)}
        served |= told(first, "revised_prompt", "seed")
        if self._seeded:
            served.setdefault("seed", request.seed)
        if request_id:
            served["request_id"] = request_id
        usage = answer.get("usage")
        return Painted(data, served, Usage(count(usage, "input_tokens"), count(usage, "output_tokens"), 1))

    def _call(self, client: AsyncOpenAI, request: ImageRequest) -> Awaitable[Any]:
        # Most fields go past the library: which of them it knows by name differs between versions and methods.
        fields = {**self._fields, "seed": request.seed} if self._seeded else self._fields
        size = self._size or self._takes.size(request.size)
        images = client.images.with_raw_response
        if request.reference is None:
            return images.generate(model=self._model, prompt=request.prompt, size=size, extra_body=fields)
        image = ("reference.png", request.reference, "image/png")
        return images.edit(model=self._model, prompt=request.prompt, size=size, image=image, extra_body=fields)

    async def _image(self, entry: Mapping[str, object]) -> bytes:
        encoded, address = entry.get("b64_json"), entry.get("url")
        if isinstance(address, str) and address.startswith("data:"):
            encoded = address.partition(",")[2]
        if isinstance(encoded, str) and encoded:
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                raise CallError("wrong", "the image in the answer is no base64") from None
        if isinstance(address, str) and address:
            return await fetched(address, self._timeout)
        raise CallError("wrong", "there is neither an image nor its address in the answer")


@needs_of_openai
def open_openai_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """An image model of OpenAI, or of a server that speaks as OpenAI does.

    Args:
        model: as the server knows it, such as `gpt-image-2`.
        options: `base_url`; `size` (`1536x1024`, `auto`), `quality`, `output_format`, `output_compression`,
            `background`, `moderation`, `style`, `input_fidelity`; `seeded=on` sends each request's seed;
            `response_format`; `extra.NAME` sends any other field; and those of all remote models, such as
            `concurrency`.

    Raises:
        FormalimgError: if an option is wrong, or the library or the key is missing.
    """
    name = f"openai/{model}"
    read = Options(name, with_base_url(options, "OPENAI_BASE_URL"))
    retry_policy = image_retry_policy(read)
    base_url = read.url("base_url", None)
    server = reach(name, base_url, retry_policy.timeout)
    size = read.text("size", None)
    seeded = read.flag("seeded", False)
    response_format = read.choice("response_format", ("auto", "b64_json", "url", "none"), "auto")
    fields: dict[str, object] = {
        field: text for field in _SENT_AS_GIVEN if (text := read.text(field, None)) is not None
    }
    compression = read.whole_number("output_compression", None, least=0, most=100)
    if compression is not None:
        fields["output_compression"] = compression
    extras = read.starting_with("extra.")
    read.done()
    settings: dict[str, Setting] = {field: str(value) for field, value in fields.items()}
    settings |= {f"extra.{field}": text for field, text in extras.items()}
    settings |= {"size": size} if size else {}
    settings |= {"seeded": True} if seeded else {}
    settings |= {"base_url": base_url} if base_url else {}
    provider = OpenAIImages(
        model,
        server,
        size=size,
        seeded=seeded,
        response_format=response_format,
        fields={**fields, **read_extras(name, extras)},
        settings=settings,
        timeout=retry_policy.timeout,
    )
    return remote(provider, retry_policy=retry_policy)
