"""Gemini chat and image models, through the google-genai library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from formalimg._util.images import image_type
from formalimg.models.base import CallError, ImageRequest
from formalimg.models.chat import Attachment, Completion, Message
from formalimg.models.chat_provider import SchemaMode, build_chat_model
from formalimg.models.image_provider import ImageCompletion, build_image_model
from formalimg.models.options import Options, read_temperature, with_base_url, without_none
from formalimg.models.providers.gemini_client import (
    GeminiClient,
    finish_reason,
    open_gemini_client,
    refusal_reason,
    requires_gemini,
    response_parts,
    response_text,
    served_fields,
    token_usage,
)
from formalimg.models.providers.http import one_line
from formalimg.models.providers.limits import MAX_CHAT_BYTES
from formalimg.models.retry import chat_retry_policy, image_retry_policy
from formalimg.models.spending import note_usage
from formalimg.types import ChatModel, ImageModel, Setting

if TYPE_CHECKING:
    from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse, Part

_SCHEMAS = ("json_schema", "json_object", "none")
_THINKING_LEVELS = ("minimal", "low", "medium", "high")
_RESOLUTIONS = ("low", "medium", "high")
_CUT_OFF = ("MAX_TOKENS", "CONTINUATION")
_ABOUT_SCHEMA = re.compile(r"json mode|response_?(mime_?type|(json_?)?schema)|schema produces", re.IGNORECASE)
"""What Gemini says if a model has no JSON mode at all, or does not take this schema."""
_MODALITIES = {"image": ["IMAGE"], "text+image": ["TEXT", "IMAGE"]}


class GeminiChat:
    """Chat with a Gemini model: one call per `complete`.

    Attributes:
        name: `gemini/` and the model.
        settings: what shapes its answers besides the messages.
    """

    def __init__(self, client: GeminiClient, settings: Mapping[str, Setting]) -> None:
        self.name = f"gemini/{client.model}"
        self.settings = dict(settings)
        self._client = client
        self._schema = SchemaMode(str(settings["schema"]), _ABOUT_SCHEMA)

    @property
    def supports_schema(self) -> bool:
        """Whether the model enforces the schema of an answer."""
        return self._schema.value == "json_schema"

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Send one request; a second one, with the schema as text, if the model rejects schemas."""
        completion, rejected = await self._schema.complete(self._send, messages, schema)
        return replace(completion, served={**completion.served, "schema": "none"}) if rejected else completion

    async def _send(self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str) -> Completion:
        contents = [_encode_message(message) for message in messages if message.role != "system"]
        system = [part for message in messages if message.role == "system" for part in _encode_parts(message)]
        return _parse(await self._client.generate(contents, self._config(system, schema, mode)))

    def _config(self, system: list[Part], schema: Mapping[str, object] | None, mode: str) -> GenerateContentConfig:
        from google.genai.types import AutomaticFunctionCallingConfig, Content, GenerateContentConfig

        settings: dict[str, Any] = self.settings
        return GenerateContentConfig(
            system_instruction=Content(parts=system) if system else None,
            response_mime_type=None if mode == "none" else "application/json",
            response_json_schema=schema if mode == "json_schema" else None,
            temperature=settings.get("temperature"),
            top_p=settings.get("top_p"),
            max_output_tokens=settings.get("max_tokens"),
            seed=settings.get("seed"),
            media_resolution=_resolution(settings.get("media_resolution")),
            thinking_config=_thinking(settings.get("thinking_budget"), settings.get("thinking_level")),
            automatic_continuation=False,
            automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        )


class GeminiImages:
    """Image generation with a Gemini model, such as gemini-2.5-flash-image: one call per `complete`.

    Attributes:
        name: `gemini/` and the model.
        settings: what shapes its images besides the request.
        takes_images: they all accept reference images.
    """

    takes_images = True

    def __init__(self, client: GeminiClient, settings: Mapping[str, Setting]) -> None:
        self.name = f"gemini/{client.model}"
        self.settings = dict(settings)
        self._client = client

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        response = await self._client.generate(_encode_request(request), self._config(request))
        # Paid for from here on; what Gemini declined, or said in words, by its tokens.
        note_usage(token_usage(response))
        if reason := refusal_reason(response):
            raise CallError("refused", one_line(reason))
        images = [blob for part in response_parts(response) if (blob := part.inline_data) and blob.data]
        if not images:
            raise _no_image(response)
        first = images[0]
        usage = note_usage(token_usage(response, images=len(images)))
        if image_type(first.data or b"") is None:
            raise CallError("wrong", f"what came is no PNG, JPEG or WebP file, but {first.mime_type}")
        seed = request.seed if self.settings["seeded"] else None
        served = served_fields(response, mime_type=first.mime_type, seed=seed)
        return ImageCompletion(first.data or b"", served, usage)

    def _config(self, request: ImageRequest) -> GenerateContentConfig:
        from google.genai.types import AutomaticFunctionCallingConfig, GenerateContentConfig, ImageConfig

        settings: dict[str, Any] = self.settings
        ratio, size = settings.get("aspect_ratio"), settings.get("image_size")
        return GenerateContentConfig(
            response_modalities=_MODALITIES[str(settings["modalities"])],
            image_config=ImageConfig(aspect_ratio=ratio, image_size=size) if ratio or size else None,
            temperature=settings.get("temperature"),
            seed=request.seed if settings["seeded"] else None,
            automatic_continuation=False,
            automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        )


