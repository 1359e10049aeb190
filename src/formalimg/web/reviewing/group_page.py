"""One group: its prompts side by side, laws, questions and findings, to be decided about or mended."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.authoring import BRANCHES, DISCIPLINES, ReviewDesk, ReviewLine
from formalimg.web.asking import named
from formalimg.web.pages import page
from formalimg.web.reviewing.wanted import WantedGroups, wanted_in
from formalimg.web.reviewing.words import DECIDED, asked_in, counted, findings_of


def group_page(desk: ReviewDesk, request: Request) -> Response:
    """The page of one group, which the address names."""
    wanted, name = wanted_in(request), named(request.query_params, "id")
    lines = desk.lines()
    place = next((place for place, line in enumerate(lines) if line.group.id == name), None)
    if place is None:
        raise HTTPException(404, f"there is no group {name[:80]!r} in this queue")
    line = lines[place]
    return page(
        "review_group.html",
        queue=desk.path.name,
        wanted=wanted,
        line=line,
        group=line.group,
        place=place + 1,
        total=len(lines),
        counts=counted(lines),
        decided=DECIDED[line.decision],
        findings=findings_of(line),
        asked=asked_in(line),
        disciplines=_with(DISCIPLINES, line.group.discipline),
        branches=_with(BRANCHES, line.group.branch),
        before=_nearest(lines[:place][::-1], wanted),
        after=_nearest(lines[place + 1 :], wanted),
    )


def _nearest(lines: Sequence[ReviewLine], wanted: WantedGroups) -> str | None:
    """The address of the next wanted group; the one it is looked for from may be decided by now, and not wanted."""
    return next((wanted.address("/group", id=line.group.id) for line in lines if wanted.has(line)), None)


def _with(known: Sequence[str], own: str) -> list[str]:
    return [*known, *([own] if own not in known else [])]
