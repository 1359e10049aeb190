"""Connection layer of all servers: uvicorn with strict request parsing and limits on connections and time."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

OVER_CONNECTION_LIMIT = "formalimg.over_connection_limit"  # scope key of requests to refuse with 503
ENDS_ON_SHUTDOWN = "formalimg.ends_on_shutdown"  # scope key of endless responses, closed on shutdown
MAX_HEAD = 64 * 1024  # bytes of a request head
_OPEN_FACTOR = 4  # open connections per request that may be in progress; most are idle
_RESERVED_FILES = 128  # open files left for databases, images and worker processes
_SYSTEM_QUEUE = 1024  # connections that the system queues before they are accepted

_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits on the connections of a server."""

    timeout: float = 30.0  # seconds for sending a head, for reading a response, and for an idle connection
    max_connections: int = 512  # requests in progress; further ones get 503
    shutdown_timeout: float = 30.0  # seconds that requests in progress may take on shutdown


def limited_config(app: ASGIApp, limits: ConnectionLimits) -> uvicorn.Config:
    """Return a uvicorn configuration with connection limits, raising the limit of open files if allowed."""
    max_open, backlog = _fit_file_limit(limits.max_connections)
    return uvicorn.Config(
        app,
        http=_protocol_class(limits, max_open),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=ceil(limits.timeout),
        timeout_graceful_shutdown=ceil(limits.shutdown_timeout),
        backlog=backlog,
    )


