"""A server that answers as no provider should: without end, drop by drop, as a bomb, or by sending elsewhere."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Answer: TypeAlias = Callable[[BaseHTTPRequestHandler], None]


class HostileServer:
    """Serves while it is entered, each connection in a thread of its own.

    Attributes:
        came: method, path and headers of every request.
        hung_up: set when a client ended a connection before its answer was complete.
    """

    def __init__(self, answer: Answer, host: str = "127.0.0.1") -> None:
        """A server that does not run yet.

        Args:
            answer: sends the answer to a request.
            host: as which it tells its address.
        """
        self.came: list[tuple[str, str, dict[str, str]]] = []
        self.hung_up = threading.Event()
        self._host = host
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except OSError:
                    self.close_connection = True
                    outer.hung_up.set()

            def do_POST(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.rfile.read(int(headers.get("content-length", 0)))
                outer.came.append((self.command, self.path, headers))
                answer(self)

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self.port}"

    def __enter__(self) -> HostileServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def whole(body: bytes, status: int = 200, **headers: str) -> Answer:
    """An answer as it should be."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        _begin(handler, status, len(body), **headers)
        handler.wfile.write(body)

    return answer


def redirect(status: int, location: str) -> Answer:
    """An answer that sends elsewhere."""
    return whole(b"", status, location=location)


def flood(size: int, status: int = 200, encoding: str = "", head: bytes = b'{"choices": "') -> Answer:
    """An answer of so many bytes, as they are or behind an encoding."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if encoding:
            packed = bomb(size, encoding, head)
            _begin(handler, status, len(packed), content_encoding=encoding)
            handler.wfile.write(packed)
            return
        _begin(handler, status, size)
        for block in _blocks(size, head):
            handler.wfile.write(block)

    return answer


def drip(seconds: float = 0.05, head: bytes = b'{"choices": "', *, headers_too: bool = False) -> Answer:
    """An answer that never ends, a byte at a time; with its headers, or after them."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if headers_too:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        else:
            _begin(handler, 200, 1 << 30)
            handler.wfile.write(head)
        while True:
            handler.wfile.write(b"a")
            handler.wfile.flush()
            time.sleep(seconds)

    return answer


@cache
def bomb(size: int, encoding: str, head: bytes = b"") -> bytes:
    """So many bytes compressed; of formats that this Python cannot write, something that only claims to be."""
    if encoding not in ("gzip", "deflate"):
        return b"\x28\xb5\x2f\xfd" + bytes(1000)
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | (16 if encoding == "gzip" else 0))
    return b"".join([*map(packer.compress, _blocks(size, head)), packer.flush()])


def _blocks(size: int, head: bytes) -> Iterator[bytes]:
    yield head
    left = size - len(head)
    block = b"a" * (1 << 16)
    while left > 0:
        yield block[:left]
        left -= len(block)


def _begin(handler: BaseHTTPRequestHandler, status: int, length: int, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"content-type": "application/json", "content-length": str(length), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
