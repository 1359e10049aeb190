"""What people say yes or no to: images, and questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

MAJORITY, JUDGE = "majority", "judge"
"""What the majority of people and the judge are called among the raters."""


class Case(NamedTuple):
    """What people vote on.

    Attributes:
        run: the run, by the name of its folder.
        item: the item.
        sample: which of the item's images.
        question: the number of the question about it, from 1; None for the image as a whole.
    """

    run: str
    item: str
    sample: int
    question: int | None

    @property
    def belongs_to(self) -> str:
        """The item. What is said about its images, whichever model made them, is not independent."""
        return self.item


class About(NamedTuple):
    """The level of a case's item, and what sort of question it is; empty for whole images."""

    level: int
    kind: str = ""


Answers: TypeAlias = Mapping[Case, bool | None]
"""Yes, no or none, by case."""


class CaseSaid(NamedTuple):
    """What people and the judge say to one case.

    Attributes:
        run, item, sample, question: which case it is; see `Case`.
        level, kind: what it is about; see `About`.
        yes, votes: how many people say yes, of how many.
        people: what they say together; None if that is open.
        judge: what the judge says; None if it says nothing.
    """

    run: str
    item: str
    sample: int
    question: int | None
    level: int
    kind: str
    yes: int
    votes: int
    people: bool | None
    judge: bool | None


def said_to_each(
    raters: Mapping[str, Answers], people: Answers, judge: Answers, about: Mapping[Case, About]
) -> tuple[CaseSaid, ...]:
    """What people and the judge say, case by case, in the order of runs, items, samples and questions."""
    found = []
    for case in sorted(people, key=lambda case: (*case[:3], case.question or 0)):
        votes = [vote for said in raters.values() if (vote := said.get(case)) is not None]
        found.append(CaseSaid(*case, *about[case], sum(votes), len(votes), people[case], judge[case]))
    return tuple(found)


def in_order(names: Iterable[str]) -> list[str]:
    """Names sorted so that rater-2 comes before rater-10; each once."""
    return sorted(set(names), key=lambda name: ([_part(it) for it in re.split(r"([0-9]+)", name)], name))


def _part(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)
