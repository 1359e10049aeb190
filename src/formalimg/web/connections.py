"""The connection layer of all servers: uvicorn with strict request parsing and limits on connections and time.

The sites and the reward server share it. What uvicorn and h11 leave open is decided here: how long a client may take,
how many connections are held, which of them is closed if there are too many, and which heads are refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

OVER_CONNECTION_LIMIT = "formalimg.over_connection_limit"
"""A key in the ASGI scope of requests beyond the limit, which the application refuses with 503."""

ENDS_ON_SHUTDOWN = "formalimg.ends_on_shutdown"
"""A key that the application sets in the ASGI scope of answers without an end, which would delay the shutdown."""

MAX_HEAD = 64 * 1024  # Maximum length of the head of a request, in bytes
_HELD_FACTOR = 4  # So many times the limit of requests may be connected at once; most of them wait, or say nothing
_RESERVED_FILES = 128  # Open files that are left for everything else: databases, images, worker processes
_SYSTEM_QUEUE = 1024
"""Connections that the system keeps until they are accepted; the backlog says how many are accepted in a row."""

_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
"""A Host header: a name or an address, and perhaps a port. No user, path, space or percent sign."""

_NOT_HTTP = "this is not HTTP that can be read: send HTTP/1.1"


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits on the connections of a server."""

    # seconds that a client has to send the head of a request, and to read an answer; and how long an idle connection
    # is kept
    timeout: float = 30.0
    max_connections: int = 512  # maximum number of connections with a request under way; over others, requests get 503
    shutdown_timeout: float = 30.0  # seconds that requests under way may take once the server shuts down


def limited_config(app: ASGIApp, limits: ConnectionLimits) -> uvicorn.Config:
    """Return a uvicorn configuration that enforces connection limits for an application.

    The limit of open files is raised where that is allowed, and otherwise fewer connections are held: a process that
    cannot open another file can neither accept a connection nor read an image.
    """
    fitting = _fit_file_limit(limits.max_connections)
    return uvicorn.Config(
        app,
        http=_limited_protocol(limits, fitting.held),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=ceil(limits.timeout),
        timeout_graceful_shutdown=ceil(limits.shutdown_timeout),
        backlog=fitting.backlog,
    )


