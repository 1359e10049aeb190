"""How the lines of a queue are put into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

from formalimg.authoring import ReviewLine, WrittenGroup
from formalimg.errors import FormalimgError
from formalimg.suites import WeightedQuestion

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
