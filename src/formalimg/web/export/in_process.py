"""Send requests to an application in the same thread, without server, socket or event loop."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Message

from formalimg.web.rendering import static_pages


class Answer(NamedTuple):
    """A response: its status, its media type without parameters, and its body."""

    status: int
    media_type: str
    body: bytes


def request(app: ASGIApp, url: str) -> Answer:
    """Return the response of an application to a GET request."""
    parts = urlsplit(url)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(parts.path),
        "raw_path": parts.path.encode("ascii", "replace"),
        "root_path": "",
        "query_string": parts.query.encode("ascii", "replace"),
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
    }
    status, media_type, body = 500, "", bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, media_type
        if message["type"] == "http.response.start":
            headers = {name.lower(): value for name, value in message["headers"]}
            status = message["status"]
            media_type = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip()
        elif message["type"] == "http.response.body":
            body.extend(message.get("body", b""))

    async def answer() -> None:
        await app(scope, receive, send)

    before = static_pages.set(True)
    running = answer()
    try:
        running.send(None)
    except StopIteration:
        return Answer(status, media_type, bytes(body))
    finally:
        running.close()
        static_pages.reset(before)
    raise RuntimeError(f"{url} waits for something: an export has no event loop")
