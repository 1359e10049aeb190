"""Gemini API client: one request per call, errors translated, and the parts of a response."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Usage
from formalimg.models.options import Options, server_api_key
from formalimg.models.providers.http import (
    Endpoint,
    ErrorResponse,
    error_from_response,
    one_line,
    read_usage,
    retry_after,
)
from formalimg.models.providers.limits import (
    MAX_IMAGE_ANSWER_BYTES,
    MAX_MODEL_ITEMS,
    http_library,
    limit_answers,
    served_error,
)
from formalimg.models.providers.sdk import PerEventLoop
from formalimg.models.registry import requires
from formalimg.types import Setting

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse, HttpOptions, Part

_KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_TRANSPORTS = frozenset({"httpx", "httpx2", "aiohttp"})
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_REFUSALS = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "NO_IMAGE",
    }
)
"""Finish reasons that are a decision against this request: a retry is of no use."""

requires_gemini = requires(
    modules=["google.genai"],
    install=install_line("gemini"),
    keys=_KEY_NAMES,
    unless="for a server of your own",
)
"""Declares the requirements of a factory."""


class _Connection(NamedTuple):
    client: Client
    http: Any

    async def close(self) -> None:
        await self.http.aclose()


class GeminiClient:
    """Client of one model. It makes one request per call: retries are left to the caller.

    Attributes:
        model: id of the model.
        address: where the requests go, if not to Google.
    """

    def __init__(self, model: str, key: str, http: HttpOptions, max_bytes: int) -> None:
        self.model = model
        self.address: dict[str, Setting] = {"base_url": http.base_url, "api_version": http.api_version}
        self._key = key
        self._http = http
        self._endpoint = Endpoint(f"gemini/{model}", " or ".join(_KEY_NAMES), http.base_url or "the Gemini API")
        self._max_bytes = max_bytes
        self._connections = PerEventLoop(self._connect, _Connection.close)
        # A client that is thrown away tries to close its connections in whichever loop is running then, and complains
        # if theirs is over; so all are kept for as long as this object.
        self._kept: list[Client] = []

    async def generate(self, contents: list[Content], config: GenerateContentConfig) -> GenerateContentResponse:
        """Send one request."""
        try:
            return await self._connections.get().client.aio.models.generate_content(
                model=self.model, contents=contents, config=config
            )
        except Exception as error:
            failed = translate_error(error, self._endpoint)
            if failed is None:
                raise
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise failed

    def _connect(self) -> _Connection:
        from google.genai import Client

        # A client of our own also keeps the library from taking aiohttp where that is installed, which has no hooks.
        http = http_library().AsyncClient(
            timeout=None, follow_redirects=True, event_hooks=limit_answers(self._max_bytes, MAX_MODEL_ITEMS)
        )
        options = self._http.model_copy(update={"httpx_async_client": http})
        self._kept.append(Client(vertexai=False, api_key=self._key, http_options=options))
        return _Connection(self._kept[-1], http)


def open_gemini_client(
    model: str, given: Options, timeout: float, max_bytes: int = MAX_IMAGE_ANSWER_BYTES
) -> GeminiClient:
    """Create a client of a model."""
    try:
        from google.genai.types import HttpOptions, HttpRetryOptions
    except ImportError:
        raise FormalimgError(f"gemini/{model} needs the google-genai library: {install_line('gemini')}") from None
    base_url, api_version = given.url("base_url", None), given.text("api_version", None)
    given.reject_unknown()
    http = HttpOptions(
        base_url=base_url,
        api_version=api_version,
        timeout=max(1, round(timeout * 1000)),
        retry_options=HttpRetryOptions(attempts=1),
    )
    return GeminiClient(model, server_api_key(f"gemini/{model}", _KEY_NAMES, base_url), http, max_bytes)


def refusal_reason(response: GenerateContentResponse) -> str | None:
    """Return why Gemini refused to answer; None if it did not refuse."""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        reason, message = f"the prompt was blocked: {feedback.block_reason.value}", feedback.block_reason_message
    elif (finished := finish_reason(response)) in _REFUSALS:
        candidate = (response.candidates or [])[0]
        reason, message = f"ended with {finished}", candidate.finish_message or response_text(response)
    else:
        return None
    return f"{reason}: {message}" if message else reason


def finish_reason(response: GenerateContentResponse) -> str:
    """Return the finish reason as Gemini writes it; empty if there is none."""
    reason = response.candidates[0].finish_reason if response.candidates else None
    return "" if reason is None else str(reason.value)


def response_parts(response: GenerateContentResponse) -> list[Part]:
    """Return the parts of the answer without thoughts, which may hold text and sketches too."""
    content = response.candidates[0].content if response.candidates else None
    parts = content.parts if content is not None else None
    return [part for part in parts or [] if not part.thought]


def response_text(response: GenerateContentResponse) -> str:
    """Return the text of the answer."""
    return "".join(part.text or "" for part in response_parts(response))


def token_usage(response: GenerateContentResponse, *, images: int = 0) -> Usage:
    """Return what the call used; thoughts are paid like the answer."""
    sent = ["prompt_token_count", "tool_use_prompt_token_count"]
    counts = getattr(response.usage_metadata, "__dict__", None)
    return read_usage(counts, sent, ["candidates_token_count", "thoughts_token_count"], images=images)


def served_fields(response: GenerateContentResponse, **more: Setting) -> dict[str, Setting]:
    """Return what was actually used, as far as Gemini reports it."""
    fields: dict[str, Setting] = {"model": response.model_version, "response_id": response.response_id, **more}
    return {name: value for name, value in fields.items() if value is not None}


def translate_error(error: Exception, endpoint: Endpoint) -> CallError | FormalimgError | None:
    """Translate an exception of the library; None if it is not about the call but a bug."""
    from google.genai.errors import APIError

    if (served := served_error(error)) is not None:
        return served
    if isinstance(error, APIError):
        return _translate_api_error(error, endpoint)
    if isinstance(error, OSError) or _is_transport_error(error):
        return CallError("unavailable", one_line(f"{type(error).__name__}: {error}"))
    if isinstance(error, ValueError | TypeError | AttributeError):
        # The request was checked when it was built, so this is about a response that the library cannot read.
        return CallError("wrong", one_line(f"the answer is not Gemini's: {type(error).__name__}: {error}"))
    return None


def _translate_api_error(error: APIError, endpoint: Endpoint) -> CallError | FormalimgError:
    message = str(error.message or error.details or "")
    reason = f"{error.code}: {one_line(message)}"
    if {str(detail.get("reason")) for detail in _details(error)} & {"API_KEY_INVALID", "API_KEY_EXPIRED"}:
        return error_from_response(ErrorResponse(401, "", "", {}), endpoint)  # they come as 400
    if error.status == "FAILED_PRECONDITION":
        return FormalimgError(f"{endpoint.url} does not serve this account: check its billing and region ({reason})")
    headers = _headers(error)
    if error.code != 429:
        return error_from_response(ErrorResponse(error.code, str(error.status or ""), message, headers), endpoint)
    # Gemini says "you exceeded your current quota" of minutes and of days alike.
    if any("PerDay" in quota for quota in _exceeded_quotas(error)):
        return FormalimgError(
            f"the day's quota for {endpoint.model} is used up: resume tomorrow, or raise it ({reason})"
        )
    return CallError("busy", reason, retry_after(headers))


def _is_transport_error(error: Exception) -> bool:
    # The library picks one of several HTTP libraries; which one is not ours to know.
    return any(base.__module__.partition(".")[0] in _TRANSPORTS for base in type(error).__mro__)


def _headers(error: APIError) -> Mapping[str, str]:
    """Return the response headers, with the retry delay from the body as Retry-After."""
    for detail in _details(error):
        if seconds := _SECONDS.fullmatch(str(detail.get("retryDelay"))):
            return {"retry-after": seconds[1]}
    headers: Mapping[str, str] = getattr(error.response, "headers", {})
    return headers


def _exceeded_quotas(error: APIError) -> Iterator[str]:
    for detail in _details(error):
        violations = detail.get("violations")
        for violation in violations if isinstance(violations, list) else []:
            if isinstance(violation, Mapping):
                yield str(violation.get("quotaId"))


def _details(error: APIError) -> Iterator[Mapping[str, Any]]:
    body = error.details.get("error") if isinstance(error.details, Mapping) else None
    details = body.get("details") if isinstance(body, Mapping) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, Mapping):
            yield detail