class LimitedServer(uvicorn.Server):
    """A uvicorn server for limited connections, with a larger system queue for waiting clients."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting connections."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_SYSTEM_QUEUE)


class _FittingConnections(NamedTuple):
    """The number of connections held open, and the number accepted before any of them is handled."""

    held: int
    backlog: int


def _fit_file_limit(max_connections: int) -> _FittingConnections:
    files = _raise_file_limit(2 * _HELD_FACTOR * max_connections + 2 * _RESERVED_FILES)
    free = max(16, files - _RESERVED_FILES)
    # What is closed is open for some more rounds of the event loop, and each may accept as many as the backlog.
    backlog = min(max_connections, free // 8)
    return _FittingConnections(max(4, min(_HELD_FACTOR * max_connections, free - 4 * backlog)), max(1, backlog))


def _raise_file_limit(number: int) -> int:
    """Raise the limit of open files to `number` if the system allows it, and return the resulting limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits, or none that may be changed
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft >= number:
            return number
        limit = number if hard == resource.RLIM_INFINITY else min(number, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return limit
        return soft
    return number


@dataclass
class _ConnectionTable:
    """The connections of a server: idle ones, the longest waiting first, and busy ones."""

    idle: dict[H11Protocol, None] = field(default_factory=dict)
    busy: set[H11Protocol] = field(default_factory=set)

    def forget(self, connection: H11Protocol) -> None:
        self.idle.pop(connection, None)
        self.busy.discard(connection)

    def set_busy(self, connection: H11Protocol) -> None:
        self.idle.pop(connection, None)
        self.busy.add(connection)

    def set_idle(self, connection: H11Protocol) -> None:
        self.busy.discard(connection)
        self.idle[connection] = None


class _StrictConnection(h11.Connection):
    """An h11 connection that passes the head of each request to a callback before any other processing."""

    def __init__(self, on_head: Callable[[h11.Request], None]) -> None:
        super().__init__(h11.SERVER, MAX_HEAD)
        self._on_head = on_head

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._on_head(event)
        return event


def _limited_protocol(limits: ConnectionLimits, held: int) -> type[asyncio.Protocol]:
    """Return an HTTP protocol class for uvicorn with additional limits.

    From the beginning of a connection, and from the end of each answer, the client has `limits.timeout` seconds until
    the head of its next request is there, however slowly it sends it. A client that does not read an answer is cut off
    after the same time. The timeout of bodies is not handled here.

    Connections that wait for a request cost little and keep nobody out: if more than `held` are open, the one that has
    waited longest is closed; the new one only if all are busy. Requests that are more than `limits.max_connections`
    are marked as `OVER_CONNECTION_LIMIT`, and the application refuses them: were they refused by uvicorn, they would
    get no Retry-After and would not be counted.
    """
    table = _ConnectionTable()

    class LimitedProtocol(H11Protocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.conn = _StrictConnection(self._begin_request)
            self._request_timer: asyncio.TimerHandle | None = None
            self._write_timer: asyncio.TimerHandle | None = None
            self._refusal = _NOT_HTTP
            self._app_within_limit = self.app

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            table.set_idle(self)
            if len(self.connections) > held:
                closed = next(iter(table.idle))  # this one, if all others are busy
                table.forget(closed)
                closed.transport.abort()
            self._start_request_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            table.forget(self)
            for timer in (self._request_timer, self._write_timer):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def _begin_request(self, request: h11.Request) -> None:
            wrong = _fault(request)
            if wrong:
                self._refusal = wrong
                raise h11.RemoteProtocolError(wrong)
            table.set_busy(self)
            is_over = len(table.busy) > limits.max_connections
            self.app = _mark_over_limit(self._app_within_limit) if is_over else self._app_within_limit

        def handle_events(self) -> None:
            before = self.cycle
            super().handle_events()
            if self.cycle is not before and not self.cycle.response_complete and self._request_timer is not None:
                self._request_timer.cancel()

        def on_response_complete(self) -> None:
            # Before the rest, which may find that the next request has arrived already.
            if not self.transport.is_closing():
                table.set_idle(self)
            self._start_request_timer()
            super().on_response_complete()

        def shutdown(self) -> None:
            super().shutdown()
            if self.scope is not None and self.scope.get(ENDS_ON_SHUTDOWN) and not self.cycle.response_complete:
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            """Reject invalid HTTP, which may be the remainder of a request that was answered early."""
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.disconnected = True  # now, so that nothing else answers
                self.cycle.message_event.set()
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                body = json.dumps({"error": self._refusal}).encode()
                headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
                head = h11.Response(status_code=400, headers=list(headers.items()), reason=b"Bad Request")
                for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._write_timer = self.loop.call_later(limits.timeout, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._write_timer is not None:
                self._write_timer.cancel()

        def _start_request_timer(self) -> None:
            if self._request_timer is not None:
                self._request_timer.cancel()
            self._request_timer = self.loop.call_later(limits.timeout, self.transport.abort)

    return LimitedProtocol


def _fault(request: h11.Request) -> str:
    """Return why a request head is too long or ambiguous, or an empty string if it is valid.

    h11 itself refuses several Host headers, HTTP/1.1 without one, and lengths that contradict each other.
    """
    if _head_length(request) > MAX_HEAD:  # h11 looks only at the length of what is not complete yet
        return f"the head of this request is too long: send no more than {MAX_HEAD // 1024} KB"
    values: dict[bytes, bytes] = dict(request.headers)
    if b"transfer-encoding" in values and b"content-length" in values:
        return "a request has Content-Length or Transfer-Encoding: send one of them"
    if not is_host_header(values.get(b"host", b"localhost").decode("latin-1")):
        return "this Host header is not a name or address: send it as in 127.0.0.1:8080"
    return ""


def _head_length(request: h11.Request) -> int:
    """Return the number of bytes of a request head as sent, ignoring optional spaces around values."""
    line = len(request.method) + len(request.target) + len(b"  HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(b": \r\n") for name, value in request.headers) + len(b"\r\n")


def is_host_header(value: str) -> bool:
    """Return whether the value of a Host header is a host name or address with an optional port."""
    return _HOST.fullmatch(value) is not None


def _mark_over_limit(app: ASGIApp) -> ASGIApp:
    async def marked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, OVER_CONNECTION_LIMIT: True}, receive, send)

    return marked
