"""Review pages: the filtered queue, and a group with its prompts, laws, questions and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.benchmarks.authoring.reviewing import ReviewDesk, ReviewedGroup
from formalimg.web.rendering import page
from formalimg.web.viewer.urls import build_url, require_value

DECISION_TEXTS: Mapping[str, str] = {
    "accept": "accepted",
    "edit": "accepted as edited",
    "reject": "rejected",
    "": "undecided",
}
"""The state of a group, by its decision."""


def decision_counts(lines: Sequence[ReviewedGroup]) -> str:
    """Summarize the number of groups by decision."""
    found: Counter[str] = Counter(line.decision for line in lines)
    return ", ".join(f"{found[decision]:,} {words}" for decision, words in DECISION_TEXTS.items() if found[decision])


UNDECIDED = "undecided"
STATES = (UNDECIDED, *filter(None, DECISION_TEXTS))
FOUND = ("some", "none")


class GroupFilter(NamedTuple):
    """A filter of groups; empty fields match everything."""

    decision: str  # undecided, accept, edit or reject
    findings: str  # some for groups with findings of the checker, none for the others
    field: str  # the branch, or the discipline where there is none
    text: str  # a text that occurs somewhere in the group

    def matches(self, line: ReviewedGroup) -> bool:
        """Return whether the group passes the filter."""
        return (
            self.decision in ("", line.decision or UNDECIDED)
            and self.findings in ("", "some" if line.findings else "none")
            and self.field in ("", line.field)
            and self.text.lower() in line.searched_text.lower()
        )

    def url(self, path: str, **more: object) -> str:
        """Return the URL of another page with the same filter."""
        return build_url(path, **more, **self._asdict())


def parse_group_filter(request: Request) -> GroupFilter:
    """Parse the filter of a request."""
    query = request.query_params
    group_filter = GroupFilter(*(query.get(name, "").strip() for name in GroupFilter._fields))
    if group_filter.decision not in ("", *STATES) or group_filter.findings not in ("", *FOUND):
        raise HTTPException(400, f"decision is one of {', '.join(STATES)}, and findings one of {', '.join(FOUND)}")
    return group_filter


def queue_page(desk: ReviewDesk, request: Request) -> Response:
    """Return the list of groups."""
    group_filter = parse_group_filter(request)
    lines = desk.lines()
    shown = [line for line in lines if group_filter.matches(line)]
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
                "decided": DECISION_TEXTS[line.decision],
                "url": group_filter.url("/group", id=line.id),
            }
            for line in shown
        ],
        total=len(lines),
        counts=decision_counts(lines),
        share=100 * sum(bool(line.decision) for line in lines) // len(lines),
        undecided=None if undecided is None else group_filter._replace(decision="").url("/group", id=undecided),
        fields=sorted({line.field for line in lines}),
        states=STATES,
        found=FOUND,
    )


def group_page(desk: ReviewDesk, request: Request) -> Response:
    """Return the page of the group in the URL."""
    group_filter, name = parse_group_filter(request), require_value(request.query_params, "id")
    lines = desk.lines()
    place = next((place for place, line in enumerate(lines) if line.id == name), None)
    if place is None:
        raise HTTPException(404, f"there is no group {name[:80]!r} in this queue")
    line = lines[place]
    return page(
        "review_group.html",
        queue=desk.path.name,
        group_filter=group_filter,
        line=line,
        group=line.group,
        place=place + 1,
        total=len(lines),
        counts=decision_counts(lines),
        decided=DECISION_TEXTS[line.decision],
        findings=line.findings,
        level_questions=line.level_questions(),
        disciplines=line.fields_on_offer["discipline"],
        branches=line.fields_on_offer["branch"],
        before=_nearest(lines[:place][::-1], group_filter),
        after=_nearest(lines[place + 1 :], group_filter),
    )


def _nearest(lines: Sequence[ReviewedGroup], group_filter: GroupFilter) -> str | None:
    """Return the URL of the first group that passes the filter, or None."""
    return next((group_filter.url("/group", id=line.id) for line in lines if group_filter.matches(line)), None)
