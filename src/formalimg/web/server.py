"""The framework of all sites: ASGI application, static files, error pages, listening socket and server."""

from __future__ import annotations

import contextlib
import errno
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.reports.page import page_style, theme_script
from formalimg.web.connections import ConnectionLimits, LimitedServer, limited_config, limited_log
from formalimg.web.rendering import page, page_endpoint
from formalimg.web.security import AccessGuard, is_loopback


class ServerLocation(NamedTuple):
    """The address at which a site is served."""

    host: str
    port: int
    token: str | None  # that visitors need; None if they need none

    def url(self, path: str = "/", *, secret: bool = True) -> str:
        """Return the URL of a page, with the token unless `secret` is false."""
        name = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else self.host
        address = f"[{name}]" if ":" in name else name
        return f"http://{address}:{self.port}{path}" + (f"?token={self.token}" if self.token and secret else "")


def serve_app(
    build: Callable[[str | None], ASGIApp],
    *,
    host: str,
    port: int,
    open_browser: bool,
    on_listening: Callable[[ServerLocation], None],
    always_token: bool = False,
) -> None:
    """Serve a site until interrupted. Visitors need a token unless it is only reachable from this machine."""
    token = None if is_loopback(host) and not always_token else secrets.token_urlsafe(24)
    listener = listen(host, port)
    location = ServerLocation(host, listener.getsockname()[1], token)
    server = LimitedServer(limited_config(build(token), ConnectionLimits()))
    on_listening(location)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(location.url(),), daemon=True).start()
    with listener, limited_log(), contextlib.suppress(KeyboardInterrupt):  # the intended way to stop
        server.run(sockets=[listener])


class NotFoundError(FormalimgError):
    """Error for a URL of something that does not exist; answered with status 404."""


_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def build_app(
    routes: Sequence[BaseRoute], *, token: str | None, command: str, public_prefixes: Sequence[str] = ()
) -> Starlette:
    """Build the ASGI application of a site."""
    return Starlette(
        routes=[*routes, Route("/static/{name}", page_endpoint(_static), methods=["GET"])],
        middleware=[Middleware(AccessGuard, token=token, command=command, public_prefixes=tuple(public_prefixes))],
        exception_handlers={HTTPException: _error_response, FormalimgError: _error_response},
    )


async def _error_response(request: Request, error: Exception) -> Response:
    """Render a user error as a page for browsers or as JSON for scripts."""
    if isinstance(error, HTTPException):
        status, message = error.status_code, error.detail
    else:
        status, message = (404 if isinstance(error, NotFoundError) else 422), str(error)
    if request.method not in ("GET", "HEAD"):
        return JSONResponse({"error": message}, status, getattr(error, "headers", None))
    return page("error.html", status, message=message)


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    media_type = _TYPES.get(name[name.rfind(".") :])
    if name == "report.css":
        return Response(page_style(), media_type=media_type)
    if name == "theme.js":
        return Response(theme_script(), media_type=media_type)
    static_files = {file.name: file for file in (files("formalimg.web") / "static").iterdir()}
    if name not in static_files or media_type is None:
        raise HTTPException(404, "file not found")
    return Response(static_files[name].read_bytes(), media_type=media_type)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the given host and port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except (OSError, UnicodeError) as error:
        raise FormalimgError(
            f"{truncate(host, 60, 30)} is not an address of this machine: choose another --host"
        ) from error
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        option = "--host" if error.errno == errno.EADDRNOTAVAIL else "--port"
        raise FormalimgError(
            f"cannot listen on {host} port {port} ({error.strerror}): choose another {option}"
        ) from error
    # Accepted connections inherit it. Without it, the second half of a response may wait 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
