"""The HTTP server: uvicorn with timeouts, a connection limit and graceful shutdown; a token unless it is local."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from formalimg.rewards.server.admission import Limits
from formalimg.rewards.server.auth import OVER_CONNECTION_LIMIT, check_token
from formalimg.rewards.server.http_errors import RequestError
from formalimg.web import listen

_ABORT_FACTOR = 4
"""Beyond this multiple of the connection limit, connections are closed without an answer."""

_M_MMAP_THRESHOLD = -3
"""The setting of `mallopt`, from malloc.h."""

_LARGE_BLOCK = 4 * 1024 * 1024

_THREAD_TIMEOUT = 2.0
"""Seconds that threads may take to end after the last answer."""


def serve_rewards(
    make: Callable[[str | None], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    on_progress: Callable[[str], None],
) -> None:
    """Serve rewards until the process is interrupted or terminated; requests under way are then finished.

    The process exits here if a thread still works on a request that could not be answered in time.

    Args:
        make: returns the application, given the token that clients must send.
        host: the address to listen on; any other than this machine's own needs a token.
        port: the port; 0 for any that is free.
        token: what clients must send.
        limits: the limits of the server.
        on_progress: called with the URL once the server listens.

    Raises:
        FormalimgError: if the address cannot be listened on, or a token is missing.
    """
    secret = check_token(token, host)
    with _sigterm_as_interrupt(), listen(host, port) as listening:
        server = _RewardServer(server_config(make(secret), limits))
        shown = f"[{host}]" if ":" in host else host
        on_progress(f"http://{shown}:{listening.getsockname()[1]}")
        _collect_garbage_rarely()
        release_large_blocks()
        _raise_file_limit(6 * limits.max_connections)
        try:
            server.run(sockets=[listening])
        finally:
            server.has_ended.set()


def server_config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """Return the configuration of uvicorn for the application, for programs that run it themselves."""
    return uvicorn.Config(
        app,
        http=limited_protocol(limits.timeout, limits.max_connections),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=ceil(limits.timeout),
        timeout_graceful_shutdown=ceil(limits.shutdown_timeout),
        backlog=limits.max_connections,  # this number is accepted before any is served
    )


class _RewardServer(uvicorn.Server):
    """A server that exits on shutdown, whatever its threads are doing."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_ended = threading.Event()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # All clients have their answers now. Python would wait for threads of requests that were not finished in time.
        threading.Thread(target=self._exit_anyway, daemon=True).start()

    def _exit_anyway(self) -> None:
        if not self.has_ended.wait(_THREAD_TIMEOUT):
            sys.stderr.flush()
            os._exit(0)


def limited_protocol(seconds: float, max_connections: int) -> type[asyncio.Protocol]:
    """Return the HTTP protocol for uvicorn, with limits that uvicorn does not have.

    From the beginning of a connection, and from the end of each answer, the client has this number of seconds until
    the head of its next request is there, however slowly it sends it. A client that does not read an answer is cut off
    after the same time. The timeout of bodies is not handled here.

    Requests over more connections than the maximum are marked as `OVER_CONNECTION_LIMIT`, and the application refuses
    them: were they refused by uvicorn, they would get no Retry-After and would not be counted. Beyond four times as
    many, connections are closed at once, before there are more than a process may hold.
    """

    class LimitedProtocol(H11Protocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._request_timer: asyncio.TimerHandle | None = None
            self._write_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > _ABORT_FACTOR * max_connections:
                transport.abort()
            elif len(self.connections) > max_connections:
                self.app = _mark_over_limit(self.app)
            self._start_request_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._request_timer, self._write_timer):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def handle_events(self) -> None:
            before = self.cycle
            super().handle_events()
            if self.cycle is not before and not self.cycle.response_complete and self._request_timer is not None:
                self._request_timer.cancel()

        def on_response_complete(self) -> None:
            # Before the rest, which may find that the next request has arrived already.
            self._start_request_timer()
            super().on_response_complete()

        def send_400_response(self, msg: str) -> None:
            """Refuse what is not HTTP; it may also be the rest of a request that was answered before it was there."""
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.disconnected = True  # now, so that nothing else answers
                self.cycle.message_event.set()
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                answer = RequestError(400, "this is not HTTP that can be read: send HTTP/1.1", closes=True).response()
                head = h11.Response(status_code=answer.status_code, headers=answer.raw_headers, reason=b"Bad Request")
                for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._write_timer = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._write_timer is not None:
                self._write_timer.cancel()

        def _start_request_timer(self) -> None:
            if self._request_timer is not None:
                self._request_timer.cancel()
            self._request_timer = self.loop.call_later(seconds, self.transport.abort)

    return LimitedProtocol


def _mark_over_limit(app: ASGIApp) -> ASGIApp:
    async def marked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, OVER_CONNECTION_LIMIT: True}, receive, send)

    return marked


def _collect_garbage_rarely() -> None:
    """Run full garbage collections only now and then: every request waits for them.

    Cached formulas are some hundred thousand objects. Little of what a request leaves behind needs it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def release_large_blocks() -> None:
    """Make the C library return the memory of large images to the system as soon as it is freed.

    That of Linux keeps large blocks once it has seen some, for each thread: hundreds of megabytes.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)


def _raise_file_limit(number: int) -> None:
    """Raise the limit of open files and connections, if the system allows it: some start with 256."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits, or none that may be changed
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < number:
            limit = number if hard == resource.RLIM_INFINITY else min(number, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


@contextlib.contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like SIGINT: both are regular ways to end a server.

    uvicorn finishes the requests under way, and then raises the signal again.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if is_main else None
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)
