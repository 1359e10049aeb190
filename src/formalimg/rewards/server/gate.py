"""Who is answered: whoever has the token; without one, programs on this machine, and no page of a browser."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from formalimg.errors import FormalimgError
from formalimg.rewards.server.connections import CROWDED
from formalimg.rewards.server.refusing import RefusedError
from formalimg.web import host_name, is_loopback

OPEN = ("/healthz", "/readyz")
"""Paths that are answered without the token: they tell nothing but that somebody is there."""

_WATCHING = (*OPEN, "/metrics")
"""Paths that are answered however many connections there are: then, above all, somebody wants to know."""

_SHORTEST = 16


class Gate:
    """Stands in front of the server and turns away whom it is not meant for."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        """Guard an application.

        Args:
            app: what is guarded.
            token: what a client must send, as `Authorization: Bearer …`; None for a server that only this machine can
                reach, which then answers to no other name than localhost, 127.0.0.1 and ::1.
        """
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or have it answered."""
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                await refusal.answer()(scope, receive, send)
                return
        elif scope["type"] != "lifespan":
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> RefusedError | None:
        if CROWDED in scope and scope["path"] not in _WATCHING:
            return RefusedError(503, "there are too many connections: come back later", retry_after=1, closes=True)
        headers = Headers(scope=scope)
        if self._token is None:
            if not is_loopback(host_name(headers.get("host", ""))):
                return RefusedError(403, "this server answers only on this machine: ask http://127.0.0.1", closes=True)
        elif scope["path"] not in OPEN and not _same(headers.get("authorization", ""), f"Bearer {self._token}"):
            return RefusedError(401, "send the server's token, as in Authorization: Bearer TOKEN", closes=True)
        # A page that the user happens to visit may send requests here, and each may cost money. Programs are no pages.
        origin = headers.get("origin")
        if origin is not None and _site(origin) != headers.get("host", ""):
            return RefusedError(403, "this was sent by a page of another site", closes=True)
        return None


def checked_token(token: str | None, host: str) -> str | None:
    """The token, if it will do for a server that listens on this address.

    Raises:
        FormalimgError: if there must be one and is none, or it could be guessed or not be sent.
    """
    if token is None:
        if not is_loopback(host):
            raise FormalimgError(
                f"whoever can reach {host} could use this server: set a token in FORMALIMG_TOKEN, or with --token-file"
            )
        return None
    if len(token) < _SHORTEST or not token.isascii() or any(not "!" <= character <= "~" for character in token):
        raise FormalimgError(f"a token has at least {_SHORTEST} characters, all of them ASCII, and no spaces")
    return token


def _site(origin: str) -> str | None:
    """The host and port of an origin; None if it has none, as for pages without one, or is no address."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
