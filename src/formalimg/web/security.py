"""Access control of every site: host check, token, same-origin POSTs, security headers."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from formalimg.web.connections import OVER_CONNECTION_LIMIT, is_host_header

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


class AccessGuard:
    """ASGI middleware that rejects requests from unknown hosts or unauthorized visitors.

    Without a token, only requests to names of this machine are answered, so that no foreign page can reach the site
    under a name of its own (DNS rebinding). With a token, a cookie set by this host is needed.
    """

    def __init__(self, app: ASGIApp, token: str | None, command: str, public_prefixes: tuple[str, ...] = ()) -> None:
        """Wrap an application with access control."""
        self._app, self._token, self._command, self._public_prefixes = app, token, command, public_prefixes
        self._cookie = "" if token is None else f"formalimg-{hashlib.sha256(token.encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or pass it on to the application."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._choose_app(scope, Headers(scope=scope))(scope, receive, _with_headers(send))

    def _choose_app(self, scope: Scope, headers: Headers) -> ASGIApp:
        if OVER_CONNECTION_LIMIT in scope:
            close = {"Retry-After": "1", "Connection": "close"}
            return PlainTextResponse("Refused: too many requests at once: try again.\n", 503, close)
        if self._token is None and not is_loopback(host_name(headers.get("host", ""))):
            return _refuse("this site answers only on this machine: open it as http://127.0.0.1")
        if self._token is not None and not scope["path"].startswith(self._public_prefixes):
            query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            tokens = [value for name, value in query if name == "token"]
            if tokens and scope["method"] in _SAFE_METHODS and _is_same(tokens[0], self._token):
                return self._redirect(scope, [pair for pair in query if pair[0] != "token"])
            if not _is_same(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""), self._token):
                return _refuse(f"this site needs its token: open the link that `{self._command}` printed")
        if is_of_other_page(headers) or (scope["method"] not in _SAFE_METHODS and "origin" not in headers):
            return _refuse("the request comes from a page of another site")
        return self._app

    def _redirect(self, scope: Scope, query: list[tuple[str, str]]) -> ASGIApp:
        """Move the token from the URL to a cookie, so that shared links do not expose it."""
        path = "/" + scope["path"].lstrip("/\\")  # never //host, which would leave the site
        response = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, status_code=303)
        response.set_cookie(self._cookie, self._token or "", httponly=True, samesite="lax", path="/")
        return response


def host_name(host: str) -> str:
    """Return the name in a Host header without its port, or an empty string if the header is invalid."""
    if not is_host_header(host):
        return ""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:  # brackets around something that is no address
        return ""


def is_loopback(host: str) -> bool:
    """Return whether the host is only reachable from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback  # unlike a name, an address cannot be redirected here
    except ValueError:
        return False


def is_of_other_page(headers: Headers) -> bool:
    """Return whether another site's page sent the request in any way other than by a link."""
    if "origin" in headers:
        try:
            origin = urlsplit(headers["origin"])
        except ValueError:
            return True
        if origin.scheme not in ("http", "https") or not origin.netloc or origin.netloc != headers.get("host", ""):
            return True
    is_link = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_link


def _is_same(value: str, token: str) -> bool:
    return secrets.compare_digest(value.encode("utf-8", "replace"), token.encode())


def _refuse(reason: str) -> ASGIApp:
    # Closed, so that nobody without access can occupy connections.
    return PlainTextResponse(f"Refused: {reason}.\n", 403, {"Connection": "close"})


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "private, no-cache")
        await send(message)

    return send_with_headers
