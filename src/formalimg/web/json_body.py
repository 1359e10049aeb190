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

from formalimg._util.strict_json import count_values, loads_strict

Body: TypeAlias = Mapping[str, object]  # a JSON object, not validated yet
MAX_BODY = 256 * 1024  # default limit in bytes
MAX_BODY_WITH_IMAGE = 24 * 1024 * 1024  # an image of 16 MB in base64
MAX_WORD = 200  # characters of a word in long formulas and in scenes, as responses repeat it for every clause
BODY_TIMEOUT = 30.0  # seconds for sending a body
_WORDS = re.compile(r"""'[^'\n]*+'|"[^"\n]*+"|[^\s()'"]++|['"]""")  # words of a formula, with their quotes
_LONG_FORMULA = 4_000  # characters; the clauses of shorter formulas stay small whatever their words
_MAX_IN_MEMORY = 8 * MAX_BODY_WITH_IMAGE  # bytes of all bodies together
_MAX_VALUES = 50_000  # values in the JSON of a body: each takes some hundred bytes once it is parsed
_MAX_DISCARD_FACTOR = 8  # bodies up to this many times the limit are read, as browsers read the response only then

_in_memory = 0  # bytes of all bodies; changed only in the event loop


def json_endpoint(
    work: Callable[[Request, Body], Response], *, max_bytes: int = MAX_BODY
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that parses a JSON object and calls `work` with it in a thread."""

    async def handle(request: Request) -> Response:
        global _in_memory
        data = bytearray()
        try:
            await _read(request, data, max_bytes)
            return await run_in_threadpool(work, request, _parse_object(data))
        finally:
            _in_memory -= len(data)

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


async def _read(request: Request, data: bytearray, max_bytes: int) -> None:
    """Append the body to `data` up to the limit, and discard the rest."""
    global _in_memory
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "the body must be JSON: send it with the content type application/json")
    length = 0
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            async for chunk in request.stream():
                length += len(chunk)
                if length <= max_bytes:
                    data += chunk
                    _in_memory += len(chunk)
                    if _in_memory > _MAX_IN_MEMORY:
                        message = "too many uploads at the same time: try again"
                        raise HTTPException(503, message, {"Retry-After": "1", "Connection": "close"})
                elif length > _MAX_DISCARD_FACTOR * max_bytes:
                    break
    except ClientDisconnect as error:
        raise HTTPException(400, "the connection ended before the whole body was sent") from error
    except TimeoutError as error:
        message = f"the body was not sent within {BODY_TIMEOUT:g} seconds: try again"
        raise HTTPException(408, message, {"Connection": "close"}) from error
    if length > max_bytes:
        limit = f"{max_bytes // 2**20} MB" if max_bytes >= 2**20 else f"{max_bytes // 1024} KB"
        raise HTTPException(413, f"this is too large: send no more than {limit}")


def _parse_object(data: bytearray) -> Body:
    if count_values(data, _MAX_VALUES) > _MAX_VALUES:
        raise HTTPException(413, f"this JSON has more than {_MAX_VALUES:,} values: send less at once")
    try:
        value = loads_strict(data)
    except (ValueError, RecursionError) as error:  # also invalid UTF-8
        raise HTTPException(400, "this is not valid JSON") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "send a JSON object, as in {}")
    return value
