"""What every site of ours has: the guard in front, the files of style and script, and mistakes told in words."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from formalimg.errors import FormalimgError
from formalimg.reporting import page_style, theme_script
from formalimg.web.guarding import Guard
from formalimg.web.pages import page
from formalimg.web.site import UnknownRunError

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def assemble(
    routes: Sequence[BaseRoute], *, token: str | None, command: str, open_below: Sequence[str] = ()
) -> Starlette:
    """A site as an ASGI application.

    Args:
        routes: its pages.
        token: what a visitor must know; None for a site that only this machine can reach, which then answers to no
            other name than localhost, 127.0.0.1 and ::1.
        command: the command that serves it and prints its links, as in "formalimg view".
        open_below: beginnings of paths that are answered without the token, because a secret is in them.
    """
    return Starlette(
        routes=[*routes, Route("/static/{name}", _static, methods=["GET"])],
        middleware=[Middleware(Guard, token=token, command=command, open_below=tuple(open_below))],
        exception_handlers={HTTPException: _told, FormalimgError: _told},
    )


def _told(request: Request, error: Exception) -> Response | Awaitable[Response]:
    """A mistake in what was asked, or something that cannot be read, in words: to people a page, to scripts JSON."""
    if isinstance(error, HTTPException):
        status, words = error.status_code, error.detail
    else:
        status, words = (404 if isinstance(error, UnknownRunError) else 422), str(error)
    if request.method not in ("GET", "HEAD"):
        return JSONResponse({"error": words}, status)
    return page("error.html", status, words=words)


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "report.css":
        return Response(page_style(), media_type="text/css")
    if name == "theme.js":
        return Response(theme_script(), media_type="text/javascript")
    there = {found.name: found for found in (files("formalimg.web") / "static").iterdir()}
    suffix = name[name.rfind(".") :]
    if name not in there or suffix not in _TYPES:
        raise HTTPException(404, "there is no such file")
    return Response(there[name].read_bytes(), media_type=_TYPES[suffix])
