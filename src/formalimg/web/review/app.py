"""The review as an application, and serving it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from formalimg.authoring import Choice, ReviewDesk, ReviewLine, StaleGroupError, UnknownGroupError
from formalimg.errors import FormalimgError
from formalimg.web.review.pages import DECIDED, asked_in, counted, findings_of, group_page, queue_page
from formalimg.web.security import Body, taking_json, text_in
from formalimg.web.server import assemble, serve_app


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
        on_listening=lambda place: tell(place.address()),
    )


_CHOICES: Mapping[str, Choice] = {"accept": "accept", "reject": "reject", "": ""}
_LONGEST_NOTE = 4_000


def decide(desk: ReviewDesk, body: Body) -> Response:
    """Keep a decision, a note or changes; the answer comes when they are on the disk."""
    name, version = text_in(body, "group", longest=200), text_in(body, "version", longest=64)
    choice = text_in(body, "choice", longest=20) if "choice" in body else None
    if choice is not None and choice not in _CHOICES:
        raise HTTPException(400, "the choice is accept, reject, or empty to take it back")
    try:
        line = desk.decide(
            name,
            version,
            choice=None if choice is None else _CHOICES[choice],
            note=text_in(body, "note", longest=_LONGEST_NOTE) if "note" in body else None,
            changes=_changes(body) if "changes" in body else None,
        )
        told = {"decision": line.decision, "decided": DECIDED[line.decision], "note": line.note}
        return JSONResponse({**_shown(line), **told, "version": line.version, "counts": counted(desk.lines())})
    except FormalimgError as error:
        raise _refusal(error) from error


def try_out(desk: ReviewDesk, body: Body) -> Response:
    """Tell what the checker would find in a group with changes, and what would be asked; nothing is kept."""
    try:
        return JSONResponse(_shown(desk.tried(text_in(body, "group", longest=200), _changes(body))))
    except FormalimgError as error:
        raise _refusal(error) from error


def _shown(line: ReviewLine) -> dict[str, object]:
    return {
        "findings": findings_of(line),
        "changed": line.is_changed,
        "asked": [each._asdict() for each in asked_in(line)],
    }


def _changes(body: Body) -> Mapping[str, object]:
    changes = body.get("changes")
    if not isinstance(changes, dict):
        raise HTTPException(400, 'changes are fields with their texts, as in {"law": "…"}')
    try:
        json.dumps(changes, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise HTTPException(422, "there are halves of characters in the text: type them anew") from error
    return changes


def _refusal(error: FormalimgError) -> HTTPException:
    if isinstance(error, UnknownGroupError):
        return HTTPException(404, str(error))
    return HTTPException(409 if isinstance(error, StaleGroupError) else 422, str(error))
