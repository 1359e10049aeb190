"""Chat models behind OpenAI's chat completions."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from formalimg.models.asking import asking, with_format
from formalimg.models.calls import CallError, Usage
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.http_answers import count, told
from formalimg.models.identity import Setting
from formalimg.models.openai.server import Server, needs_of_openai, reach
from formalimg.models.options import Options
from formalimg.models.retry import chat_retry_policy
from formalimg.models.server_options import read_extras, read_temperature, with_base_url

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
