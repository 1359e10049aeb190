"""What pages send: read up to a limit, and only as JSON, which no page of another site can send unasked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from formalimg._util.strict_json import loads_strict

Body: TypeAlias = Mapping[str, object]
"""An object of JSON; what is in it is as yet unchecked."""

SMALL = 256 * 1024
"""Enough for answers and texts, in bytes."""

WITH_IMAGE = 24 * 1024 * 1024
"""Enough for an image of 16 MB, in base64, in bytes."""


_MOST_UNREAD = 8
"""Up to so many times the limit, what is too large is taken and thrown away: browsers read answers only after that."""


def taking_json(
    work: Callable[[Request, Body], Response], *, most: int = SMALL
) -> Callable[[Request], Awaitable[Response]]:
    """A handler that reads an object of JSON and has `work` answer it, in a thread of its own.

    Args:
        work: what is done with the request and what it sent.
        most: how long the body may be, in bytes.
    """

    async def handle(request: Request) -> Response:
        sent = _object(await _read(request, most))
        return await run_in_threadpool(work, request, sent)

    return handle


def text_in(body: Body, name: str, *, longest: int = 20_000) -> str:
    """A text that must be there.

    Raises:
        HTTPException: if it is not, or is too long.
    """
    value = body.get(name)
    if not isinstance(value, str):
        raise HTTPException(400, f"{name} is missing: send a text")
    if len(value) > longest:
        raise HTTPException(413, f"{name} has {len(value):,} characters: send no more than {longest:,}")
    return value


async def _read(request: Request, most: int) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "this is no JSON: send it with the content type application/json")
    read, length = bytearray(), 0
    try:
        async for chunk in request.stream():
            length += len(chunk)
            if length <= most:
                read += chunk
            elif length > _MOST_UNREAD * most:
                break
    except ClientDisconnect as error:
        raise HTTPException(400, "the connection ended before everything was sent") from error
    if length > most:
        raise _too_long(most)
    return bytes(read)


def _object(sent: bytes) -> Body:
    try:
        found = loads_strict(sent)
    except (ValueError, RecursionError) as error:  # also what is no UTF-8
        raise HTTPException(400, "this is no JSON that can be read") from error
    if not isinstance(found, dict):
        raise HTTPException(400, "send an object of JSON, as in {}")
    return found


def _too_long(most: int) -> HTTPException:
    limit = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 1024} KB"
    return HTTPException(413, f"this is too large: send no more than {limit}")
