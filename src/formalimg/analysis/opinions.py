"""What one judge says about the images of a run, in a form that can be laid beside what others say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.judges import Part, Verdict
from formalimg.runs import RunRecord


class ImageName(NamedTuple):
    """An image of a run: its item, and which of the item's images it is."""

    item: str
    sample: int


class Question(NamedTuple):
    """A question about an image, by its words; `again` tells questions of the same words apart, from 0."""

    words: str
    again: int


class Answer(NamedTuple):
    """What a judge says to a question: whether the image shows it, what sort of question it is, and why."""

    holds: bool
    kind: str
    reason: str


@dataclass(frozen=True)
class Opinion:
    """What a judge says about an image.

    Attributes:
        level: the level of the image's item.
        passed: whether it shows all that is asked for; None if unscored.
        score: how much of it; None if unscored.
        answers: what is said to each question; none if unscored.
        reason: why it is unscored; empty if it is not.
    """

    level: int
    passed: bool | None
    score: float | None
    answers: Mapping[Question, Answer]
    reason: str = ""


def opinions(run: RunRecord) -> dict[ImageName, Opinion]:
    """What the judge of a run says about each of its images, in the order of items and samples."""
    found = {}
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        parts = verdict.parts if isinstance(verdict, Verdict) else ()
        found[ImageName(outcome.item, outcome.sample)] = Opinion(
            outcome.level, outcome.passed, outcome.score, _answers(parts), outcome.reason
        )
    return found


def numbered(words: Iterable[str]) -> list[Question]:
    """The questions of these words; those of the same words are told apart."""
    seen = Counter[str]()
    found = []
    for each in words:
        found.append(Question(each, seen[each]))
        seen[each] += 1
    return found


def _answers(parts: Iterable[Part]) -> dict[Question, Answer]:
    asked = list(parts)
    return {
        question: Answer(part.score == 1, part.kind, part.reason)
        for question, part in zip(numbered(part.name for part in asked), asked, strict=True)
    }
