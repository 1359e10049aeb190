"""Gemini: images and answers from Google's API, through the google-genai library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from formalimg._util.images import image_type
from formalimg.models.base import CallError, Setting
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.chat_provider import asking, with_format
from formalimg.models.image import ImageModel, ImageRequest
from formalimg.models.image_provider import Painted, remote
from formalimg.models.options import Options, read_temperature, with_base_url
from formalimg.models.providers.gemini_client import (
    GeminiSession,
    how_ended,
    needs_of_gemini,
    open_session,
    parts,
    served,
    usage,
    why_declined,
    words,
)
from formalimg.models.providers.http import one_line
from formalimg.models.retry import chat_retry_policy, image_retry_policy

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


_MODALITIES = {"image": ["IMAGE"], "text+image": ["TEXT", "IMAGE"]}


class GeminiImages:
    """One call to a Gemini model that draws.

    Attributes:
        name: `gemini/` and the model.
        settings: what shapes its images besides the request.
        takes_images: they all take reference images.
    """

    takes_images = True

    def __init__(self, session: GeminiSession, settings: Mapping[str, Setting]) -> None:
        self.name = f"gemini/{session.model}"
        self.settings = dict(settings)
        self._session = session

    async def paint(self, request: ImageRequest) -> Painted:
        """Make one image."""
        response = await self._session.generate(_contents(request), self._config(request))
        if reason := why_declined(response):
            raise CallError("refused", one_line(reason))
        images = [blob for part in parts(response) if (blob := part.inline_data) and blob.data]
        if not images:
            raise _without_image(response)
        first = images[0]
        if image_type(first.data or b"") is None:
            raise CallError("wrong", f"what came is no PNG, JPEG or WebP file, but {first.mime_type}")
        told = served(response, mime_type=first.mime_type, seed=request.seed if self.settings["seeded"] else None)
        return Painted(first.data or b"", told, usage(response, images=len(images)))

    def _config(self, request: ImageRequest) -> GenerateContentConfig:
        from google.genai.types import AutomaticFunctionCallingConfig, GenerateContentConfig, ImageConfig

        told: dict[str, Any] = self.settings
        ratio, size = told.get("aspect_ratio"), told.get("image_size")
        return GenerateContentConfig(
            response_modalities=_MODALITIES[str(told["modalities"])],
            image_config=ImageConfig(aspect_ratio=ratio, image_size=size) if ratio or size else None,
            temperature=told.get("temperature"),
            seed=request.seed if told["seeded"] else None,
            automatic_continuation=False,
            automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        )


@needs_of_gemini
def open_gemini_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """A Gemini model that draws, by its id.

    Args:
        model: the id, such as `gemini-2.5-flash-image`.
        options: `aspect_ratio` (`1:1`; `none` leaves it to the model), `image_size` (`1K`, `2K`, `4K`),
            `modalities` (`image`, `text+image`), `temperature`, `seeded` (`off` keeps the seed back), `base_url`,
            `api_version`, and those of all remote models.

    Raises:
        FormalimgError: if the library or the key is missing, or an option is wrong.
    """
    given = Options(f"gemini/{model}", with_base_url(options, "GOOGLE_GEMINI_BASE_URL"))
    # The first models that drew refuse to draw without talking.
    usual_modalities = "text+image" if model.startswith("gemini-2.0") else "image"
    chosen: dict[str, Setting] = {
        "aspect_ratio": given.text("aspect_ratio", "1:1"),
        "image_size": given.text("image_size", None),
        "modalities": given.choice("modalities", tuple(_MODALITIES), usual_modalities),
        "temperature": given.number("temperature", None, least=0, most=2),
        "seeded": given.flag("seeded", True),
    }
    retry_policy = image_retry_policy(given)
    session = open_session(model, given, retry_policy.timeout)
    given.done()
    return remote(GeminiImages(session, _set({**chosen, **session.address})), retry_policy=retry_policy)


def _set(chosen: Mapping[str, Setting]) -> dict[str, Setting]:
    return {name: value for name, value in chosen.items() if value not in (None, "none")}


def _contents(request: ImageRequest) -> list[Content]:
    from google.genai.types import Content, Part

    spoken = [Part.from_text(text=request.prompt)]
    if request.reference is not None:
        spoken.append(Part.from_bytes(data=request.reference, mime_type="image/png"))
    return [Content(role="user", parts=spoken)]


def _without_image(response: GenerateContentResponse) -> CallError:
    """No image, and nobody says that it was declined.

    A model that came to its own end and spoke has decided to answer in words: these are its refusal. Nothing at all,
    or an end that was not its own, is an accident, which may pass.
    """
    spoken, ended = words(response).strip(), how_ended(response)
    if ended == "STOP" and spoken:
        return CallError("refused", one_line(f"words instead of an image: {spoken}"))
    return CallError("wrong", one_line(f"no image in the answer, which ended with {ended or 'nothing'}: {spoken}"))
