"""JSON request bodies: read them within size and time limits, parse them, and access their fields."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from formalimg._util.json_size import count_values
from formalimg._util.strict_json import loads_strict

Body: TypeAlias = Mapping[str, object]  # A JSON object, not validated yet
MAX_BODY = 256 * 1024  # Default limit of a request body, in bytes
MAX_BODY_WITH_IMAGE = 24 * 1024 * 1024  # Limit of a request body with an image, in bytes: 16 MB in base64
MAX_WORD = 200
"""Maximum length of a word in formulas and scenes: answers repeat it for each of perhaps thousands of clauses."""

_WORDS = re.compile(r"""'[^'\n]*+'|"[^"\n]*+"|[^\s()'"]++|['"]""")  # Words of a formula, with their quotes
_LONG_FORMULA = 4_000
"""Formulas up to this length may have words of any length: all of their clauses together have few megabytes."""

BODY_TIMEOUT = 30.0  # Seconds that a client has to send a body, as for the head of a request
_MAX_HELD = 8 * MAX_BODY_WITH_IMAGE  # Maximum number of bytes of bodies that are in memory, of all requests together
_MAX_VALUES = 50_000  # Maximum number of values in the JSON of a body: each takes some hundred bytes once it is parsed
_MAX_DISCARD_FACTOR = 8
"""Bodies up to this many times the limit are read and discarded: browsers read the response only after that."""


class _HeldBodies:
    """The number of bytes in request bodies being read or processed, to be used from the server's event loop only."""

    bytes = 0


_held = _HeldBodies()


def json_endpoint(
    work: Callable[[Request, Body], Response], *, max_bytes: int = MAX_BODY
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that parses a JSON object and calls `work` with it in a thread."""

    async def handle(request: Request) -> Response:
        read = bytearray()
        try:
            await _read(request, read, max_bytes)
            sent = _object(read)
            return await run_in_threadpool(work, request, sent)
        finally:
            _held.bytes -= len(read)

    return handle


def require_text(body: Body, name: str, *, max_length: int = 20_000) -> str:
    """Return a string field of the body."""
    value = body.get(name)
    if not isinstance(value, str):
        raise HTTPException(400, f"{name} is missing: send a text")
    if len(value) > max_length:
        raise HTTPException(413, f"{name} has {len(value):,} characters: send no more than {max_length:,}")
    return value


def has_long_word(formula: str) -> bool:
    """Return whether a formula contains a word of more than `MAX_WORD` characters."""
    return len(formula) > _LONG_FORMULA and any(
        word.end() - word.start() > MAX_WORD + 2 for word in _WORDS.finditer(formula)
    )


async def _read(request: Request, read: bytearray, max_bytes: int) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "this is not JSON: send it with the content type application/json")
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            length = await _read_stream(request, read, max_bytes)
    except ClientDisconnect as error:
        raise HTTPException(400, "the connection ended before everything was sent") from error
    except TimeoutError as error:
        message = f"the request was not sent in {BODY_TIMEOUT:g} seconds: try again"
        raise HTTPException(408, message, {"Connection": "close"}) from error
    if length > max_bytes:
        raise _too_long(max_bytes)


async def _read_stream(request: Request, read: bytearray, max_bytes: int) -> int:
    """Read a body up to the limit, discard the rest, and return the total length."""
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length <= max_bytes:
            read += chunk
            _held.bytes += len(chunk)
            if _held.bytes > _MAX_HELD:
                message = "too much is being sent at the same time: try again"
                raise HTTPException(503, message, {"Retry-After": "1", "Connection": "close"})
        elif length > _MAX_DISCARD_FACTOR * max_bytes:
            break
    return length


def _object(sent: bytearray) -> Body:
    if count_values(sent, _MAX_VALUES) > _MAX_VALUES:
        raise HTTPException(413, f"this JSON has more than {_MAX_VALUES:,} values: send less at once")
    try:
        found = loads_strict(sent)
    except (ValueError, RecursionError) as error:  # also invalid UTF-8
        raise HTTPException(400, "this is not valid JSON") from error
    if not isinstance(found, dict):
        raise HTTPException(400, "send a JSON object, as in {}")
    return found


def _too_long(max_bytes: int) -> HTTPException:
    limit = f"{max_bytes // 2**20} MB" if max_bytes >= 2**20 else f"{max_bytes // 1024} KB"
    return HTTPException(413, f"this is too large: send no more than {limit}")
