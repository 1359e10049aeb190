"""Review of written groups in the browser: a filtered queue, one page per group, and decisions stored immediately."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from formalimg.benchmarks.authoring.task import (
    Choice,
    ReviewDesk,
    ReviewedGroup,
    StaleGroupError,
    UnknownGroupError,
    reviewing,
)
from formalimg.errors import FormalimgError
from formalimg.web.json_body import Body, json_endpoint, require_text
from formalimg.web.rendering import page
from formalimg.web.server import build_app, serve_app
from formalimg.web.viewer.urls import build_url, require_value

_DECISIONS: Mapping[str, str] = {
    "accept": "accepted",
    "edit": "accepted as edited",
    "reject": "rejected",
    "": "undecided",
}
_STATES = ("undecided", "accept", "edit", "reject")
_FINDINGS = ("some", "none")
_CHOICES: Mapping[str, Choice] = {"accept": "accept", "reject": "reject", "": ""}
_MAX_NOTE_LENGTH = 4_000


def create_review_app(desk: ReviewDesk, *, token: str | None) -> Starlette:
    """Build the ASGI application for reviewing a queue."""
    routes = [
        Route("/", lambda request: _queue_page(desk, request)),
        Route("/group", lambda request: _group_page(desk, request)),
        Route("/decide", json_endpoint(lambda _, body: _decide(desk, body)), methods=["POST"]),
        Route("/try", json_endpoint(lambda _, body: _preview(desk, body)), methods=["POST"]),
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


class _GroupFilter(NamedTuple):
    """A filter of groups; empty fields match everything."""

    decision: str  # one of `_STATES`
    findings: str  # some or none
    field: str  # the branch, or the discipline where there is none
    text: str  # a text that occurs somewhere in the group

    def matches(self, line: ReviewedGroup) -> bool:
        return (
            self.decision in ("", line.decision or "undecided")
            and self.findings in ("", "some" if line.findings else "none")
            and self.field in ("", line.field)
            and self.text.lower() in line.searched_text.lower()
        )

    def url(self, path: str, **more: object) -> str:
        """Return the URL of another page with the same filter."""
        return build_url(path, **more, **self._asdict())

    def first_url(self, lines: Sequence[ReviewedGroup]) -> str | None:
        """Return the URL of the first group that passes the filter, or None."""
        return next((self.url("/group", id=line.id) for line in lines if self.matches(line)), None)


def _parse_filter(request: Request) -> _GroupFilter:
    query = request.query_params
    group_filter = _GroupFilter(*(query.get(name, "").strip() for name in _GroupFilter._fields))
    if group_filter.decision not in ("", *_STATES) or group_filter.findings not in ("", *_FINDINGS):
        raise HTTPException(400, f"decision is one of {', '.join(_STATES)}, and findings one of {', '.join(_FINDINGS)}")
    return group_filter


def _decision_counts(lines: Sequence[ReviewedGroup]) -> str:
    counts = Counter(line.decision for line in lines)
    return ", ".join(f"{counts[decision]:,} {words}" for decision, words in _DECISIONS.items() if counts[decision])


def _queue_page(desk: ReviewDesk, request: Request) -> Response:
    group_filter = _parse_filter(request)
    lines = desk.lines()
    undecided = next((line.id for line in lines if not line.decision), None)
    return page(
        "review.html",
        queue=desk.path.name,
        group_filter=group_filter,
        rows=[
            {
                "line": line,
                "field": line.field,
                "findings": line.findings,
                "decided": _DECISIONS[line.decision],
                "url": group_filter.url("/group", id=line.id),
            }
            for line in lines
            if group_filter.matches(line)
        ],
        total=len(lines),
        counts=_decision_counts(lines),
        share=100 * sum(bool(line.decision) for line in lines) // len(lines),
        undecided=None if undecided is None else group_filter._replace(decision="").url("/group", id=undecided),
        fields=sorted({line.field for line in lines}),
        states=_STATES,
        found=_FINDINGS,
    )


def _group_page(desk: ReviewDesk, request: Request) -> Response:
    group_filter, name = _parse_filter(request), require_value(request.query_params, "id")
    lines = desk.lines()
    index = next((index for index, line in enumerate(lines) if line.id == name), None)
    if index is None:
        raise HTTPException(404, f"there is no group {name[:80]!r} in this queue")
    line = lines[index]
    return page(
        "review_group.html",
        queue=desk.path.name,
        group_filter=group_filter,
        line=line,
        group=line.group,
        place=index + 1,
        total=len(lines),
        counts=_decision_counts(lines),
        decided=_DECISIONS[line.decision],
        findings=line.findings,
        level_questions=line.level_questions(),
        disciplines=line.fields_on_offer["discipline"],
        branches=line.fields_on_offer["branch"],
        before=group_filter.first_url(lines[:index][::-1]),
        after=group_filter.first_url(lines[index + 1 :]),
    )


def _decide(desk: ReviewDesk, body: Body) -> Response:
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
        decision = {"decision": line.decision, "decided": _DECISIONS[line.decision], "note": line.note}
        counts = _decision_counts(desk.lines())
        return JSONResponse({**_group_values(line), **decision, "version": line.version, "counts": counts})
    except FormalimgError as error:
        raise _http_error(error) from error


def _preview(desk: ReviewDesk, body: Body) -> Response:
    """Return the findings and questions for a changed group without storing it."""
    try:
        return JSONResponse(_group_values(desk.tried(require_text(body, "group", max_length=200), _changes(body))))
    except FormalimgError as error:
        raise _http_error(error) from error


def _group_values(line: ReviewedGroup) -> dict[str, object]:
    questions = [level._asdict() for level in line.level_questions()]
    return {"findings": line.findings, "changed": line.is_changed, "questions": questions}


def _changes(body: Body) -> Mapping[str, object]:
    changes = body.get("changes")
    if not isinstance(changes, dict):
        raise HTTPException(400, 'changes must be an object of fields and texts, as in {"law": "…"}')
    try:
        json.dumps(changes, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise HTTPException(422, "the text contains lone surrogates: type it again") from error
    return changes


def _http_error(error: FormalimgError) -> HTTPException:
    if isinstance(error, UnknownGroupError):
        return HTTPException(404, str(error))
    return HTTPException(409 if isinstance(error, StaleGroupError) else 422, str(error))
