"""What is too large is taken to its end before it is refused: browsers read no answer while they are still sending."""

from __future__ import annotations

import json
from collections.abc import Mapping

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message

from formalimg.web.json_body import json_endpoint


@pytest.mark.parametrize(("chunks", "taken"), [(3, 3), (40, 17)])
def test_what_is_too_large_is_taken_before_it_is_refused_but_not_without_end(chunks: int, taken: int) -> None:
    sent = 0

    async def receive() -> Message:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b"x" * 512, "more_body": sent < chunks}

    async def ask() -> None:
        scope = {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]}
        handle = json_endpoint(lambda request, body: JSONResponse({}), max_bytes=1024)
        await handle(Request(scope, receive))

    with pytest.raises(Exception, match="too large: send no more than 1 KB"):
        anyio.run(ask)
    assert sent == taken


def test_what_is_as_large_as_allowed_is_read() -> None:
    body = json.dumps({"text": "x" * 1012}).encode()
    assert len(body) == 1024
    found: list[object] = []

    def work(_request: Request, sent: Mapping[str, object]) -> Response:
        found.append(sent["text"])
        return JSONResponse({})

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def ask() -> None:
        scope = {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json; charset=utf-8")]}
        handle = json_endpoint(work, max_bytes=1024)
        await handle(Request(scope, receive))

    anyio.run(ask)
    assert found == ["x" * 1012]
