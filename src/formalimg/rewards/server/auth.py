"""Authentication: clients need the token; without one, only programs on this machine are served, and no web pages."""

from __future__ import annotations

import base64
import secrets

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from formalimg.errors import FormalimgError
from formalimg.rewards.server.http_errors import RequestError
from formalimg.web.connections import OVER_CONNECTION_LIMIT
from formalimg.web.security import host_name, is_loopback, is_of_other_page

_HEALTH_PATHS = ("/health", "/healthz", "/readyz")
_OPEN_PATHS = (*_HEALTH_PATHS, "/docs", "/openapi.json")
"""Paths that need no token: they say nothing but that the server is there, and what can be sent to any such server."""

_MONITORING_PATHS = (*_HEALTH_PATHS, "/metrics")
"""Paths that are answered however many connections there are: that is when they are needed most."""

_MIN_TOKEN = 16


class Authentication:
    """ASGI middleware that refuses requests without the token, of other hosts, and of web pages."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        """Guard an application."""
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
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
            return RequestError(503, "there are too many connections: come back later", retry_after=1, closes=True)
        headers = Headers(scope=scope)
        if self._token is None:
            if not is_loopback(host_name(headers.get("host", ""))):
                return RequestError(403, "this server answers only on this machine: ask http://127.0.0.1", closes=True)
        elif scope["path"] not in _OPEN_PATHS and not _equal(_sent_token(headers), self._token):
            return RequestError(401, "send the server's token, as in Authorization: Bearer TOKEN", closes=True)
        # A page that the user happens to visit may send requests here, and each may cost money.
        if is_of_other_page(headers):
            return RequestError(403, "this was sent by a page of another site", closes=True)
        return None


def check_token(token: str | None, host: str) -> str | None:
    """Return the token if it is good enough for a server that listens on this address."""
    if token is None:
        if not is_loopback(host):
            raise FormalimgError(
                f"whoever can reach {host} could use this server: set a token in FORMALIMG_TOKEN, or with --token-file"
            )
        return None
    if len(token) < _MIN_TOKEN or not token.isascii() or any(not "!" <= character <= "~" for character in token):
        raise FormalimgError(f"a token has at least {_MIN_TOKEN} characters, all of them ASCII, and no spaces")
    return token


def _sent_token(headers: Headers) -> str:
    """Return the token that a client has sent; empty if none.

    Trainers know an address and no headers: most HTTP clients send the password in one, as Basic authentication.
    """
    scheme, _, sent = headers.get("authorization", "").partition(" ")
    if scheme == "Bearer":
        return sent
    if scheme != "Basic":
        return ""
    try:
        return base64.b64decode(sent, validate=True).decode("ascii").partition(":")[2]
    except ValueError:  # also for what is not ASCII
        return ""


def _equal(found: str, expected: str) -> bool:
    return secrets.compare_digest(found.encode("utf-8", "replace"), expected.encode())
