"""One group: its prompts side by side, laws, questions and findings, to be decided about or mended."""

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
from formalimg.web.viewer.urls import address, named

DECIDED: Mapping[str, str] = {"accept": "accepted", "edit": "accepted as edited", "reject": "rejected", "": "undecided"}
"""What has become of a group, by its decision."""


class Asked(NamedTuple):
    """The questions about images of some levels.

    Attributes:
        title: which levels.
        level: as in the queue: 1, or 2 for 2 and 3 together.
        questions: the questions in plain data.
    """

    title: str
    level: str
    questions: list[dict[str, object]]


def findings_of(line: ReviewLine) -> list[str]:
    """What the checker found; a file that was written by hand may hold anything there."""
    given = line.problems
    return [str(each) for each in given] if isinstance(given, list) else [str(given)] * bool(given)


def asked_in(line: ReviewLine) -> list[Asked]:
    """The questions of a group with their weights; none if those in the file cannot score an image."""
    try:
        items = {item.level: item.spec.questions for item in WrittenGroup(line.group, line.questions()).items()}
    except FormalimgError:
        return []
    return [
        Asked("of factual images", "1", _plain(items[1])),
        Asked("of explicit and implicit images", "2", _plain(items[2])),
    ]


def counted(lines: Sequence[ReviewLine]) -> str:
    """How many groups there are, and what has become of them."""
    found: Counter[str] = Counter(line.decision for line in lines)
    return ", ".join(f"{found[decision]:,} {words}" for decision, words in DECIDED.items() if found[decision])


def _plain(questions: Sequence[WeightedQuestion]) -> list[dict[str, object]]:
    return [{**asdict(question), "weight": f"{question.weight:g}"} for question in questions]


UNDECIDED = "undecided"
STATES = (UNDECIDED, *filter(None, DECIDED))
FOUND = ("some", "none")


class WantedGroups(NamedTuple):
    """The groups to be shown; what is empty does not matter.

    Attributes:
        decision: undecided, accept, edit or reject.
        findings: some for those that the checker objects to, none for the others.
        field: the branch, or the discipline where there is none.
        text: words that stand somewhere in the group.
    """

    decision: str
    findings: str
    field: str
    text: str

    def has(self, line: ReviewLine) -> bool:
        """Is the group wanted?"""
        return (
            self.decision in ("", line.decision or UNDECIDED)
            and self.findings in ("", "some" if findings_of(line) else "none")
            and self.field in ("", field_of(line))
            and self.text.lower() in "\n".join((*asdict(line.group).values(), line.note)).lower()
        )

    def address(self, path: str, **more: object) -> str:
        """The address of another page on which the same groups are wanted."""
        return address(path, **more, **self._asdict())


def wanted_in(request: Request) -> WantedGroups:
    """What a request asks for.

    Raises:
        HTTPException: if it asks for something that there is not.
    """
    query = request.query_params
    wanted = WantedGroups(*(query.get(name, "").strip() for name in WantedGroups._fields))
    if wanted.decision not in ("", *STATES) or wanted.findings not in ("", *FOUND):
        raise HTTPException(400, f"decision is one of {', '.join(STATES)}, and findings one of {', '.join(FOUND)}")
    return wanted


def field_of(line: ReviewLine) -> str:
    """What field of knowledge a group is about."""
    return line.group.branch or line.group.discipline


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
