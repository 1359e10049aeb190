"""Chat models behind Anthropic's messages."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Setting, Usage
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.chat_provider import asking, with_format
from formalimg.models.options import Options, key_for, read_extras, read_temperature, with_base_url
from formalimg.models.providers.http import Whom, count, told
from formalimg.models.providers.sdk import SdkServer
from formalimg.models.registry import needs
from formalimg.models.retry import chat_retry_policy

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


_Server: TypeAlias = "SdkServer[AsyncAnthropic]"

_KEY_NAME = "ANTHROPIC_API_KEY"
_AT_HOME = "https://api.anthropic.com"
_ENDED: Mapping[object, Literal["stop", "length", "refusal"]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_ABOUT_THE_SCHEMA = re.compile(r"output_config|output_format|json_schema|structured.?output|schema", re.IGNORECASE)


class AnthropicChat:
    """One call to a chat model.

    Attributes:
        name, settings: as for every provider of chat models.
        holds_to_schema: does the model keep answers to a given form? False after the server has said that it cannot.
    """

    def __init__(
        self,
        model: str,
        server: _Server,
        *,
        max_tokens: int = 8192,
        schema: str = "json_schema",
        effort: str | None = None,
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> None:
        """A model on a server.

        Args:
            model: as the server knows it.
            server: where it is.
            max_tokens: how long an answer may be, thoughts included.
            schema: how the server is told the form of the answer: `json_schema` or `none`.
            effort: how hard the model is to think, for models that take it.
            fields: what else is sent.
            settings: what is on record of all this.
        """
        self.name = f"anthropic/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self.holds_to_schema = schema == "json_schema"
        self._model = model
        self._server = server
        self._max_tokens = max_tokens
        self._effort = effort
        self._fields = dict(fields or {})

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Ask once; a model that cannot be held to a form is asked again in words."""
        if schema is None or not self.holds_to_schema:
            return await self._completed(messages, None)
        try:
            return await self._completed(messages, schema)
        except CallError as error:
            if error.fault != "rejected" or not _ABOUT_THE_SCHEMA.search(error.reason):
                raise
        self.holds_to_schema = False
        return await self._completed(with_format(messages, schema), None)

    async def _completed(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        fields = {**self._fields, **self._output_config(schema)}
        system = [_written(part) for message in messages if message.role == "system" for part in message.parts]
        if system:
            fields["system"] = system
        turns = [
            {"role": message.role, "content": [_written(part) for part in message.parts]}
            for message in messages
            if message.role != "system"
        ]

        def call(client: AsyncAnthropic) -> Awaitable[Any]:
            # Most fields go past the library: which of them it knows by name differs between versions.
            return client.messages.with_raw_response.create(
                model=self._model,
                max_tokens=self._max_tokens,
                messages=turns,  # type: ignore[arg-type]  # plain values, not the library's types
                extra_body=fields,
            )

        answer, request_id = await self._server.call(call)
        served = told(answer, "model", "id")
        if request_id:
            served["request_id"] = request_id
        return _read(answer, served)

    def _output_config(self, schema: Mapping[str, object] | None) -> dict[str, object]:
        config: dict[str, object] = {"effort": self._effort} if self._effort else {}
        if schema is not None:
            from anthropic import transform_schema

            # Bounds and lengths are not understood there; the library moves them into the descriptions.
            config["format"] = {"type": "json_schema", "schema": transform_schema(dict(schema))}
        return {"output_config": config} if config else {}


@needs(
    modules=["anthropic"],
    install="pip install 'formalimg[anthropic]'",
    keys=[_KEY_NAME],
    unless="for a server of your own",
)
def open_anthropic_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model of Anthropic.

    Args:
        model: as Anthropic knows it, such as `claude-sonnet-5`.
        options: `base_url`; `max_tokens`, `temperature` (none is sent unless given: the newer models take none),
            `effort`, `thinking` (`adaptive`, `disabled`, or how many tokens it may take); `schema` (`json_schema`,
            `none`); `extra.NAME` sends any other field; and those of all remote chat models, such as `concurrency`.

    Raises:
        FormalimgError: if an option is wrong, or the library or the key is missing.
    """
    name = f"anthropic/{model}"
    read = Options(name, with_base_url(options, "ANTHROPIC_BASE_URL"))
    retry_policy = chat_retry_policy(read)
    base_url = read.url("base_url", None)
    server = _reach(name, base_url, retry_policy.timeout)
    max_tokens = read.whole_number("max_tokens", 8192, least=1)
    temperature = read_temperature(read, name, None, most=1.0)
    effort = read.text("effort", None)
    thinking = read.text("thinking", None)
    schema = read.choice("schema", ("json_schema", "none"), "json_schema")
    extras = read.starting_with("extra.")
    read.done()
    given: dict[str, Setting] = {
        "temperature": temperature,
        "effort": effort,
        "thinking": thinking,
        "base_url": base_url,
    }
    settings: dict[str, Setting] = {"max_tokens": max_tokens, "schema": schema}
    settings |= {field: value for field, value in given.items() if value is not None}
    settings |= {f"extra.{field}": text for field, text in extras.items()}
    fields = read_extras(name, extras)
    fields |= {} if temperature is None else {"temperature": temperature}
    fields |= {} if thinking is None else {"thinking": _thinking(name, thinking)}
    provider = AnthropicChat(
        model, server, max_tokens=max_tokens, schema=schema, effort=effort, fields=fields, settings=settings
    )
    return asking(provider, retry_policy=retry_policy)


def _reach(model: str, base_url: str | None, timeout: float) -> _Server:
    try:
        import anthropic
    except ImportError:
        raise FormalimgError(f"{model} needs the anthropic library: pip install 'formalimg[anthropic]'") from None
    key = key_for(model, _KEY_NAME, base_url)
    place = base_url or _AT_HOME

    def connect() -> AsyncAnthropic:
        return anthropic.AsyncAnthropic(api_key=key, base_url=place, timeout=timeout, max_retries=0)

    return SdkServer(anthropic, Whom(model, _KEY_NAME, place), connect)


def _thinking(model: str, text: str) -> dict[str, object]:
    if text in ("adaptive", "disabled"):
        return {"type": text}
    tokens = Options(model, {"thinking": text}).whole_number("thinking", None, least=1024)
    return {"type": "enabled", "budget_tokens": tokens}


def _written(part: str | Attachment) -> dict[str, object]:
    """A part of a message on the wire."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = base64.b64encode(part.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}


def _read(answer: Mapping[str, Any], served: Mapping[str, Setting]) -> Completion:
    blocks, reason, used = answer.get("content"), answer.get("stop_reason"), answer.get("usage")
    if not isinstance(blocks, list):
        raise CallError("wrong", "there is no message in the answer")
    sent = count(used, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    usage = Usage(sent, count(used, "output_tokens"))
    if not isinstance(reason, str) or reason not in _ENDED:
        raise CallError("wrong", f"the answer ended in an unknown way: {reason!r:.60}", usage=usage)
    said = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    text = "".join(words for words in said if isinstance(words, str))
    ended = _ENDED[reason]
    if ended == "stop" and not text.strip():
        raise CallError("wrong", "there is no text in the answer", usage=usage)
    return Completion(text, ended, usage, served)
