"""Who is answered: the right host, the right token, posts from our own pages; and what browsers may do with pages."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine that nobody else can answer to."""

_SAFE_METHODS = frozenset({"GET", "HEAD"})

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard:
    """Stands in front of the site and turns away whom it is not meant for.

    Without a token, only requests to names of this machine are answered, so that no foreign page can reach the site
    under a name of its own. With a token, whoever has it is answered: a browser sends it back only to the host that it
    got it from.
    """

    def __init__(self, app: ASGIApp, token: str | None, command: str, open_below: tuple[str, ...] = ()) -> None:
        """Guard an application.

        Args:
            app: what is guarded.
            token: what a visitor must know; None for a site that only this machine can reach.
            command: the command that prints the link with the token.
            open_below: beginnings of paths that are answered without the token, because a secret is in them.
        """
        self._app, self._token, self._command, self._open_below = app, token, command, open_below
        self._cookie = "" if token is None else f"formalimg-{hashlib.sha256(token.encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or have it answered."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        await self._answer(scope)(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> ASGIApp:
        headers = Headers(scope=scope)
        if self._token is None and not is_loopback(host_name(headers.get("host", ""))):
            return _refusal("this site answers only on this machine: open it as http://127.0.0.1")
        if self._token is not None and not scope["path"].startswith(self._open_below):
            query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            shown = [value for name, value in query if name == "token"]
            if shown and scope["method"] in _SAFE_METHODS and _same(shown[0], self._token):
                return self._welcome(scope, [pair for pair in query if pair[0] != "token"])
            if not _same(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""), self._token):
                return _refusal(f"this site needs its token: open the link that `{self._command}` printed")
        if scope["method"] not in _SAFE_METHODS and not _from_our_own_page(headers):
            return _refusal("this was sent by a page of another site")
        return self._app

    def _welcome(self, scope: Scope, rest: list[tuple[str, str]]) -> ASGIApp:
        """Keep the token in a cookie and out of the address, where it would be copied and shared."""
        path = "/" + scope["path"].lstrip("/\\")  # never //host, which would lead elsewhere
        answer = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, status_code=303)
        answer.set_cookie(self._cookie, self._token or "", httponly=True, samesite="lax", path="/")
        return answer


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty if it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Can only this machine reach the host?"""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback  # nobody else can answer to a number, as to a name
    except ValueError:
        return False


def _from_our_own_page(headers: Headers) -> bool:
    """Does the browser say that the request comes from a page of this very host and port?"""
    origin = urlsplit(headers.get("origin", ""))
    return origin.scheme in ("http", "https") and bool(origin.netloc) and origin.netloc == headers.get("host", "")


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _refusal(why: str) -> ASGIApp:
    return PlainTextResponse(f"Refused: {why}.\n", status_code=403)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "private, no-cache")
        await send(message)

    return sending
