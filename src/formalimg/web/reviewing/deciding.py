"""What the pages of a review send: decisions, notes, and changes to be tried out or kept."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from formalimg.authoring import Choice, ReviewDesk, ReviewLine, StaleGroupError, UnknownGroupError
from formalimg.errors import FormalimgError
from formalimg.web.bodies import Body, text_in
from formalimg.web.reviewing.words import DECIDED, asked_in, counted, findings_of

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
