"""The viewer as an ASGI application, and `serve_viewer`, which runs it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.errors import FormalimgError
from formalimg.web.playground import playground_routes
from formalimg.web.server import ServerLocation, build_app, serve_app
from formalimg.web.viewer.compare import compare_page
from formalimg.web.viewer.gallery import gallery_page
from formalimg.web.viewer.history import history_page
from formalimg.web.viewer.images import image_file, thumbnail_file, witness_file
from formalimg.web.viewer.item import item_page
from formalimg.web.viewer.run import run_page
from formalimg.web.viewer.runs import overview_page
from formalimg.web.viewer.site import READ_ERRORS, Site

Show: TypeAlias = Callable[[Site, Request], Response]

_PAGES: dict[str, Show] = {
    "/": overview_page,
    "/run": run_page,
    "/gallery": gallery_page,
    "/item": item_page,
    "/items/{suite}/{item:path}": history_page,
    "/compare": compare_page,
    "/image": image_file,
    "/thumbnail": thumbnail_file,
    "/witness": witness_file,
}


def serve_viewer(
    site: Site,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve the viewer until it is interrupted.

    Args:
        site: the runs to show.
        host: the address to listen on. Any other than a loopback address requires a token, which is generated here and
            is part of the URL.
        port: the port; 0 for any free one.
        open_browser: whether to open a browser.
        on_ready: called with the URL of the site.

    Raises:
        FormalimgError: if the address or port cannot be used.
    """

    def on_listening(location: ServerLocation) -> None:
        on_ready(location.url())
        threading.Thread(target=_precompute_summaries, args=(site,), daemon=True).start()

    serve_app(
        lambda token: create_viewer_app(site, token=token),
        host=host,
        port=port,
        open_browser=open_browser,
        on_listening=on_listening,
    )


def _precompute_summaries(site: Site) -> None:
    """Summarize all runs before the first request; what cannot be read is reported on the first page."""
    for found in site.runs():
        try:
            site.comparison(found.name)
        except Exception:
            continue


def create_viewer_app(site: Site, *, token: str | None) -> Starlette:
    """Build the viewer.

    Args:
        site: the runs to show.
        token: the token that visitors need; None for a site that only this machine can reach.
    """
    routes = [Route(path, _handler(show, site), methods=["GET"]) for path, show in _PAGES.items()]
    return build_app([*routes, *playground_routes()], token=token, command="formalimg view")


def _handler(show: Show, site: Site) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        try:
            return show(site, request)
        except FormalimgError:
            raise  # shown as it is
        except READ_ERRORS as error:
            logging.getLogger(__name__).error("cannot show %s", request.url.path, exc_info=True)
            message = f"the stored data is damaged ({type(error).__name__}: {error}): see the log in the terminal"
            raise HTTPException(500, message) from error

    return handle
