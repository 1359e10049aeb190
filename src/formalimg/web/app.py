"""The viewer as an application."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.errors import FormalimgError
from formalimg.web.assembling import assemble
from formalimg.web.comparing import compare_page
from formalimg.web.gallery import gallery_page
from formalimg.web.images import image_file, thumbnail_file, witness_file
from formalimg.web.item import item_page
from formalimg.web.overview import overview_page
from formalimg.web.playground import playground_routes
from formalimg.web.run import run_page
from formalimg.web.site import UNREADABLE, Site

Show: TypeAlias = Callable[[Site, Request], Response]

_PAGES: dict[str, Show] = {
    "/": overview_page,
    "/run": run_page,
    "/gallery": gallery_page,
    "/item": item_page,
    "/compare": compare_page,
    "/image": image_file,
    "/thumbnail": thumbnail_file,
    "/witness": witness_file,
}


def make_app(site: Site, *, token: str | None) -> Starlette:
    """The viewer as an ASGI application.

    Args:
        site: the runs to show.
        token: what a visitor must know; None for a site that only this machine can reach, which then answers to no
            other name than localhost, 127.0.0.1 and ::1.
    """
    routes = [Route(path, _handler(show, site), methods=["GET"]) for path, show in _PAGES.items()]
    return assemble([*routes, *playground_routes()], token=token, command="formalimg view")


def _handler(show: Show, site: Site) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        try:
            return show(site, request)
        except FormalimgError:
            raise  # which is told as it is
        except UNREADABLE as error:
            logging.getLogger(__name__).error("cannot show %s", request.url.path, exc_info=True)
            words = f"what is stored cannot be understood ({type(error).__name__}: {error}): the terminal tells more"
            raise HTTPException(500, words) from error

    return handle
