"""Which concepts images show, as far as the verdicts say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.reporting.figures import counted
from formalimg.reporting.reading import SeenImage, SeenRun
from formalimg.stats import Missing
from formalimg.suites import ConceptSpec


class Answer(NamedTuple):
    """A concept that was asked for, and its score, 0 to 1, in an image; None if nobody can tell."""

    category: str
    value: str
    score: float | None

    @property
    def shown(self) -> bool | None:
        """Does the image show it?"""
        return None if self.score is None else self.score >= 1


class MarkedImage(NamedTuple):
    """An image with the answers about it.

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
    """A run with the answers about all its images."""

    name: str
    images: tuple[MarkedImage, ...]


def has_answers(run: SeenRun) -> bool:
    """Do the verdicts say which concepts are shown? Some judges only say whether an image passes."""
    verdicts = [image for image in run.images if image.passed is not None]
    return not verdicts or any(image.parts or image.by_rule for image in verdicts)


def marked(run: SeenRun, missing: Missing) -> MarkedRun:
    """The answers about all images of a run.

    Raises:
        FormalimgError: if `missing` is `error`, and a verdict does not say which concepts are shown.
    """
    incomplete = any(not image.parts for image in run.images)
    asked = _asked(run) if incomplete else {}
    images = tuple(_marked(image, asked) for image in run.images)
    silent = sum(not image.is_answered for image in images)
    if missing == "error" and silent:
        raise FormalimgError(
            f"the verdicts on {counted(silent, 'image')} of {run.name} do not say which concepts are shown: "
            "judge them again, or choose --missing exclude or --missing fail"
        )
    return MarkedRun(run.name, images)


def _marked(image: SeenImage, asked: Mapping[str, tuple[Answer, ...]]) -> MarkedImage:
    if image.parts:
        answers = tuple(Answer(part.kind, " ".join(part.about) or part.name, part.score) for part in image.parts)
    else:
        # An image that passes shows all there is to show, and one that fails by rule shows nothing; of any other that
        # fails, nobody knows what it lacks.
        score = 1.0 if image.passed else 0.0 if image.by_rule else None
        answers = tuple(answer._replace(score=score) for answer in asked[image.item])
    return MarkedImage(image.item, image.level, image.passed, answers)


def _asked(run: SeenRun) -> dict[str, tuple[Answer, ...]]:
    found: dict[str, tuple[Answer, ...]] = {}
    for item in run.record.suite_items():
        if not isinstance(item.spec, ConceptSpec):
            raise FormalimgError(
                f"item {item.id} of {run.name} asks for no concepts: use the version that made the run"
            )
        found[item.id] = tuple(Answer(concept.category, concept.value, None) for concept in item.spec.concepts)
    return found
