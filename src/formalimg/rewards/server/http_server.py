"""The HTTP server: the front of all servers, with graceful shutdown and little memory; a token unless it is local."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from formalimg.rewards.server.admission import Limits
from formalimg.rewards.server.auth import check_token
from formalimg.web.connections import ConnectionLimits, LimitedServer, limited_config
from formalimg.web.server import listen
from formalimg.web.server_log import limited_log

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
    """
    secret = check_token(token, host)
    with _sigterm_as_interrupt(), limited_log(), listen(host, port) as listening:
        server = _RewardServer(server_config(make(secret), limits))
        shown = f"[{host}]" if ":" in host else host
        on_progress(f"http://{shown}:{listening.getsockname()[1]}")
        _collect_garbage_rarely()
        release_large_blocks()
        try:
            server.run(sockets=[listening])
        finally:
            server.has_ended.set()


def server_config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """Return the configuration of uvicorn for the application, for programs that run it themselves."""
    return limited_config(app, ConnectionLimits(limits.timeout, limits.max_connections, limits.shutdown_timeout))


class _RewardServer(LimitedServer):
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
