"""Serving rewards: on this machine only, unless there is a token, until the server is told to end."""

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
from math import ceil

import uvicorn
from starlette.types import ASGIApp

from formalimg.rewards.server.connections import patient_for
from formalimg.rewards.server.gate import checked_token
from formalimg.rewards.server.limits import Limits
from formalimg.web import listen

_M_MMAP_THRESHOLD = -3
"""The setting of `mallopt`, from malloc.h."""

_LARGE_BLOCK = 4 * 1024 * 1024

_LAST_SECONDS = 2.0
"""So long threads may take to end after the last answer."""


def serve_rewards(
    make: Callable[[str | None], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    on_progress: Callable[[str], None],
) -> None:
    """Serve rewards until the process is interrupted or told to end; what has begun is then finished.

    The process ends here if a thread still works for somebody who could not be answered in time.

    Args:
        make: makes the application, with the token that clients must send.
        host: the address to listen on; any other than this machine's own needs a token.
        port: the port; 0 for any that is free.
        token: what clients must send.
        limits: how much is taken on.
        on_progress: is called with the address once the port is taken.

    Raises:
        FormalimgError: if nothing can listen there, or a token is missing.
    """
    secret = checked_token(token, host)
    with _ending_as_interrupted(), listen(host, port) as listening:
        server = _EndingServer(server_config(make(secret), limits))
        shown = f"[{host}]" if ":" in host else host
        on_progress(f"http://{shown}:{listening.getsockname()[1]}")
        _collect_rarely()
        give_back_large_blocks()
        _allow_files(6 * limits.most_connections)
        try:
            server.run(sockets=[listening])
        finally:
            server.has_ended.set()


class _EndingServer(uvicorn.Server):
    """A server that ends when it is told to, whatever its threads are doing."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_ended = threading.Event()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # All have their answers now. Python would wait for threads that work for those who were not finished in time.
        threading.Thread(target=self._end_anyway, daemon=True).start()

    def _end_anyway(self) -> None:
        if not self.has_ended.wait(_LAST_SECONDS):
            sys.stderr.flush()
            os._exit(0)


def server_config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """How uvicorn is to serve the application, for programs that run it themselves."""
    return uvicorn.Config(
        app,
        http=patient_for(limits.timeout, limits.most_connections),
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=ceil(limits.timeout),
        timeout_graceful_shutdown=ceil(limits.longest_end),
        backlog=limits.most_connections,  # so many are taken before any is looked at
    )


def _collect_rarely() -> None:
    """Have the garbage collector go through all there is only now and then: everyone waits for it meanwhile.

    Formulas that are remembered are some hundred thousand objects. Little of what a request leaves behind needs it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def give_back_large_blocks() -> None:
    """Have the system get back what large images took, as soon as they are done with.

    The C library of Linux keeps large blocks once it has seen some, for each thread: hundreds of megabytes.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)


def _allow_files(wanted: int) -> None:
    """Have this process hold so many files and connections, if the system lets it: some let it hold 256 at first."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits, or none that may be changed
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@contextlib.contextmanager
def _ending_as_interrupted() -> Iterator[None]:
    """To be told to end is as good as to be interrupted: both are how a server is meant to end.

    uvicorn finishes what has begun, and then raises the signal again.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if is_main else None
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)
