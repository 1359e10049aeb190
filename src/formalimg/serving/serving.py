"""Serving rewards: on this machine only, unless there is a token, until the server is told to end."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
from collections.abc import Callable, Iterator
from math import ceil

import uvicorn
from starlette.types import ASGIApp

from formalimg.serving.connections import patient_for
from formalimg.serving.gate import checked_token
from formalimg.serving.limits import Limits
from formalimg.web import listen


def serve_rewards(
    make: Callable[[str | None], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    told: Callable[[str], None],
) -> None:
    """Serve rewards until the process is interrupted or told to end; what has begun is then finished.

    Args:
        make: makes the application, with the token that clients must send.
        host: the address to listen on; any other than this machine's own needs a token.
        port: the port; 0 for any that is free.
        token: what clients must send.
        limits: how much is taken on.
        told: is called with the address once the port is taken.

    Raises:
        FormalimgError: if nothing can listen there, or a token is missing.
    """
    secret = checked_token(token, host)
    with _ending_as_interrupted(), listen(host, port) as listening:
        server = uvicorn.Server(server_config(make(secret), limits))
        shown = f"[{host}]" if ":" in host else host
        told(f"http://{shown}:{listening.getsockname()[1]}")
        _collect_rarely()
        server.run(sockets=[listening])


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
    )


def _collect_rarely() -> None:
    """Have the garbage collector go through all there is only now and then: everyone waits for it meanwhile.

    Formulas that are remembered are some hundred thousand objects. Little of what a request leaves behind needs it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


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