class LimitedServer(uvicorn.Server):
    """Uvicorn server that leaves excess clients in the listen backlog instead of refusing them."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting connections."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_SYSTEM_QUEUE)


def _fit_file_limit(max_connections: int) -> tuple[int, int]:
    """Return the number of open connections, and of connections accepted in a row, that the file limit allows."""
    files = _raise_file_limit(2 * _OPEN_FACTOR * max_connections + 2 * _RESERVED_FILES)
    free = max(16, files - _RESERVED_FILES)
    # Closed connections stay open for a few rounds of the event loop, and each round may accept a whole backlog.
    backlog = min(max_connections, free // 8)
    return max(4, min(_OPEN_FACTOR * max_connections, free - 4 * backlog)), max(1, backlog)


def _raise_file_limit(number: int) -> int:
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits, or they cannot be changed
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


class _StrictConnection(h11.Connection):
    """An h11 connection that passes each request head to a callback before anything else."""

    def __init__(self, on_head: Callable[[h11.Request], None]) -> None:
        super().__init__(h11.SERVER, MAX_HEAD)
        self._on_head = on_head

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._on_head(event)
        return event


def _protocol_class(limits: ConnectionLimits, max_open: int) -> type[asyncio.Protocol]:
    """Return an HTTP protocol class for uvicorn with additional limits.

    A client has `limits.timeout` seconds from connecting, and from the end of each response, to send the next head,
    however slowly; and as long to read a response. Beyond `max_open` connections, the one idle for longest is closed,
    or the new one if all are busy. Requests beyond `limits.max_connections` are marked and reach the application,
    because uvicorn's own refusal has no Retry-After and is not counted.
    """
    idle: dict[H11Protocol, None] = {}  # in order of waiting
    busy: set[H11Protocol] = set()

    class LimitedProtocol(H11Protocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.conn = _StrictConnection(self._begin_request)
            self._request_timer: asyncio.TimerHandle | None = None
            self._write_timer: asyncio.TimerHandle | None = None
            self._refusal = "this is not HTTP that can be read: send HTTP/1.1"
            self._app_within_limit = self.app

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            idle[self] = None
            if len(self.connections) > max_open:
                oldest = next(iter(idle))  # this one, if all others are busy
                del idle[oldest]
                oldest.transport.abort()
            self._start_request_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            idle.pop(self, None)
            busy.discard(self)
            for timer in (self._request_timer, self._write_timer):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def _begin_request(self, request: h11.Request) -> None:
            fault = _head_fault(request)
            if fault:
                self._refusal = fault
                raise h11.RemoteProtocolError(fault)
            idle.pop(self, None)
            busy.add(self)
            is_over = len(busy) > limits.max_connections
            self.app = _mark_over_limit(self._app_within_limit) if is_over else self._app_within_limit

        def handle_events(self) -> None:
            before = self.cycle
            super().handle_events()
            if self.cycle is not before and not self.cycle.response_complete and self._request_timer is not None:
                self._request_timer.cancel()

        def on_response_complete(self) -> None:
            # First, as `super()` may already handle the next request.
            if not self.transport.is_closing():
                busy.discard(self)
                idle[self] = None
            self._start_request_timer()
            super().on_response_complete()

        def shutdown(self) -> None:
            super().shutdown()
            if self.scope is not None and self.scope.get(ENDS_ON_SHUTDOWN) and not self.cycle.response_complete:
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            """Reject invalid HTTP, which may be the rest of a request that was answered early."""
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


def _head_fault(request: h11.Request) -> str:
    """Return why a request head is too long or ambiguous, or an empty string; h11 checks the rest."""
    length = len(request.method) + len(request.target) + len(b"  HTTP/1.1\r\n\r\n")
    length += sum(len(name) + len(value) + len(b": \r\n") for name, value in request.headers)
    if length > MAX_HEAD:  # h11 limits only what is incomplete
        return f"the head of this request is too long: send no more than {MAX_HEAD // 1024} KB"
    values: dict[bytes, bytes] = dict(request.headers)
    if b"transfer-encoding" in values and b"content-length" in values:
        return "a request has Content-Length or Transfer-Encoding: send one of them"
    if not is_host_header(values.get(b"host", b"localhost").decode("latin-1")):
        return "this Host header is not a name or address: send it as in 127.0.0.1:8080"
    return ""


def is_host_header(value: str) -> bool:
    """Return whether the value of a Host header is a host name or address with an optional port."""
    return _HOST.fullmatch(value) is not None


def _mark_over_limit(app: ASGIApp) -> ASGIApp:
    async def app_over_limit(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, OVER_CONNECTION_LIMIT: True}, receive, send)

    return app_over_limit


LOGGERS = ("asyncio", "uvicorn.error")  # the loggers that clients can make write
_INTERVAL = 60.0  # seconds in which a message is written once
_MAX_KINDS = 100  # different messages in an interval
_MAX_LENGTH = 4000  # characters of a message, without its traceback
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class RepeatFilter(logging.Filter):
    """A logging filter that passes each message once per interval and reports how many were suppressed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._counts: dict[object, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the record, whose text may be changed."""
        error = record.exc_info[1] if record.exc_info else None
        if record.name == "asyncio" and isinstance(error, OSError) and error.errno in _NO_FILES:
            record.msg = f"cannot accept connections ({error.strerror}): raise the limit of open files, `ulimit -n`"
            record.args, record.exc_info, record.exc_text = (), None, None
        now, kind = self._clock(), _kind(record)
        if now - self._since >= _INTERVAL:
            repeats = sum(self._counts.values()) - len(self._counts)
            self._since, self._counts = now, {}
            if repeats > 0:
                record.msg, record.args = f"{record.getMessage()} ({repeats:,} repeated messages left out)", ()
        is_new = kind not in self._counts
        if is_new and len(self._counts) >= _MAX_KINDS:
            return False
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if is_new and len(text := record.getMessage()) > _MAX_LENGTH:
            record.msg, record.args = f"{text[:_MAX_LENGTH]} …", ()
        return is_new


def _kind(record: logging.LogRecord) -> object:
    """Return a key shared by records with the same message template and error location."""
    error = record.exc_info[1] if record.exc_info else None
    trace = error.__traceback__ if error else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    location = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else None
    return record.name, str(record.msg)[:200], type(error), location


@contextlib.contextmanager
def limited_log() -> Iterator[None]:
    """Filter repeated messages of the server's loggers for the duration of the block."""
    repeats = RepeatFilter()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(repeats)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(repeats)
