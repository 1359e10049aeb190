"""Gemini chat and image models, based on the google-genai library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formalimg._util.images import image_type
from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment, CallError, Completion, ImageRequest, Message, Usage
from formalimg.models.options import MODEL_DEFAULT, Options, server_api_key, with_base_url, without_none
from formalimg.models.pricing import note_usage
from formalimg.models.provider_models import ImageCompletion, SchemaProvider, build_chat_model, build_image_model
from formalimg.models.providers.http import Endpoint, one_line, read_usage, retry_after
from formalimg.models.providers.limits import (
    MAX_CHAT_BYTES,
    MAX_IMAGE_ANSWER_BYTES,
    MAX_MODEL_ITEMS,
    find_served_error,
    http_library,
    limit_answers,
)
from formalimg.models.providers.sdk import PerEventLoop
from formalimg.models.registry import requires
from formalimg.models.retry import chat_retry_policy, image_retry_policy
from formalimg.types import ChatModel, ImageModel, Setting

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse, HttpOptions, Part


_KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_TRANSPORTS = frozenset({"httpx", "httpx2", "aiohttp"})
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_REFUSALS = {  # finish reasons that are a decision against this request: a retry is of no use
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "NO_IMAGE"),
}
_CUT_OFF = ("MAX_TOKENS", "CONTINUATION")
# what Gemini says if a model has no JSON mode at all, or does not take this schema
_ABOUT_SCHEMA = re.compile(r"json mode|response_?(mime_?type|(json_?)?schema)|schema produces", re.IGNORECASE)
_MODALITIES = {"image": ["IMAGE"], "text+image": ["TEXT", "IMAGE"]}

_requires_gemini = requires(
    modules=["google.genai"], install=install_line("gemini"), keys=_KEY_NAMES, unless="for a server of your own"
)


class GeminiClient:
    """Client of one model that makes one request per call, without retries."""

    def __init__(self, model: str, key: str, http: HttpOptions, max_bytes: int) -> None:
        self.model = model
        self.address: dict[str, Setting] = {"base_url": http.base_url, "api_version": http.api_version}
        self._key = key
        self._http = http
        self._endpoint = Endpoint(f"gemini/{model}", " or ".join(_KEY_NAMES), http.base_url or "the Gemini API")
        self._max_bytes = max_bytes
        self._connections = PerEventLoop(self._connect, lambda connection: connection[1].aclose())
        # A client that is thrown away tries to close its connections in whichever loop is running then, and complains
        # if theirs is over; so all are kept for as long as this object.
        self._kept: list[Client] = []

    async def generate(self, contents: list[Content], config: GenerateContentConfig) -> GenerateContentResponse:
        """Send one request."""
        try:
            return await self._connections.get()[0].aio.models.generate_content(
                model=self.model, contents=contents, config=config
            )
        except Exception as error:
            failed = _translate_error(error, self._endpoint)
            if failed is None:
                raise
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise failed

    def _connect(self) -> tuple[Client, Any]:
        from google.genai import Client

        # A client of our own also keeps the library from taking aiohttp where that is installed, which has no hooks.
        http = http_library().AsyncClient(
            timeout=None, follow_redirects=True, event_hooks=limit_answers(self._max_bytes, MAX_MODEL_ITEMS)
        )
        options = self._http.model_copy(update={"httpx_async_client": http})
        self._kept.append(Client(vertexai=False, api_key=self._key, http_options=options))
        return self._kept[-1], http


def open_gemini_client(
    model: str, options: Options, timeout: float, max_bytes: int = MAX_IMAGE_ANSWER_BYTES
) -> GeminiClient:
    """Create a client for a model."""
    try:
        from google.genai.types import HttpOptions, HttpRetryOptions
    except ImportError:
        raise FormalimgError(f"gemini/{model} needs the google-genai library: {install_line('gemini')}") from None
    base_url, api_version = options.url("base_url", None), options.text("api_version", None)
    options.reject_unknown()
    http = HttpOptions(
        base_url=base_url,
        api_version=api_version,
        timeout=max(1, round(timeout * 1000)),
        retry_options=HttpRetryOptions(attempts=1),
    )
    return GeminiClient(model, server_api_key(f"gemini/{model}", _KEY_NAMES, base_url), http, max_bytes)


def _refusal_reason(response: GenerateContentResponse) -> str | None:
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        reason, message = f"the prompt was blocked: {feedback.block_reason.value}", feedback.block_reason_message
    elif (finished := _finish_reason(response)) in _REFUSALS:
        candidate = (response.candidates or [])[0]
        reason, message = f"ended with {finished}", candidate.finish_message or _response_text(response)
    else:
        return None
    return f"{reason}: {message}" if message else reason


def _finish_reason(response: GenerateContentResponse) -> str:
    reason = response.candidates[0].finish_reason if response.candidates else None
    return "" if reason is None else str(reason.value)


def _response_parts(response: GenerateContentResponse) -> list[Part]:
    """Return the parts of the answer without thoughts, which may include text and draft images."""
    content = response.candidates[0].content if response.candidates else None
    parts = content.parts if content is not None else None
    return [part for part in parts or [] if not part.thought]


def _response_text(response: GenerateContentResponse) -> str:
    return "".join(part.text or "" for part in _response_parts(response))


def _token_usage(response: GenerateContentResponse, *, images: int = 0) -> Usage:
    sent = ["prompt_token_count", "tool_use_prompt_token_count"]
    counts = getattr(response.usage_metadata, "__dict__", None)
    return read_usage(counts, sent, ["candidates_token_count", "thoughts_token_count"], images=images)


def _describe_response(response: GenerateContentResponse, **more: Setting) -> dict[str, Setting]:
    return without_none({"model": response.model_version, "response_id": response.response_id, **more})


def _translate_error(error: Exception, endpoint: Endpoint) -> CallError | FormalimgError | None:
    """Translate an exception of the library, or return None if the exception is a bug."""
    from google.genai.errors import APIError

    if (served := find_served_error(error)) is not None:
        return served
    if isinstance(error, APIError):
        return _translate_api_error(error, endpoint)
    if isinstance(error, OSError) or any(
        base.__module__.partition(".")[0] in _TRANSPORTS for base in type(error).__mro__
    ):  # the library picks one of several HTTP libraries; which one is not ours to know
        return CallError("unavailable", one_line(f"{type(error).__name__}: {error}"))
    if isinstance(error, ValueError | TypeError | AttributeError):
        # The request was checked when it was built, so this is about a response that the library cannot read.
        return CallError("wrong", one_line(f"the answer is not Gemini's: {type(error).__name__}: {error}"))
    return None


def _translate_api_error(error: APIError, endpoint: Endpoint) -> CallError | FormalimgError:
    message = str(error.message or error.details or "")
    reason = f"{error.code}: {one_line(message)}"
    details = list(_error_details(error))
    if {str(detail.get("reason")) for detail in details} & {"API_KEY_INVALID", "API_KEY_EXPIRED"}:
        return endpoint.error(401, "", "", {})  # they come as 400
    if error.status == "FAILED_PRECONDITION":
        return FormalimgError(f"{endpoint.url} does not serve this account: check its billing and region ({reason})")
    delays = (_SECONDS.fullmatch(str(detail.get("retryDelay"))) for detail in details)
    delay = next(filter(None, delays), None)
    headers = {"retry-after": delay[1]} if delay else getattr(error.response, "headers", {})
    if error.code != 429:
        return endpoint.error(error.code, str(error.status or ""), message, headers)
    # Gemini says "you exceeded your current quota" of minutes and of days alike.
    lists = [detail.get("violations") for detail in details]
    violations = [violation for entry in lists if isinstance(entry, list) for violation in entry]
    if any("PerDay" in str(entry.get("quotaId")) for entry in violations if isinstance(entry, Mapping)):
        return FormalimgError(
            f"the day's quota for {endpoint.model} is used up: resume tomorrow, or raise it ({reason})"
        )
    return CallError("busy", reason, retry_after(headers))


def _error_details(error: APIError) -> Iterator[Mapping[str, Any]]:
    body = error.details.get("error") if isinstance(error.details, Mapping) else None
    details = body.get("details") if isinstance(body, Mapping) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, Mapping):
            yield detail


class GeminiChat(SchemaProvider):
    """A Gemini chat model: one call per `complete`."""

    marks_rejection = True

    def __init__(self, client: GeminiClient, settings: Mapping[str, Setting]) -> None:
        super().__init__(f"gemini/{client.model}", settings, str(settings["schema"]), _ABOUT_SCHEMA)
        self._client = client

    async def _send(self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str) -> Completion:
        from google.genai.types import Content

        roles = {"assistant": "model", "user": "user"}
        contents = [
            Content(role=roles[message.role], parts=_encode_parts(message))
            for message in messages
            if message.role != "system"
        ]
        system = [part for message in messages if message.role == "system" for part in _encode_parts(message)]
        settings: Mapping[str, Any] = self.settings
        resolution = settings.get("media_resolution")
        thinking = without_none({name: settings.get(name) for name in ("thinking_budget", "thinking_level")})
        config = _build_config(
            system_instruction=Content(parts=system) if system else None,
            response_mime_type=None if mode == "none" else "application/json",
            response_json_schema=schema if mode == "json_schema" else None,
            temperature=settings.get("temperature"),
            top_p=settings.get("top_p"),
            max_output_tokens=settings.get("max_tokens"),
            seed=settings.get("seed"),
            media_resolution=resolution and f"MEDIA_RESOLUTION_{resolution.upper()}",
            thinking_config=thinking or None,
        )
        return _parse_completion(await self._client.generate(contents, config))


class GeminiImages:
    """A Gemini image model, such as gemini-2.5-flash-image: one call per `complete`."""

    takes_images = True

    def __init__(self, client: GeminiClient, settings: Mapping[str, Setting]) -> None:
        self.name = f"gemini/{client.model}"
        self.settings = dict(settings)
        self._client = client

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        from google.genai.types import Content

        parts: tuple[str | Attachment, ...] = (request.prompt,)
        if request.reference is not None:
            parts = (request.prompt, Attachment(request.reference, "image/png"))
        contents = [Content(role="user", parts=_encode_parts(Message("user", parts)))]
        response = await self._client.generate(contents, self._config(request))
        # Paid for from here on; what Gemini declined, or said in words, by its tokens.
        note_usage(_token_usage(response))
        if reason := _refusal_reason(response):
            raise CallError("refused", one_line(reason))
        images = [blob for part in _response_parts(response) if (blob := part.inline_data) and blob.data]
        if not images:
            raise _no_image(response)
        first = images[0]
        usage = note_usage(_token_usage(response, images=len(images)))
        if image_type(first.data or b"") is None:
            raise CallError("wrong", f"the response is not a PNG, JPEG or WebP file, but {first.mime_type}")
        seed = request.seed if self.settings["seeded"] else None
        served = _describe_response(response, mime_type=first.mime_type, seed=seed)
        return ImageCompletion(first.data or b"", served, usage)

    def _config(self, request: ImageRequest) -> GenerateContentConfig:
        settings: Mapping[str, Any] = self.settings
        form = without_none({name: settings.get(name) for name in ("aspect_ratio", "image_size")})
        return _build_config(
            response_modalities=_MODALITIES[str(settings["modalities"])],
            image_config=form or None,
            temperature=settings.get("temperature"),
            seed=request.seed if settings["seeded"] else None,
        )


def _build_config(**fields: Any) -> GenerateContentConfig:
    from google.genai.types import AutomaticFunctionCallingConfig, GenerateContentConfig

    return GenerateContentConfig(
        automatic_continuation=False, automatic_function_calling=AutomaticFunctionCallingConfig(disable=True), **fields
    )


@_requires_gemini
def open_gemini_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A Gemini model that answers, by its id."""
    parsed = Options(f"gemini/{model}", with_base_url(options, "GOOGLE_GEMINI_BASE_URL"))
    # Google warns that later models begin to loop below their own temperature.
    temperature = None if model.startswith("gemini-3") else 0.0
    chosen: dict[str, Setting] = {
        "temperature": parsed.number("temperature", temperature, minimum=0, maximum=2.0, words=MODEL_DEFAULT),
        "top_p": parsed.number("top_p", None, minimum=0, maximum=1),
        "max_tokens": parsed.integer("max_tokens", None, minimum=1),
        "seed": parsed.integer("seed", None),
        "thinking_budget": parsed.integer("thinking_budget", None, minimum=-1),
        "thinking_level": parsed.choice("thinking_level", ("minimal", "low", "medium", "high"), None),
        "media_resolution": parsed.choice("media_resolution", ("low", "medium", "high"), None),
        "schema": parsed.choice("schema", ("json_schema", "json_object", "none"), "json_schema"),
    }
    retry_policy = chat_retry_policy(parsed)
    client = open_gemini_client(model, parsed, retry_policy.timeout, MAX_CHAT_BYTES)
    return build_chat_model(GeminiChat(client, without_none({**chosen, **client.address})), retry_policy=retry_policy)


