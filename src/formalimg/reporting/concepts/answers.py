"""Which concepts pictures show, as far as the verdicts say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.reporting.figures import counted
from formalimg.reporting.reading import SeenPicture, SeenRun
from formalimg.stats import Missing
from formalimg.suites import ConceptSpec


class Answer(NamedTuple):
    """A concept that was asked for, and its score, 0 to 1, in a picture; None if nobody can tell."""

    category: str
    value: str
    score: float | None

    @property
    def shown(self) -> bool | None:
        """Does the picture show it?"""
        return None if self.score is None else self.score >= 1


class MarkedPicture(NamedTuple):
    """A picture with the answers about it.

    Attributes:
        item: the item's id.
        level: the item's level.
        passed: the verdict; None if unscored.
        answers: one for each concept asked for, objects first.
    """

    item: str
    level: int
    passed: bool | None
    answers: tuple[Answer, ...]

    @property
    def is_answered(self) -> bool:
        """Is it known which concepts are shown?"""
        return bool(self.answers) and all(answer.score is not None for answer in self.answers)

    @property
    def one_more(self) -> Answer | None:
        """At k = 1 the concept besides the first object: the one that is no object, or else the second object."""
        others = [answer for answer in self.answers if answer.category != "object"]
        return next(iter(others or self.answers[1:]), None)


class MarkedRun(NamedTuple):
    """A run with the answers about all its pictures."""

    name: str
    pictures: tuple[MarkedPicture, ...]


def has_answers(run: SeenRun) -> bool:
    """Do the verdicts say which concepts are shown? Some judges only say whether a picture passes."""
    verdicts = [picture for picture in run.pictures if picture.passed is not None]
    return not verdicts or any(picture.parts or picture.by_rule for picture in verdicts)


def marked(run: SeenRun, missing: Missing) -> MarkedRun:
    """The answers about all pictures of a run.

    Raises:
        FormalimgError: if `missing` is `error`, and a verdict does not say which concepts are shown.
    """
    incomplete = any(not picture.parts for picture in run.pictures)
    asked = _asked(run) if incomplete else {}
    pictures = tuple(_marked(picture, asked) for picture in run.pictures)
    silent = sum(not picture.is_answered for picture in pictures)
    if missing == "error" and silent:
        raise FormalimgError(
            f"the verdicts on {counted(silent, 'picture')} of {run.name} do not say which concepts are shown: "
            "judge them again, or choose --missing exclude or --missing fail"
        )
    return MarkedRun(run.name, pictures)


def _marked(picture: SeenPicture, asked: Mapping[str, tuple[Answer, ...]]) -> MarkedPicture:
    if picture.parts:
        answers = tuple(Answer(part.kind, " ".join(part.about) or part.name, part.score) for part in picture.parts)
    else:
        # A picture that passes shows all there is to show, and one that fails by rule shows nothing; of any other that
        # fails, nobody knows what it lacks.
        score = 1.0 if picture.passed else 0.0 if picture.by_rule else None
        answers = tuple(answer._replace(score=score) for answer in asked[picture.item])
    return MarkedPicture(picture.item, picture.level, picture.passed, answers)


def _asked(run: SeenRun) -> dict[str, tuple[Answer, ...]]:
    found: dict[str, tuple[Answer, ...]] = {}
    for item in run.record.suite_items():
        if not isinstance(item.spec, ConceptSpec):
            raise FormalimgError(
                f"item {item.id} of {run.name} asks for no concepts: use the version that made the run"
            )
        found[item.id] = tuple(Answer(concept.category, concept.value, None) for concept in item.spec.concepts)
    return found
