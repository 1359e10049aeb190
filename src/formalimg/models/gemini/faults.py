"""What goes wrong between us and the Gemini API, in the words that all providers share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from formalimg.errors import FormalimgError
from formalimg.models.calls import CallError
from formalimg.models.http_answers import Rejection, Whom, failure, one_line, retry_after

if TYPE_CHECKING:
    from google.genai.errors import APIError

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
