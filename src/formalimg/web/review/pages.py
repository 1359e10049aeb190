"""Pages of the review: the filtered queue, and one group with its prompts, laws, questions and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.authoring import BRANCHES, DISCIPLINES, ReviewDesk, ReviewLine, WrittenGroup
from formalimg.errors import FormalimgError
from formalimg.suites import WeightedQuestion
from formalimg.web.rendering import page
from formalimg.web.viewer.urls import build_url, require_value

DECISION_TEXTS: Mapping[str, str] = {
    "accept": "accepted",
    "edit": "accepted as edited",
    "reject": "rejected",
    "": "undecided",
}
"""The state of a group, by its decision."""


class LevelQuestions(NamedTuple):
    """The questions about images of some levels.

    Attributes:
        title: which levels.
        level: as in the queue: 1, or 2 for 2 and 3 together.
        questions: the questions as plain data.
    """

    title: str
    level: str
    questions: list[dict[str, object]]


def checker_findings(line: ReviewLine) -> list[str]:
    """Return the findings of the checker; a file edited by hand may hold anything there."""
    given = line.problems
    return [str(each) for each in given] if isinstance(given, list) else [str(given)] * bool(given)


def questions_by_level(line: ReviewLine) -> list[LevelQuestions]:
    """Return the weighted questions of a group; none if those in the file cannot score an image."""
    try:
        items = {item.level: item.spec.questions for item in WrittenGroup(line.group, line.questions()).items()}
    except FormalimgError:
        return []
    return [
        LevelQuestions("of factual images", "1", _plain(items[1])),
        LevelQuestions("of explicit and implicit images", "2", _plain(items[2])),
    ]


def decision_counts(lines: Sequence[ReviewLine]) -> str:
    """Summarize the number of groups by decision."""
    found: Counter[str] = Counter(line.decision for line in lines)
    return ", ".join(f"{found[decision]:,} {words}" for decision, words in DECISION_TEXTS.items() if found[decision])


def _plain(questions: Sequence[WeightedQuestion]) -> list[dict[str, object]]:
    return [{**asdict(question), "weight": f"{question.weight:g}"} for question in questions]


UNDECIDED = "undecided"
STATES = (UNDECIDED, *filter(None, DECISION_TEXTS))
FOUND = ("some", "none")


class GroupFilter(NamedTuple):
    """A filter of groups; empty fields match everything.

    Attributes:
        decision: undecided, accept, edit or reject.
        findings: some for groups with findings of the checker, none for the others.
        field: the branch, or the discipline where there is none.
        text: a text that occurs somewhere in the group.
    """

    decision: str
    findings: str
    field: str
    text: str

    def matches(self, line: ReviewLine) -> bool:
        """Return whether the group passes the filter."""
        return (
            self.decision in ("", line.decision or UNDECIDED)
            and self.findings in ("", "some" if checker_findings(line) else "none")
            and self.field in ("", field_of(line))
            and self.text.lower() in "\n".join((*asdict(line.group).values(), line.note)).lower()
        )

    def url(self, path: str, **more: object) -> str:
        """Return the URL of another page with the same filter."""
        return build_url(path, **more, **self._asdict())


def parse_group_filter(request: Request) -> GroupFilter:
    """Parse the filter of a request.

    Raises:
        HTTPException: if a value is invalid.
    """
    query = request.query_params
    group_filter = GroupFilter(*(query.get(name, "").strip() for name in GroupFilter._fields))
    if group_filter.decision not in ("", *STATES) or group_filter.findings not in ("", *FOUND):
        raise HTTPException(400, f"decision is one of {', '.join(STATES)}, and findings one of {', '.join(FOUND)}")
    return group_filter


def field_of(line: ReviewLine) -> str:
    """Return the field of knowledge of a group."""
    return line.group.branch or line.group.discipline


def queue_page(desk: ReviewDesk, request: Request) -> Response:
    """Return the list of groups."""
    group_filter = parse_group_filter(request)
    lines = desk.lines()
    shown = [line for line in lines if group_filter.matches(line)]
    undecided = next((line.group.id for line in lines if not line.decision), None)
    return page(
        "review.html",
        queue=desk.path.name,
        group_filter=group_filter,
        rows=[
            {
                "line": line,
                "field": field_of(line),
                "findings": checker_findings(line),
                "decided": DECISION_TEXTS[line.decision],
                "url": group_filter.url("/group", id=line.group.id),
            }
            for line in shown
        ],
        total=len(lines),
        counts=decision_counts(lines),
        share=100 * sum(bool(line.decision) for line in lines) // len(lines),
        undecided=None if undecided is None else group_filter._replace(decision="").url("/group", id=undecided),
        fields=sorted({field_of(line) for line in lines}),
        states=STATES,
        found=FOUND,
    )


def group_page(desk: ReviewDesk, request: Request) -> Response:
    """Return the page of the group that the URL names."""
    group_filter, name = parse_group_filter(request), require_value(request.query_params, "id")
    lines = desk.lines()
    place = next((place for place, line in enumerate(lines) if line.group.id == name), None)
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
        findings=checker_findings(line),
        level_questions=questions_by_level(line),
        disciplines=_with(DISCIPLINES, line.group.discipline),
        branches=_with(BRANCHES, line.group.branch),
        before=_nearest(lines[:place][::-1], group_filter),
        after=_nearest(lines[place + 1 :], group_filter),
    )


def _nearest(lines: Sequence[ReviewLine], group_filter: GroupFilter) -> str | None:
    """Return the URL of the next group that passes the filter; the current one may no longer do so."""
    return next((group_filter.url("/group", id=line.group.id) for line in lines if group_filter.matches(line)), None)


def _with(known: Sequence[str], own: str) -> list[str]:
    return [*known, *([own] if own not in known else [])]
