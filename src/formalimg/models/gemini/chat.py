"""Answers from Gemini models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from formalimg.models.asking import asking, with_format
from formalimg.models.calls import CallError
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.gemini.endings import how_ended, served, usage, why_declined, words
from formalimg.models.gemini.session import GeminiSession, needs_of_gemini, open_session
from formalimg.models.http_answers import one_line
from formalimg.models.identity import Setting
from formalimg.models.options import Options
from formalimg.models.retry import chat_retry_policy
from formalimg.models.server_options import read_temperature, with_base_url

if TYPE_CHECKING:
    from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse, Part

_SCHEMAS = ("json_schema", "json_object", "none")
_THINKING_LEVELS = ("minimal", "low", "medium", "high")
_RESOLUTIONS = ("low", "medium", "high")
_CUT_OFF = ("MAX_TOKENS", "CONTINUATION")
_NO_SCHEMAS = re.compile(r"json mode|response_?(mime_?type|(json_?)?schema)|schema produces", re.IGNORECASE)
"""What Gemini says if a model cannot be held to JSON at all, or to this schema."""


class GeminiChat:
    """One question to a Gemini model.

    Attributes:
        name: `gemini/` and the model.
        settings: what shapes its answers besides the messages.
    """

    def __init__(self, session: GeminiSession, settings: Mapping[str, Setting]) -> None:
        self.name = f"gemini/{session.model}"
        self.settings = dict(settings)
        self._session = session
        self._form = str(settings["schema"])

    @property
    def holds_to_schema(self) -> bool:
        """Are its answers bound to the schema? If not, they have to be asked for in its form."""
        return self._form == "json_schema"

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Ask once; once more, without the schema, if the model turns out to know none."""
        form = "none" if schema is None else self._form
        try:
            return await self._complete(messages, schema, form)
        except CallError as error:
            if form == "none" or error.fault != "rejected" or not _NO_SCHEMAS.search(error.reason):
                raise
        self._form = "none"
        plainly = with_format(messages, schema or {}) if form == "json_schema" else messages
        completion = await self._complete(plainly, None, "none")
        return replace(completion, served={**completion.served, "schema": "none"})

    async def _complete(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None, form: str
    ) -> Completion:
        contents = [_content(message) for message in messages if message.role != "system"]
        rules = [part for message in messages if message.role == "system" for part in _parts(message)]
        return _completion(await self._session.generate(contents, self._config(rules, schema, form)))

    def _config(self, rules: list[Part], schema: Mapping[str, object] | None, form: str) -> GenerateContentConfig:
        from google.genai.types import AutomaticFunctionCallingConfig, Content, GenerateContentConfig

        told: dict[str, Any] = self.settings
        return GenerateContentConfig(
            system_instruction=Content(parts=rules) if rules else None,
            response_mime_type=None if form == "none" else "application/json",
            response_json_schema=schema if form == "json_schema" else None,
            temperature=told.get("temperature"),
            top_p=told.get("top_p"),
            max_output_tokens=told.get("max_tokens"),
            seed=told.get("seed"),
            media_resolution=_resolution(told.get("media_resolution")),
            thinking_config=_thinking(told.get("thinking_budget"), told.get("thinking_level")),
            automatic_continuation=False,
            automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        )


@needs_of_gemini
def open_gemini_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A Gemini model that answers, by its id.

    Args:
        model: the id, such as `gemini-2.5-flash`.
        options: `temperature` (0, but left to the model from Gemini 3 on; `default` sends none), `top_p`, `max_tokens`,
            `seed`, `thinking_budget`, `thinking_level`, `media_resolution`; `schema` (`json_schema`, `json_object`,
            `none`); `base_url`, `api_version`; and those of all remote chat models.

    Raises:
        FormalimgError: if the library or the key is missing, or an option is wrong.
    """
    name = f"gemini/{model}"
    given = Options(name, with_base_url(options, "GOOGLE_GEMINI_BASE_URL"))
    chosen: dict[str, Setting] = {
        # Google warns that later models begin to loop below their own temperature.
        "temperature": read_temperature(given, name, None if model.startswith("gemini-3") else 0.0, most=2.0),
        "top_p": given.number("top_p", None, least=0, most=1),
        "max_tokens": given.whole_number("max_tokens", None, least=1),
        "seed": given.whole_number("seed", None),
        "thinking_budget": given.whole_number("thinking_budget", None, least=-1),
        "thinking_level": given.choice("thinking_level", _THINKING_LEVELS, None),
        "media_resolution": given.choice("media_resolution", _RESOLUTIONS, None),
        "schema": given.choice("schema", _SCHEMAS, "json_schema"),
    }
    retry_policy = chat_retry_policy(given)
    session = open_session(model, given, retry_policy.timeout)
    given.done()
    settings = {name: value for name, value in {**chosen, **session.address}.items() if value is not None}
    return asking(GeminiChat(session, settings), retry_policy=retry_policy)


def _content(message: Message) -> Content:
    from google.genai.types import Content

    return Content(role="model" if message.role == "assistant" else "user", parts=_parts(message))


def _parts(message: Message) -> list[Part]:
    from google.genai.types import Part

    return [
        Part.from_bytes(data=part.data, mime_type=part.media_type)
        if isinstance(part, Attachment)
        else Part.from_text(text=part)
        for part in message.parts
    ]


def _completion(response: GenerateContentResponse) -> Completion:
    told, used = served(response), usage(response)
    if reason := why_declined(response):
        return Completion(words(response) or one_line(reason), "refusal", used, told)
    text, ended = words(response), how_ended(response)
    if ended in _CUT_OFF:
        return Completion(text, "length", used, told)
    if ended == "STOP" and text:
        return Completion(text, "stop", used, told)
    why = one_line(f"no answer that came to its end: it ended with {ended or 'nothing'}")
    raise CallError("wrong", why, usage=used)


def _resolution(wanted: str | None) -> Any:
    from google.genai.types import MediaResolution

    return None if wanted is None else MediaResolution(f"MEDIA_RESOLUTION_{wanted.upper()}")


def _thinking(budget: int | None, level: str | None) -> Any:
    from google.genai.types import ThinkingConfig

    if budget is None and level is None:
        return None
    return ThinkingConfig.model_validate({"thinking_budget": budget, "thinking_level": level})
