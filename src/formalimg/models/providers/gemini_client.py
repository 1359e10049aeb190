"""What goes wrong between us and the Gemini API, in the words that all providers share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Setting, Usage
from formalimg.models.options import Options
from formalimg.models.providers.http import Rejection, Whom, failure, one_line, retry_after
from formalimg.models.providers.sdk import PerLoop
from formalimg.models.registry import needs
from formalimg.models.secrets import find_key, key

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse, HttpOptions, Part


_TRANSPORTS = frozenset({"httpx", "httpx2", "aiohttp"})
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


def failure_of(error: Exception, whom: Whom) -> CallError | FormalimgError | None:
    """What an exception out of the library means; None if it is not about the call but a bug."""
    from google.genai.errors import APIError

    if isinstance(error, APIError):
        return _failure_of_status(error, whom)
    if isinstance(error, OSError) or _is_of_transport(error):
        return CallError("unavailable", one_line(f"{type(error).__name__}: {error}"))
    if isinstance(error, ValueError | TypeError | AttributeError):
        # The request was checked when it was built, so this is about an answer that the library cannot read.
        return CallError("wrong", one_line(f"the answer is not Gemini's: {type(error).__name__}: {error}"))
    return None


def _failure_of_status(error: APIError, whom: Whom) -> CallError | FormalimgError:
    message = str(error.message or error.details or "")
    words = f"{error.code}: {one_line(message)}"
    reasons = {str(detail.get("reason")) for detail in _details(error)}
    if reasons & {"API_KEY_INVALID", "API_KEY_EXPIRED"}:  # they come as 400
        return failure(Rejection(401, "", "", {}), whom)
    if error.status == "FAILED_PRECONDITION":
        return FormalimgError(f"{whom.place} does not serve this account: check its billing and region ({words})")
    headers = _headers(error)
    if error.code != 429:
        return failure(Rejection(error.code, str(error.status or ""), message, headers), whom)
    # Gemini says "you exceeded your current quota" of minutes and of days alike.
    if any("PerDay" in quota for quota in _exceeded_quotas(error)):
        return FormalimgError(f"the day's quota for {whom.model} is used up: resume tomorrow, or raise it ({words})")
    return CallError("busy", words, retry_after(headers))


def _is_of_transport(error: Exception) -> bool:
    # The library picks one of several HTTP libraries; which one is not ours to know.
    return any(kind.__module__.partition(".")[0] in _TRANSPORTS for kind in type(error).__mro__)


def _headers(error: APIError) -> Mapping[str, str]:
    """The headers of the answer. When to come again stands in the body; it is written among them."""
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


_DECLINED = frozenset(
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
"""Ways to end that are a decision against this request: asking again is of no use."""


def why_declined(response: GenerateContentResponse) -> str | None:
    """Why Gemini declined to answer; None if it did not decline."""
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return _with_words(f"the prompt was blocked: {feedback.block_reason.value}", feedback.block_reason_message)
    if (ended := how_ended(response)) in _DECLINED:
        candidate = (response.candidates or [])[0]
        return _with_words(f"ended with {ended}", candidate.finish_message or words(response))
    return None


def how_ended(response: GenerateContentResponse) -> str:
    """The reason of the end as Gemini writes it; empty if there is none."""
    reason = response.candidates[0].finish_reason if response.candidates else None
    return "" if reason is None else str(reason.value)


def parts(response: GenerateContentResponse) -> list[Part]:
    """What was said and drawn, without what the model only thought: thoughts may hold words and sketches too."""
    content = response.candidates[0].content if response.candidates else None
    said = content.parts if content is not None else None
    return [part for part in said or [] if not part.thought]


def words(response: GenerateContentResponse) -> str:
    """All that was said in words."""
    return "".join(part.text or "" for part in parts(response))


def usage(response: GenerateContentResponse, *, images: int = 0) -> Usage:
    """What the call used up; thoughts are paid like what is said."""
    counted = response.usage_metadata
    if counted is None:
        return Usage(images=images)
    return Usage(
        input_tokens=(counted.prompt_token_count or 0) + (counted.tool_use_prompt_token_count or 0),
        output_tokens=(counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0),
        images=images,
    )


def served(response: GenerateContentResponse, **more: Setting) -> dict[str, Setting]:
    """What was really used, as far as Gemini says."""
    told: dict[str, Setting] = {"model": response.model_version, "response_id": response.response_id, **more}
    return {name: value for name, value in told.items() if value is not None}


def _with_words(reason: str, message: str | None) -> str:
    return f"{reason}: {message}" if message else reason


_KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

needs_of_gemini = needs(
    modules=["google.genai"],
    install="pip install 'formalimg[gemini]'",
    keys=_KEY_NAMES,
    unless="for a server of your own",
)
"""Says beside a function that opens models what they need."""


class GeminiSession:
    """A way to one model of the Gemini API. It asks once: waiting and asking again is left to the caller.

    Attributes:
        model: the model's id.
        address: where the requests go, if not to Google.
    """

    def __init__(self, model: str, key: str, http: HttpOptions) -> None:
        self.model = model
        self.address: dict[str, Setting] = {"base_url": http.base_url, "api_version": http.api_version}
        self._key = key
        self._http = http
        self._whom = Whom(f"gemini/{model}", " or ".join(_KEY_NAMES), http.base_url or "the Gemini API")
        self._clients = PerLoop(self._client)
        # A client that is thrown away tries to close its connections in whichever loop is running then, and complains
        # if theirs is over; so all are kept for as long as the session.
        self._kept: list[Client] = []

    async def generate(self, contents: list[Content], config: GenerateContentConfig) -> GenerateContentResponse:
        """Send one request.

        Raises:
            CallError: if no answer came, or one that is not Gemini's.
            FormalimgError: if no call can ever succeed.
        """
        try:
            return await self._clients.here().aio.models.generate_content(
                model=self.model, contents=contents, config=config
            )
        except Exception as error:
            failure = failure_of(error, self._whom)
            if failure is None:
                raise
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise failure

    def _client(self) -> Client:
        from google.genai import Client

        self._kept.append(Client(vertexai=False, api_key=self._key, http_options=self._http.model_copy()))
        return self._kept[-1]


def open_session(model: str, given: Options, timeout: float) -> GeminiSession:
    """A session with a model.

    Args:
        model: the model's id.
        given: the user's options, of which `base_url` and `api_version` are read.
        timeout: seconds until a request is given up.

    Raises:
        FormalimgError: if the library or the key is missing.
    """
    try:
        from google.genai.types import HttpOptions, HttpRetryOptions
    except ImportError:
        raise FormalimgError(
            f"gemini/{model} needs the google-genai library: pip install 'formalimg[gemini]'"
        ) from None
    base_url = given.url("base_url", None)
    http = HttpOptions(
        base_url=base_url,
        api_version=given.text("api_version", None),
        timeout=max(1, round(timeout * 1000)),
        retry_options=HttpRetryOptions(attempts=1),
    )
    return GeminiSession(model, _key(model, base_url), http)


def _key(model: str, base_url: str | None) -> str:
    found = find_key(_KEY_NAMES) if base_url else key(_KEY_NAMES, f"gemini/{model}")
    if found and not (found.isascii() and found.isprintable() and " " not in found):
        raise FormalimgError(f"{' or '.join(_KEY_NAMES)} holds no key: there are characters in it that no key has")
    return found or "none"  # a server of one's own may want no key, but the library insists on one
