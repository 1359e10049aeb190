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
from formalimg.web.review.pages import (
    DECISION_TEXTS,
    checker_findings,
    decision_counts,
    group_page,
    questions_by_level,
    queue_page,
)
from formalimg.web.security import Body, json_endpoint, require_text
from formalimg.web.server import build_app, serve_app


def create_review_app(desk: ReviewDesk, *, token: str | None) -> Starlette:
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
        Route("/decide", json_endpoint(taking(decide)), methods=["POST"]),
        Route("/try", json_endpoint(taking(preview)), methods=["POST"]),
    ]
    return build_app(routes, token=token, command="formalimg review open")


def serve_review(
    queue: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve the review of a queue until it is interrupted.

    Args:
        queue: the file, as `formalimg review export` writes it.
        host: the address to listen on. Any other than this machine's own needs a token, which is made here and is
            part of the address that is decision.
        port: the port; 0 for any that is free.
        open_browser: whether a browser is opened.
        on_ready: what is done with the address of the site.

    Raises:
        FormalimgError: if the queue cannot be read, or nothing can listen there.
    """
    desk = ReviewDesk(queue)
    serve_app(
        lambda token: create_review_app(desk, token=token),
        host=host,
        port=port,
        open_browser=open_browser,
        on_listening=lambda location: on_ready(location.url()),
    )


_CHOICES: Mapping[str, Choice] = {"accept": "accept", "reject": "reject", "": ""}
_MAX_NOTE_LENGTH = 4_000


def decide(desk: ReviewDesk, body: Body) -> Response:
    """Keep a decision, a note or changes; the answer comes when they are on the disk."""
    name, version = require_text(body, "group", max_length=200), require_text(body, "version", max_length=64)
    choice = require_text(body, "choice", max_length=20) if "choice" in body else None
    if choice is not None and choice not in _CHOICES:
        raise HTTPException(400, "the choice is accept, reject, or empty to take it back")
    try:
        line = desk.decide(
            name,
            version,
            choice=None if choice is None else _CHOICES[choice],
            note=require_text(body, "note", max_length=_MAX_NOTE_LENGTH) if "note" in body else None,
            changes=_changes(body) if "changes" in body else None,
        )
        decision = {"decision": line.decision, "decided": DECISION_TEXTS[line.decision], "note": line.note}
        return JSONResponse(
            {**_shown(line), **decision, "version": line.version, "counts": decision_counts(desk.lines())}
        )
    except FormalimgError as error:
        raise _refusal(error) from error


def preview(desk: ReviewDesk, body: Body) -> Response:
    """Tell what the checker would find in a group with changes, and what would be asked; nothing is kept."""
    try:
        return JSONResponse(_shown(desk.tried(require_text(body, "group", max_length=200), _changes(body))))
    except FormalimgError as error:
        raise _refusal(error) from error


def _shown(line: ReviewLine) -> dict[str, object]:
    return {
        "findings": checker_findings(line),
        "changed": line.is_changed,
        "questions": [each._asdict() for each in questions_by_level(line)],
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
