"""The viewer as an ASGI application, and `serve_viewer` to run it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.errors import FormalimgError
from formalimg.web.json_body import json_endpoint
from formalimg.web.playground.routes import playground_routes
from formalimg.web.rendering import page_endpoint
from formalimg.web.server import ServerLocation, build_app, serve_app
from formalimg.web.viewer.compare import compare_page
from formalimg.web.viewer.gallery import gallery_page
from formalimg.web.viewer.images import image_file, thumbnail_file, witness_file
from formalimg.web.viewer.index import RunIndex
from formalimg.web.viewer.item import history_page, item_page
from formalimg.web.viewer.live import LiveRuns
from formalimg.web.viewer.run import run_page
from formalimg.web.viewer.runs import overview_page, save_tags
from formalimg.web.viewer.site import READ_ERRORS, Site

_INDEX_PAGES: Mapping[str, Callable[[RunIndex, Request], Response]] = {"/": overview_page, "/run": run_page}
_PAGES: Mapping[str, Callable[[Site, Request], Response]] = {
    "/gallery": gallery_page,
    "/item": item_page,
    "/items/{suite}/{item:path}": history_page,
    "/compare": compare_page,
    "/image": image_file,
    "/thumbnail": thumbnail_file,
    "/witness": witness_file,
}
_PREPARED_PAGES = 4  # runs whose pages are prepared when the site starts
_Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_Source = TypeVar("_Source", Site, RunIndex)


def serve_viewer(
    site: Site,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    read_only: bool = False,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve the viewer until interrupted."""
    index = RunIndex(site, read_only=read_only)

    def precompute() -> None:
        runs, _ = index.listing()
        for run in sorted(runs, key=lambda run: run.summary.created, reverse=True)[:_PREPARED_PAGES]:
            with contextlib.suppress(*READ_ERRORS):  # its page says why
                site.comparison(run.name)

    def on_listening(location: ServerLocation) -> None:
        on_ready(location.url())
        threading.Thread(target=precompute, daemon=True).start()

    serve_app(
        lambda token: _build(index, token),
        host=host,
        port=port,
        open_browser=open_browser,
        on_listening=on_listening,
    )


def create_viewer_app(site: Site, *, token: str | None, read_only: bool = False) -> Starlette:
    """Build the ASGI application of the viewer.

    Args:
        site: the runs to show.
        token: the token that visitors need; None for a site that only this machine can reach.
        read_only: whether tags and notes cannot be edited.
    """
    return _build(RunIndex(site, read_only=read_only), token)


def _build(index: RunIndex, token: str | None) -> Starlette:
    routes = [
        *(Route(path, _page_route(show, index), methods=["GET"]) for path, show in _INDEX_PAGES.items()),
        Route("/events", LiveRuns(index), methods=["GET"]),
        Route("/tags", json_endpoint(lambda _, body: save_tags(index, body)), methods=["POST"]),
        *(Route(path, _page_route(show, index.site), methods=["GET"]) for path, show in _PAGES.items()),
        *playground_routes(),
    ]
    return build_app(routes, token=token, command="formalimg view")


def _page_route(show: Callable[[_Source, Request], Response], source: _Source) -> _Endpoint:
    def respond(request: Request) -> Response:
        try:
            return show(source, request)
        except FormalimgError:
            raise  # shown as it is
        except READ_ERRORS as error:
            logging.getLogger(__name__).error("cannot show %s", request.url.path, exc_info=True)
            message = f"the stored data is damaged ({type(error).__name__}: {error}): see the log in the terminal"
            raise HTTPException(500, message) from error

    return page_endpoint(respond)
