"""The review as an application, and serving it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.authoring import ReviewDesk
from formalimg.web.assembling import assemble
from formalimg.web.bodies import Body, taking_json
from formalimg.web.reviewing.deciding import decide, try_out
from formalimg.web.reviewing.group_page import group_page
from formalimg.web.reviewing.queue_page import queue_page
from formalimg.web.serving import serve_app


def make_review_app(desk: ReviewDesk, *, token: str | None) -> Starlette:
    """The review of a queue as an ASGI application.

    Args:
        desk: the queue.
        token: what a visitor must know; None for a site that only this machine can reach.
    """

    def showing(show: Callable[[ReviewDesk, Request], Response]) -> Callable[[Request], Response]:
        return lambda request: show(desk, request)

    def taking(work: Callable[[ReviewDesk, Body], Response]) -> Callable[[Request, Body], Response]:
        return lambda _, body: work(desk, body)

    routes = [
        Route("/", showing(queue_page), methods=["GET"]),
        Route("/group", showing(group_page), methods=["GET"]),
        Route("/decide", taking_json(taking(decide)), methods=["POST"]),
        Route("/try", taking_json(taking(try_out)), methods=["POST"]),
    ]
    return assemble(routes, token=token, command="formalimg review open")


def serve_review(
    queue: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    opens_browser: bool = True,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the review of a queue until it is interrupted.

    Args:
        queue: the file, as `formalimg review export` writes it.
        host: the address to listen on. Any other than this machine's own needs a token, which is made here and is
            part of the address that is told.
        port: the port; 0 for any that is free.
        opens_browser: whether a browser is opened.
        tell: what is done with the address of the site.

    Raises:
        FormalimgError: if the queue cannot be read, or nothing can listen there.
    """
    desk = ReviewDesk(queue)
    serve_app(
        lambda token: make_review_app(desk, token=token),
        host=host,
        port=port,
        opens_browser=opens_browser,
        on_progress=lambda place: tell(place.address()),
    )
