"""The site as an application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.errors import FormalimgError
from formalimg.report import page_style
from formalimg.web.comparing import compare_page
from formalimg.web.gallery import gallery_page
from formalimg.web.guarding import Guard
from formalimg.web.item import item_page
from formalimg.web.overview import overview_page
from formalimg.web.pages import page
from formalimg.web.pictures import picture_file, thumbnail_file, witness_file
from formalimg.web.run import run_page
from formalimg.web.site import Site, UnknownRunError

Show: TypeAlias = Callable[[Site, Request], Response]

_PAGES: dict[str, Show] = {
    "/": overview_page,
    "/run": run_page,
    "/gallery": gallery_page,
    "/item": item_page,
    "/compare": compare_page,
    "/picture": picture_file,
    "/thumbnail": thumbnail_file,
    "/witness": witness_file,
}

_STATIC = {"viewer.css": "text/css", "viewer.js": "text/javascript", "icon.svg": "image/svg+xml"}


def make_app(site: Site, *, token: str | None) -> Starlette:
    """The viewer as an ASGI application.

    Args:
        site: the runs to show.
        token: what a visitor must know; None for a site that only this machine can reach, which then answers to no
            other name than localhost, 127.0.0.1 and ::1.
    """
    routes = [Route(path, _handler(show, site), methods=["GET"]) for path, show in _PAGES.items()]
    routes.append(Route("/static/report.css", _report_style, methods=["GET"]))
    routes.append(Route("/static/{name}", _static, methods=["GET"]))
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={HTTPException: _told, FormalimgError: _told},
    )


def _handler(show: Show, site: Site) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        return show(site, request)

    return handle


def _told(request: Request, error: Exception) -> Response | Awaitable[Response]:
    """A mistake in an address, or a run that cannot be read, as a page that says so."""
    if isinstance(error, HTTPException):
        status, words = error.status_code, error.detail
    else:
        status, words = (404 if isinstance(error, UnknownRunError) else 422), str(error)
    return page("error.html", status, words=words)


def _report_style(request: Request) -> Response:
    return Response(page_style(), media_type="text/css")


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404, "there is no such file")
    found = files("formalimg.web") / "static" / name
    return Response(found.read_bytes(), media_type=_STATIC[name])
