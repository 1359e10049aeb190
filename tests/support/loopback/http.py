"""HTTP/1.1 for tests: as much of it as clients of model providers use, and quick."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP as HTTP_POLICY
from http import HTTPStatus
from typing import Any, NamedTuple, cast


@dataclass(frozen=True)
class Request:
    """What came in; the names of headers in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, list[bytes]]:
        """The fields of a multipart form; files by their content."""
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        fields: dict[str, list[bytes]] = {}
        for part in BytesParser(policy=HTTP_POLICY).parsebytes(head + self.body).walk():
            if not part.is_multipart():
                name = str(part.get_param("name", header="content-disposition"))
                fields.setdefault(name, []).append(cast(bytes, part.get_payload(decode=True)))
        return fields


@dataclass(frozen=True)
class Response:
    """What goes out. `cut` breaks the connection in the middle of the body; `silent` never answers at all."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    cut: bool = False
    silent: bool = False

    @classmethod
    def of(cls, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
        """A value as JSON."""
        return cls(json.dumps(value).encode(), status, {"content-type": "application/json", **(headers or {})})


class Timed(NamedTuple):
    """A response, and after how many seconds it is sent."""

    response: Response
    after: float


class Connection(asyncio.Protocol):
    """One connection: requests are answered one after the other, in their order."""

    def __init__(self, answer: Callable[[Request], Timed], done: Callable[[], None]) -> None:
        self._answer = answer
        self._done = done
        self._came = bytearray()
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._came += data
        request = self._whole_request()
        if request is not None:
            response, after = self._answer(request)
            self._waiting = asyncio.get_running_loop().call_later(after, self._send, response)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
            self._done()
        self._transport = None

    def _whole_request(self) -> Request | None:
        head, blank, rest = bytes(self._came).partition(b"\r\n\r\n")
        if not blank:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            body = _joined_chunks(rest)
            if body is None:
                return None
        else:
            length = int(headers.get("content-length", 0))
            if len(rest) < length:
                if headers.get("expect") and not rest and self._transport is not None:
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return None
            body = rest[:length]
        self._came.clear()
        return Request(method, path, headers, body)

    def _send(self, response: Response) -> None:
        if self._transport is None or response.silent:
            return
        self._waiting = None
        self._done()
        fields = {**response.headers, "content-length": str(len(response.body))}
        head = f"HTTP/1.1 {response.status} {_phrase(response.status)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        body = response.body[: len(response.body) // 2] if response.cut else response.body
        self._transport.write(head.encode("latin-1") + b"\r\n" + body)
        if response.cut:
            asyncio.get_running_loop().call_later(0.02, self._reset)

    def _reset(self) -> None:
        """Hang up rudely: the other side sees `connection reset by peer`."""
        if self._transport is not None:
            connected = self._transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()


def _joined_chunks(rest: bytes) -> bytes | None:
    """The body that was sent in chunks; None if its end has not come yet."""
    body = b""
    while True:
        size, line_end, rest = rest.partition(b"\r\n")
        if not line_end:
            return None
        length = int(size.split(b";")[0], 16)
        if len(rest) < length + 2:
            return None
        if length == 0:
            return body
        body, rest = body + rest[:length], rest[length + 2 :]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unnamed"
