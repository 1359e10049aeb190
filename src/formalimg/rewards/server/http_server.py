"""The HTTP server with graceful shutdown, low memory use, and token authentication unless it is local."""

from __future__ import annotations

import base64
import contextlib
import ctypes
import gc
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import uvicorn
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from formalimg.errors import FormalimgError
from formalimg.rewards.server.request_body import Limits, RequestError
from formalimg.web.connections import (
    OVER_CONNECTION_LIMIT,
    ConnectionLimits,
    LimitedServer,
    limited_config,
    limited_log,
)
from formalimg.web.security import host_name, is_loopback, is_of_other_page
from formalimg.web.server import listen

_M_MMAP_THRESHOLD = -3  # The setting of `mallopt`, from malloc.h
_LARGE_BLOCK = 4 * 1024 * 1024

_THREAD_TIMEOUT = 2.0  # Seconds that threads may take to end after the last answer


def serve_rewards(
    make: Callable[[str | None], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    on_progress: Callable[[str], None],
) -> None:
    """Serve rewards until the process is interrupted or terminated, then finish active requests.

    The process exits here if a thread still works on a request that could not be answered in time.
    """
    secret = check_token(token, host)
    with _sigterm_as_interrupt(), limited_log(), listen(host, port) as listener:
        server = _RewardServer(server_config(make(secret), limits))
        url_host = f"[{host}]" if ":" in host else host
        on_progress(f"http://{url_host}:{listener.getsockname()[1]}")
        # Full collections block every request, as cached formulas are some hundred thousand objects.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        release_large_blocks()
        try:
            server.run(sockets=[listener])
        finally:
            server.has_ended.set()


def server_config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """Return a uvicorn configuration for programs that run the application themselves."""
    return limited_config(app, ConnectionLimits(limits.timeout, limits.max_connections, limits.shutdown_timeout))


class _RewardServer(LimitedServer):
    """A uvicorn server that exits on shutdown without waiting for its threads."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_ended = threading.Event()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)

        def exit_anyway() -> None:
            if not self.has_ended.wait(_THREAD_TIMEOUT):
                sys.stderr.flush()
                os._exit(0)

        # All clients have their answers now. Python would wait for threads of requests that were not finished in time.
        threading.Thread(target=exit_anyway, daemon=True).start()


def release_large_blocks() -> None:
    """Configure the C library to return freed memory of large images to the system immediately.

    On Linux, it would otherwise keep large blocks for each thread: hundreds of megabytes.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)


@contextlib.contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like SIGINT, so that both shut down the server gracefully.

    uvicorn finishes the requests under way, and then raises the signal again.
    """
    is_main = threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler) if is_main else None
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, previous)


# --- authentication: clients need the token; without one, only programs on this machine are served, and no web pages

_HEALTH_PATHS = ("/health", "/healthz", "/readyz")
# Paths that need no token: they say nothing but that the server is there, and what can be sent to any such server.
_OPEN_PATHS = (*_HEALTH_PATHS, "/docs", "/openapi.json")
_MONITORING_PATHS = (*_HEALTH_PATHS, "/metrics")  # paths that are answered however many connections there are
_MIN_TOKEN = 16


class Authentication:
    """ASGI middleware that rejects requests without the token, for other hosts, or from web pages."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject the request or pass it on."""
        if scope["type"] == "http":
            error = self._error(scope)
            if error is not None:
                await error.response()(scope, receive, send)
                return
        elif scope["type"] != "lifespan":
            return
        await self._app(scope, receive, send)

    def _error(self, scope: Scope) -> RequestError | None:
        if OVER_CONNECTION_LIMIT in scope and scope["path"] not in _MONITORING_PATHS:
            return RequestError(503, "too many connections: retry later", retry_after=1, closes=True)
        headers = Headers(scope=scope)
        if self._token is None:
            if not is_loopback(host_name(headers.get("host", ""))):
                return RequestError(403, "this server answers only on this machine: ask http://127.0.0.1", closes=True)
        elif scope["path"] not in _OPEN_PATHS and not secrets.compare_digest(
            _read_token(headers), self._token.encode()
        ):
            return RequestError(401, "send the server's token, as in Authorization: Bearer TOKEN", closes=True)
        # A page that the user happens to visit may send requests here, and each may cost money.
        if is_of_other_page(headers):
            return RequestError(403, "requests from pages of other sites are refused", closes=True)
        return None


def check_token(token: str | None, host: str) -> str | None:
    """Return the token if it is secure enough for a server listening on `host`."""
    if token is None:
        if not is_loopback(host):
            raise FormalimgError(
                f"anyone who can reach {host} could use this server: set a token in FORMALIMG_TOKEN or --token-file"
            )
        return None
    if len(token) < _MIN_TOKEN or not token.isascii() or any(not "!" <= character <= "~" for character in token):
        raise FormalimgError(f"a token has at least {_MIN_TOKEN} characters, all of them ASCII, and no spaces")
    return token


def _read_token(headers: Headers) -> bytes:
    """Return the token in the request headers, or nothing.

    Trainers can set a URL but no headers; most HTTP clients send a password in the URL as Basic authentication.
    """
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme == "Bearer":
        return credentials.encode("utf-8", "replace")
    if scheme != "Basic":
        return b""
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2]
    except ValueError:  # also for what is not ASCII
        return b""
