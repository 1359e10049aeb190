"""Which groups of a queue are looked at. It is all in the address, so that a reload shows the same."""

from __future__ import annotations

from dataclasses import asdict
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request

from formalimg.authoring import ReviewLine
from formalimg.web.asking import address
from formalimg.web.reviewing.words import DECIDED, findings_of

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
