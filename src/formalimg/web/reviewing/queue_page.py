"""All groups of a queue, with what the checker found and what was decided."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from formalimg.authoring import ReviewDesk
from formalimg.web.pages import page
from formalimg.web.reviewing.wanted import FOUND, STATES, field_of, wanted_in
from formalimg.web.reviewing.words import DECIDED, counted, findings_of


def queue_page(desk: ReviewDesk, request: Request) -> Response:
    """The list of groups."""
    wanted = wanted_in(request)
    lines = desk.lines()
    shown = [line for line in lines if wanted.has(line)]
    undecided = next((line.group.id for line in lines if not line.decision), None)
    return page(
        "review.html",
        queue=desk.path.name,
        wanted=wanted,
        rows=[
            {
                "line": line,
                "field": field_of(line),
                "findings": findings_of(line),
                "decided": DECIDED[line.decision],
                "address": wanted.address("/group", id=line.group.id),
            }
            for line in shown
        ],
        total=len(lines),
        counts=counted(lines),
        share=100 * sum(bool(line.decision) for line in lines) // len(lines),
        undecided=None if undecided is None else wanted._replace(decision="").address("/group", id=undecided),
        fields=sorted({field_of(line) for line in lines}),
        states=STATES,
        found=FOUND,
    )
