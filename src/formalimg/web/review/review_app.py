"""The review site as an ASGI application, `serve_review`, and the endpoints that store decisions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from formalimg.benchmarks.authoring.reviewing import (
    Choice,
    ReviewDesk,
    ReviewedGroup,
    StaleGroupError,
    UnknownGroupError,
    reviewing,
)
from formalimg.errors import FormalimgError
from formalimg.web.json_body import Body, json_endpoint, require_text
from formalimg.web.review.pages import DECISION_TEXTS, decision_counts, group_page, queue_page
from formalimg.web.server import build_app, serve_app


def create_review_app(desk: ReviewDesk, *, token: str | None) -> Starlette:
    """Build the ASGI application for reviewing a queue."""

    def page_route(show: Callable[[ReviewDesk, Request], Response]) -> Callable[[Request], Response]:
        return lambda request: show(desk, request)

    def endpoint(work: Callable[[ReviewDesk, Body], Response]) -> Callable[[Request, Body], Response]:
        return lambda _, body: work(desk, body)

    routes = [
        Route("/", page_route(queue_page), methods=["GET"]),
        Route("/group", page_route(group_page), methods=["GET"]),
        Route("/decide", json_endpoint(endpoint(decide)), methods=["POST"]),
        Route("/try", json_endpoint(endpoint(preview)), methods=["POST"]),
    ]
    return build_app(routes, token=token, command="formalimg items review open")


def serve_review(
    queue: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    on_ready: Callable[[str], None] = print,
) -> None:
    """Serve the review site of a queue until interrupted."""
    desk = reviewing().open_desk(queue)
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
    """Save a decision, note or change to disk before responding."""
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
    """Return the findings and questions for a changed group without storing it."""
    try:
        return JSONResponse(_shown(desk.tried(require_text(body, "group", max_length=200), _changes(body))))
    except FormalimgError as error:
        raise _refusal(error) from error


def _shown(line: ReviewedGroup) -> dict[str, object]:
    return {
        "findings": line.findings,
        "changed": line.is_changed,
        "questions": [each._asdict() for each in line.level_questions()],
    }


def _changes(body: Body) -> Mapping[str, object]:
    changes = body.get("changes")
    if not isinstance(changes, dict):
        raise HTTPException(400, 'changes are fields with their texts, as in {"law": "…"}')
    try:
        json.dumps(changes, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise HTTPException(422, "the text contains lone surrogates: type it again") from error
    return changes


def _refusal(error: FormalimgError) -> HTTPException:
    if isinstance(error, UnknownGroupError):
        return HTTPException(404, str(error))
    return HTTPException(409 if isinstance(error, StaleGroupError) else 422, str(error))
