"""HTTP error responses, Retry-After headers and downloads, shared by all providers."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, CallErrorKind, Usage
from formalimg.models.providers.limits import MAX_IMAGE_BYTES, http_library, limit_downloads
from formalimg.models.secrets import redact
from formalimg.types import Setting

_REFUSAL_CODES = {
    *("content_filter", "content_policy_violation", "image_content_policy_violation"),
    *("invalid_prompt", "moderation_blocked", "responsibleaipolicyviolation"),
}
_REFUSAL_TEXT = re.compile(
    r"safety system|content policy|content management policy|usage polic(y|ies)|flagged by moderation", re.IGNORECASE
)
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
_QUOTA_TEXT = re.compile(r"credit balance is too low|exceeded your current quota", re.IGNORECASE)
_TRANSIENT_STATUSES = {408, 409, 425}
_HTML = re.compile(r"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# No call uses so many tokens: a report of more is none, or one wrong answer would use up every budget.
_MAX_COUNT = 10**8
_MAX_REDIRECTS = 5
# seconds before each retry of a download: the image is paid for, and generating it again would cost another one
_DOWNLOAD_DELAYS = (0.5, 2.0)
_is_downloading: ContextVar[bool] = ContextVar("formalimg_is_downloading", default=False)


@dataclass(frozen=True)
class Endpoint:
    """The model and server of a call, for error messages."""

    model: str  # name as users write it
    key_name: str  # environment variable that holds the API key
    url: str  # address of the server

    def error(self, status: int, code: str, message: str, headers: Mapping[str, str]) -> CallError | FormalimgError:
        """Translate an error response to a call error, or to a fatal error if no further call can succeed.

        The header names must be in lower case, or the mapping case-insensitive.
        """
        code = code.lower()
        reason = f"{status}: {one_line(message) or one_line(code) or 'no reason given'}"
        if 400 <= status < 500 and status != 429 and (code in _REFUSAL_CODES or _REFUSAL_TEXT.search(message)):
            return CallError("refused", reason)
        if status == 402 or code in _QUOTA_CODES or _QUOTA_TEXT.search(message):
            return FormalimgError(
                f"the account for {self.model} is out of money or quota ({reason}): top it up, then resume"
            )
        if status == 401:
            # The server's message is left out: it may show parts of the key.
            return FormalimgError(f"{self.url} does not accept the key for {self.model}: check {self.key_name}")
        if status == 403:
            return FormalimgError(f"the key in {self.key_name} may not use {self.model} at {self.url} ({reason})")
        if status in (404, 405):
            return FormalimgError(f"{self.url} does not know {self.model} ({reason}): check the name, or base_url")
        if status in (429, 529):
            return CallError("busy", reason, retry_after(headers))
        if status >= 500 or status in _TRANSIENT_STATUSES:
            return CallError("unavailable", reason, retry_after(headers))
        return CallError("rejected", reason)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Parse a Retry-After header to seconds; return None if there is none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - time.time()
            except (ValueError, OverflowError):  # also of years, hours and time zones with too many digits
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def json_object(body: bytes) -> dict[str, object]:
    """Parse a response body as a JSON object."""
    if not body.strip():
        raise CallError("wrong", "the answer is empty")
    if _HTML.match(body[:100].decode("latin-1")):
        raise CallError("wrong", "the answer is an HTML page, not JSON")
    try:
        value = json.loads(body)
        if _SURROGATE_ESCAPE.search(body):  # which JSON can spell, but no file can hold
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise CallError("wrong", f"the answer is not JSON, or is cut off ({len(body):,} bytes)") from None
    if not isinstance(value, dict):
        raise CallError("wrong", f"the answer is JSON, but a {type(value).__name__} instead of an object")
    return value


def plain_fields(body: Mapping[str, object], *names: str) -> dict[str, Setting]:
    """Return the named fields with plain values."""
    return {name: value for name in names if isinstance(value := body.get(name), str | int | float | bool)}


def read_usage(report: object, inputs: Sequence[str], outputs: Sequence[str], images: int = 0) -> Usage:
    """Parse the reported usage of a call by summing the named counts; missing counts are 0.

    A report with an impossible count (negative, fractional, far too large) is ignored, because the remaining counts
    would understate the usage.
    """
    counts = report if isinstance(report, Mapping) else {}
    sums = []
    for names in (inputs, outputs):
        values = [value for name in names if (value := counts.get(name)) is not None]
        if not all(type(value) is int and 0 <= value <= _MAX_COUNT for value in values):
            return Usage(images=images)
        sums.append(sum(values))
    return Usage(sums[0], sums[1], images)


def one_line(text: str) -> str:
    """Return a server's message on one line, truncated and without API keys or HTML."""
    if _HTML.match(text):
        return "an HTML page"
    return truncate(" ".join(redact(text).split()), 240, 60)


async def download_image(url: str, timeout: float, delays: Sequence[float] = _DOWNLOAD_DELAYS) -> bytes:
    """Download a generated image from its URL, with a retry after each of the delays.

    The provider's client is not used because it would send the key, often to another company's server. The URL is not
    in any message because anyone who has it can fetch the image.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise CallError("wrong", "the address of the image is not a web address")
    try:
        return await _fetch_image(url, timeout)
    except CallError:
        if not delays:
            raise
        await asyncio.sleep(delays[0])
        return await download_image(url, timeout, delays[1:])


async def _fetch_image(url: str, timeout: float) -> bytes:
    library = http_library()
    _hide_downloads_from_log(library.__name__)
    options = {
        "timeout": timeout,
        "follow_redirects": True,
        "max_redirects": _MAX_REDIRECTS,
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),  # none are kept
        "event_hooks": limit_downloads(MAX_IMAGE_BYTES),
    }
    downloading = _is_downloading.set(True)
    try:
        async with asyncio.timeout(timeout), library.AsyncClient(**options) as client:
            response: Any = await client.get(url)
    except TimeoutError:
        raise CallError("unavailable", f"the image could not be fetched within {timeout:g} s") from None
    except library.TooManyRedirects:
        raise CallError("wrong", f"the image has more than {_MAX_REDIRECTS} redirects before it") from None
    except (library.HTTPError, library.InvalidURL, OSError, ValueError) as error:
        raise CallError("unavailable", f"the image could not be fetched: {type(error).__name__}") from None
    finally:
        _is_downloading.reset(downloading)
    status, data = response.status_code, response.content
    if status < 300:
        return bytes(data)
    kind: CallErrorKind = "unavailable" if status >= 500 or status == 429 else "wrong"
    raise CallError(kind, f"the image could not be fetched from its address: {status}")


@cache
def _hide_downloads_from_log(name: str) -> None:
    logging.getLogger(name).addFilter(lambda record: not _is_downloading.get())