@requires_gemini
def open_gemini_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A Gemini model that answers, by its id."""
    name = f"gemini/{model}"
    given = Options(name, with_base_url(options, "GOOGLE_GEMINI_BASE_URL"))
    chosen: dict[str, Setting] = {
        # Google warns that later models begin to loop below their own temperature.
        "temperature": read_temperature(given, name, None if model.startswith("gemini-3") else 0.0, maximum=2.0),
        "top_p": given.number("top_p", None, minimum=0, maximum=1),
        "max_tokens": given.integer("max_tokens", None, minimum=1),
        "seed": given.integer("seed", None),
        "thinking_budget": given.integer("thinking_budget", None, minimum=-1),
        "thinking_level": given.choice("thinking_level", _THINKING_LEVELS, None),
        "media_resolution": given.choice("media_resolution", _RESOLUTIONS, None),
        "schema": given.choice("schema", _SCHEMAS, "json_schema"),
    }
    retry_policy = chat_retry_policy(given)
    client = open_gemini_client(model, given, retry_policy.timeout, MAX_CHAT_BYTES)
    return build_chat_model(GeminiChat(client, without_none({**chosen, **client.address})), retry_policy=retry_policy)


@requires_gemini
def open_gemini_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """A Gemini model that draws, by its id."""
    given = Options(f"gemini/{model}", with_base_url(options, "GOOGLE_GEMINI_BASE_URL"))
    given.accept_old_name("seeded", "send_seed")
    # The first models that drew refuse to draw without talking.
    default_modalities = "text+image" if model.startswith("gemini-2.0") else "image"
    chosen: dict[str, Setting] = {
        "aspect_ratio": given.text("aspect_ratio", "1:1"),
        "image_size": given.text("image_size", None),
        "modalities": given.choice("modalities", tuple(_MODALITIES), default_modalities),
        "temperature": given.number("temperature", None, minimum=0, maximum=2),
        "seeded": given.flag("send_seed", True),  # runs are stored under this name
    }
    retry_policy = image_retry_policy(given)
    client = open_gemini_client(model, given, retry_policy.timeout)
    settings = {name: value for name, value in {**chosen, **client.address}.items() if value not in (None, "none")}
    return build_image_model(GeminiImages(client, settings), retry_policy=retry_policy)


def _encode_message(message: Message) -> Content:
    from google.genai.types import Content

    return Content(role="model" if message.role == "assistant" else "user", parts=_encode_parts(message))


def _encode_parts(message: Message) -> list[Part]:
    from google.genai.types import Part

    return [
        Part.from_bytes(data=part.data, mime_type=part.media_type)
        if isinstance(part, Attachment)
        else Part.from_text(text=part)
        for part in message.parts
    ]


def _encode_request(request: ImageRequest) -> list[Content]:
    from google.genai.types import Content, Part

    parts = [Part.from_text(text=request.prompt)]
    if request.reference is not None:
        parts.append(Part.from_bytes(data=request.reference, mime_type="image/png"))
    return [Content(role="user", parts=parts)]


def _parse(response: GenerateContentResponse) -> Completion:
    text, finished = response_text(response), finish_reason(response)
    served, used = served_fields(response), note_usage(token_usage(response))
    if reason := refusal_reason(response):
        return Completion(text or one_line(reason), "refusal", used, served)
    if finished in _CUT_OFF:
        return Completion(text, "length", used, served)
    if finished == "STOP" and text:
        return Completion(text, "stop", used, served)
    why = one_line(f"no answer that came to its end: it ended with {finished or 'nothing'}")
    raise CallError("wrong", why, usage=used)


def _no_image(response: GenerateContentResponse) -> CallError:
    """Return the error for a response without an image and without a refusal.

    A model that came to its own end and spoke has decided to answer in text: this is its refusal. Nothing at all,
    or an end that was not its own, is an accident, which may pass.
    """
    text, finished = response_text(response).strip(), finish_reason(response)
    if finished == "STOP" and text:
        return CallError("refused", one_line(f"words instead of an image: {text}"))
    return CallError("wrong", one_line(f"no image in the answer, which ended with {finished or 'nothing'}: {text}"))


def _resolution(value: str | None) -> Any:
    from google.genai.types import MediaResolution

    return None if value is None else MediaResolution(f"MEDIA_RESOLUTION_{value.upper()}")


def _thinking(budget: int | None, level: str | None) -> Any:
    from google.genai.types import ThinkingConfig

    if budget is None and level is None:
        return None
    return ThinkingConfig.model_validate({"thinking_budget": budget, "thinking_level": level})
