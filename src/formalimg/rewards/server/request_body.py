"""Limits of the server, error responses, and reading of request bodies in JSON or multipart format."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive

from formalimg._util.strict_json import BYTES_PER_VALUE, count_values, reject_constant
from formalimg._util.text import truncate
from formalimg.logic.errors import Problem

SMALL_REQUEST = 256 * 1024  # maximum number of bytes of a request that is handled without a thread of its own
_VALUES_PER_ITEM = 4_000  # keys and values in the JSON for each item: a scene of two hundred objects has half as many
_MIN_VALUES = 100_000
_HELD_REQUESTS = 8  # requests of the maximum size that may be held in memory at the same time
_JSON_PART = "request"  # the part of a multipart request that holds the JSON
_JSON, _MULTIPART = "application/json", "multipart/form-data"
# the one charset a multipart request may name: it would be decoded by any that Python has, however slow or odd
_UTF_8 = re.compile('charset="?utf-?8')
_HEAD, _TAIL = 400, 100  # characters kept from both ends of an error message, which may quote the request
_MAX_PROBLEMS = 100  # number of problems of a formula that are listed


@dataclass(frozen=True)
class Limits:
    """Limits of the server: sizes, concurrency and timeouts."""

    max_body_bytes: int = 64 * 1024 * 1024  # maximum length of a request body
    max_items: int = 256  # maximum number of images in a request
    max_concurrency: int = 16  # number of requests that are processed concurrently
    max_waiting: int = 256  # maximum number of further requests that wait; others get 503
    max_wait: float = 30.0  # seconds that a request waits before it gets 503
    # seconds that a client has to send the head of a request, its body, and to read an answer; and how long an idle
    # connection is kept
    timeout: float = 30.0
    shutdown_timeout: float = 60.0  # seconds that requests under way may take once the server shuts down
    max_connections: int = 512  # maximum number of connections; beyond it, only health checks and metrics are answered

    @property
    def max_values(self) -> int:
        """Maximum number of keys and values in the JSON of a request, since each uses memory when parsed."""
        return max(_MIN_VALUES, _VALUES_PER_ITEM * self.max_items)

    @property
    def max_held_bytes(self) -> int:
        """Maximum total memory of all requests in bytes, both raw and parsed."""
        return _HELD_REQUESTS * self.max_body_bytes + self.max_values * BYTES_PER_VALUE


class RequestError(Exception):
    """Raised to reject a request, with the status and reason for the response."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        where: str | None = None,
        problems: Sequence[Problem] = (),
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        super().__init__(message)
        self.status, self.where, self.problems = status, where, tuple(problems)
        self.retry_after, self.closes = retry_after, closes

    def response(self) -> JSONResponse:
        """Convert the error to a JSON response with `error`, and optionally `where` and `problems`."""
        message = f"{self.where}: {self}" if self.where else str(self)
        body: dict[str, object] = {"error": truncate(message, _HEAD, _TAIL)}
        if self.where:
            body["where"] = self.where
        if self.problems:
            body["problems"] = [problem.to_json() for problem in self.problems[:_MAX_PROBLEMS]]
        headers: Mapping[str, str] = {
            **({"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}),
            **({"Connection": "close"} if self.closes else {}),
            **({"WWW-Authenticate": "Bearer"} if self.status == 401 else {}),
        }
        return JSONResponse(body, self.status, headers)


class RequestBody(NamedTuple):
    """The unparsed body of a request."""

    text: bytes | bytearray  # the JSON
    files: Mapping[str, bytes]  # the uploaded files, by the name of their part


@dataclass
class HeldBytes:
    """The total size in bytes of all request bodies in memory."""

    bytes: int = 0


class BodyReader:
    """A context manager that reads the body of one request and updates the total of held bytes."""

    def __init__(self, limits: Limits, held_bytes: HeldBytes) -> None:
        self._limits, self._held, self._length = limits, held_bytes, 0

    def __enter__(self) -> BodyReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.bytes -= self._length

    async def read(self, request: Request) -> RequestBody:
        """Read the whole body."""
        media_type, _, options = request.headers.get("content-type", "").lower().partition(";")
        kind = media_type.strip()
        if kind not in (_JSON, _MULTIPART):
            raise RequestError(415, f"send {_JSON}, or {_MULTIPART}", closes=True)
        if kind == _MULTIPART and "charset" in _UTF_8.sub("", options):
            raise RequestError(415, "send it in UTF-8, and leave the charset out", closes=True)
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise RequestError(415, "send it without Content-Encoding", closes=True)
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._limits.max_body_bytes:
            raise self._too_large()
        receive = self._count_bytes(request.receive)
        try:
            async with asyncio.timeout(self._limits.timeout):
                if kind == _MULTIPART:
                    body = await _read_multipart(Request(request.scope, receive), self._limits)
                else:
                    body = await _read_json(receive)
        except TimeoutError as error:
            message = f"the request was not sent in {self._limits.timeout:g} seconds"
            raise RequestError(408, message, closes=True) from error
        text, max_values = body.text, self._limits.max_values
        if len(text) <= SMALL_REQUEST:
            self._hold(_estimate_parsed_bytes(text, max_values))
        else:
            self._hold(await asyncio.to_thread(_estimate_parsed_bytes, text, max_values))
        return body

    def _count_bytes(self, receive: Receive) -> Receive:
        total = 0

        async def receive_and_count() -> Message:
            nonlocal total
            message = await receive()
            if message["type"] == "http.request":
                total += len(message.get("body", b""))
                if total > self._limits.max_body_bytes:
                    raise self._too_large()
                self._hold(len(message.get("body", b"")))
            return message

        return receive_and_count

    def _hold(self, length: int) -> None:
        self._length += length
        self._held.bytes += length
        if self._held.bytes > self._limits.max_held_bytes:
            text = "too much is being sent at the same time: come back later"
            raise RequestError(503, text, retry_after=1, closes=True)

    def _too_large(self) -> RequestError:
        message = f"this is too large: send no more than {self._limits.max_body_bytes:,} bytes at once"
        return RequestError(413, message, closes=True)


def _estimate_parsed_bytes(text: bytes | bytearray, limit: int) -> int:
    values = count_values(text, limit)
    if values > limit:
        raise RequestError(413, f"this JSON has more than {limit:,} values: send fewer items or objects at once")
    # One character that is not Latin makes all characters of its text take up to four bytes.
    is_narrow = text.isascii() and b"\\u" not in text
    return values * BYTES_PER_VALUE + len(text) * (1 if is_narrow else 4)


async def _read_json(receive: Receive) -> RequestBody:
    text = bytearray()  # not a list of chunks, which would be in memory twice when they are joined
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        text += message.get("body", b"")
        if not message.get("more_body", False):
            return RequestBody(text, {})


async def _read_multipart(request: Request, limits: Limits) -> RequestBody:
    try:
        async with request.form(
            max_files=limits.max_items + 1, max_fields=1, max_part_size=limits.max_body_bytes
        ) as form:
            parts: dict[str, bytes] = {}
            for name, part in form.multi_items():
                if name in parts:
                    raise RequestError(400, f"the part {name[:40]!r} occurs twice")
                parts[name] = await part.read() if isinstance(part, UploadFile) else part.encode("utf-8", "replace")
    except HTTPException as error:  # not multipart
        detail = error.detail.rstrip(".")
        message = f"{detail}: send the JSON as the field {_JSON_PART!r}, and images as files with a filename"
        raise RequestError(400, message, closes=True) from error
    if _JSON_PART not in parts:
        raise RequestError(400, f"a multipart request needs a part {_JSON_PART!r} with the JSON")
    return RequestBody(parts.pop(_JSON_PART), parts)


def parse_json_object(text: bytes | bytearray) -> Mapping[str, object]:
    """Parse the JSON object of a request."""
    try:
        value = json.loads(text, parse_constant=reject_constant, object_pairs_hook=_reject_duplicates)
    except (ValueError, RecursionError) as error:  # also for what is not UTF-8
        raise RequestError(400, "this is not JSON that can be read") from error
    if not isinstance(value, dict):
        raise RequestError(400, "send a JSON object, with items and images")
    return value


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):  # JSON parsers do not agree on which counts
        [(duplicate, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise RequestError(400, f"the key {duplicate[:40]!r} occurs twice in one JSON object")
    return mapping
