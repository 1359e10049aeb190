"""Answers of HTTP servers that bring no result: what they mean, whoever sent them."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Fault, Setting
from formalimg.models.secrets import redacted

_REFUSALS = {
    "content_filter",
    "content_policy_violation",
    "image_content_policy_violation",
    "invalid_prompt",
    "moderation_blocked",
    "responsibleaipolicyviolation",
}
_REFUSING_WORDS = re.compile(
    r"safety system|content policy|content management policy|usage polic(y|ies)|flagged by moderation",
    re.IGNORECASE,
)
_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
_NO_MONEY_WORDS = re.compile(r"credit balance is too low|exceeded your current quota", re.IGNORECASE)
_PASSING = {408, 409, 425}
_HTML = re.compile(r"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Whom:
    """Who was called, for messages.

    Attributes:
        model: as users write it.
        key_name: the variable that holds the key.
        place: the address of the server.
    """

    model: str
    key_name: str
    place: str


@dataclass(frozen=True)
class Rejection:
    """An answer with an error status.

    Attributes:
        status: the number.
        code: what the provider calls the error.
        message: what it says about it.
        headers: of the answer; their names may be written in any way if the mapping does not mind.
    """

    status: int
    code: str
    message: str
    headers: Mapping[str, str]


def failure(rejection: Rejection, whom: Whom) -> CallError | FormalimgError:
    """What a rejection means: a fault of this one call, or a reason to end the run because no call can succeed."""
    status, code = rejection.status, rejection.code.lower()
    said = f"{status}: {one_line(rejection.message) or one_line(code) or 'no reason given'}"
    if 400 <= status < 500 and status != 429 and (code in _REFUSALS or _REFUSING_WORDS.search(rejection.message)):
        return CallError("refused", said)
    if status == 402 or code in _NO_MONEY or _NO_MONEY_WORDS.search(rejection.message):
        return FormalimgError(f"the account for {whom.model} is out of money or quota ({said}): top it up, then resume")
    if status == 401:
        # What the server says is left out: it may show parts of the key.
        return FormalimgError(f"{whom.place} does not accept the key for {whom.model}: check {whom.key_name}")
    if status == 403:
        return FormalimgError(f"the key in {whom.key_name} may not use {whom.model} at {whom.place} ({said})")
    if status in (404, 405):
        return FormalimgError(f"{whom.place} does not know {whom.model} ({said}): check the name, or base_url")
    if status in (429, 529):
        return CallError("busy", said, retry_after(rejection.headers))
    if status >= 500 or status in _PASSING:
        return CallError("unavailable", said, retry_after(rejection.headers))
    return CallError("rejected", said)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """For how many seconds a server wants to be left alone, by its headers; None if it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * unit
        except ValueError:
            seconds = _until(text)
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def json_object(body: bytes) -> dict[str, object]:
    """The object that an answer promises to be.

    Raises:
        CallError: if it is something else.
    """
    if not body.strip():
        raise CallError("wrong", "the answer is empty")
    if _HTML.match(body[:100].decode("latin-1")):
        raise CallError("wrong", "the answer is an HTML page, not JSON")
    try:
        value = json.loads(body)
        if _HALF_CHARACTER.search(body):  # which JSON can spell, but no file can hold
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise CallError("wrong", f"the answer is no JSON, or cut off ({len(body):,} bytes)") from None
    if not isinstance(value, dict):
        raise CallError("wrong", f"the answer is JSON, but a {type(value).__name__} instead of an object")
    return value


def told(answer: Mapping[str, object], *names: str) -> dict[str, Setting]:
    """What an answer says under these names, as far as it is plain."""
    return {name: value for name in names if isinstance(value := answer.get(name), str | int | float | bool)}


def count(answer: object, *names: str) -> int:
    """The sum of the numbers that an answer tells under these names; what it does not tell counts nothing."""
    if not isinstance(answer, Mapping):
        return 0
    found = [answer.get(name) for name in names]
    return sum(value for value in found if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def one_line(text: str) -> str:
    """What a server said: on one line, of bearable length, without keys, and without a page of HTML."""
    if _HTML.match(text):
        return "an HTML page"
    return truncate(" ".join(redacted(text).split()), 240, 60)


def _until(date: str) -> float:
    """Seconds from now to an HTTP date."""
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return math.nan


_LARGEST = 256 * 1024 * 1024
_WAITS = (0.5, 2.0)
"""Seconds before it is tried again: the image is paid for, and to have it made again would cost another one."""


async def fetched(address: str, timeout: float, waits: Sequence[float] = _WAITS) -> bytes:
    """What lies at an address; if it does not come, it is tried again after each of the waits.

    It is fetched without the provider's library, because that would send the key along, and images often lie with
    somebody else. The address itself is in no message: whoever has it can fetch the image.

    Raises:
        CallError: if it does not come, or is too large for an image.
    """
    if urlsplit(address).scheme not in ("http", "https"):
        raise CallError("wrong", "the address of the image is none of the web")
    try:
        data = await asyncio.to_thread(_read, address, timeout)
    except CallError:
        if not waits:
            raise
        await asyncio.sleep(waits[0])
        return await fetched(address, timeout, waits[1:])
    if len(data) > _LARGEST:
        raise CallError("wrong", "what lies at the address of the image is too large")
    return data


def _read(address: str, timeout: float) -> bytes:
    try:
        with urlopen(address, timeout=timeout) as answer:
            data: bytes = answer.read(_LARGEST + 1)
            return data
    except HTTPError as error:
        status = error.code
        error.close()
    except (OSError, HTTPException, ValueError) as error:
        raise CallError("unavailable", f"the image could not be fetched: {type(error).__name__}") from None
    fault: Fault = "unavailable" if status >= 500 or status == 429 else "wrong"
    raise CallError(fault, f"the image could not be fetched from its address: {status}")