@_requires_gemini
def open_gemini_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """A Gemini model that draws, by its id."""
    parsed = Options(f"gemini/{model}", with_base_url(options, "GOOGLE_GEMINI_BASE_URL"))
    parsed.accept_old_name("seeded", "send_seed")
    # The first models that drew refuse to draw without talking.
    default_modalities = "text+image" if model.startswith("gemini-2.0") else "image"
    chosen: dict[str, Setting] = {
        "aspect_ratio": parsed.text("aspect_ratio", "1:1"),
        "image_size": parsed.text("image_size", None),
        "modalities": parsed.choice("modalities", tuple(_MODALITIES), default_modalities),
        "temperature": parsed.number("temperature", None, minimum=0, maximum=2),
        "seeded": parsed.flag("send_seed", True),  # runs are stored under this name
    }
    retry_policy = image_retry_policy(parsed)
    client = open_gemini_client(model, parsed, retry_policy.timeout)
    settings = {name: value for name, value in {**chosen, **client.address}.items() if value not in (None, "none")}
    return build_image_model(GeminiImages(client, settings), retry_policy=retry_policy)


def _encode_parts(message: Message) -> list[Part]:
    from google.genai.types import Part

    return [
        Part.from_bytes(data=part.data, mime_type=part.media_type)
        if isinstance(part, Attachment)
        else Part.from_text(text=part)
        for part in message.parts
    ]


def _parse_completion(response: GenerateContentResponse) -> Completion:
    text, finished = _response_text(response), _finish_reason(response)
    served, used = _describe_response(response), note_usage(_token_usage(response))
    if reason := _refusal_reason(response):
        return Completion(text or one_line(reason), "refusal", used, served)
    if finished in _CUT_OFF:
        return Completion(text, "length", used, served)
    if finished == "STOP" and text:
        return Completion(text, "stop", used, served)
    message = one_line(f"no answer that came to its end: it ended with {finished or 'nothing'}")
    raise CallError("wrong", message, usage=used)


def _no_image(response: GenerateContentResponse) -> CallError:
    # A model that came to its own end and spoke has decided to answer in text: this is its refusal. Nothing at all, or
    # an end that was not its own, is an accident, which may pass.
    text, finished = _response_text(response).strip(), _finish_reason(response)
    if finished == "STOP" and text:
        return CallError("refused", one_line(f"text instead of an image: {text}"))
    return CallError("wrong", one_line(f"no image in the answer, which ended with {finished or 'nothing'}: {text}"))
