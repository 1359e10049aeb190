"""Instructions for raters: the task, examples of what counts in this suite, and practice with feedback; from data."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from formalimg.human_eval.protocol import AnswerValue, RatingProtocol, rating_rules

ShapeName = Literal["circle", "square", "triangle", "star"]


class DrawnShape(NamedTuple):
    """A shape of a drawn example, on a canvas of 100 by 75: its middle, its size and its colour."""

    shape: ShapeName
    color: str
    x: float
    y: float
    size: float

    @property
    def points(self) -> str:
        """The corners of a triangle, a square or a star, as in the attribute of an SVG polygon."""
        half = self.size / 2
        if self.shape == "square":
            corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
        else:
            count = 3 if self.shape == "triangle" else 10
            radii = [half * (1 if self.shape == "triangle" or not number % 2 else 0.45) for number in range(count)]
            angles = [2 * math.pi * number / count - math.pi / 2 for number in range(count)]
            corners = [(r * math.cos(at), r * math.sin(at)) for r, at in zip(radii, angles, strict=True)]
        return " ".join(f"{self.x + dx:.1f},{self.y + dy:.1f}" for dx, dy in corners)


@dataclass(frozen=True)
class CountingExample:
    """An example of what counts: words, a picture, whether it does what the words say, and why."""

    words: str
    picture: tuple[DrawnShape, ...]
    holds: bool
    why: str


@dataclass(frozen=True)
class PracticeItem:
    """A picture to practise on."""

    words: str  # the prompt
    picture: tuple[DrawnShape, ...]  # the picture; the left one, where two are compared
    beside: tuple[DrawnShape, ...]  # the right one; empty for a single picture
    choices: tuple[tuple[AnswerValue, str], ...]  # the possible answers, with their labels
    right: tuple[AnswerValue, ...]  # the answers that are right; others are explained
    why: str  # the explanation that is shown after the answer


@dataclass(frozen=True)
class RaterInstructions:
    """What raters read before their first image."""

    task: str
    rules: tuple[str, ...]
    examples: tuple[CountingExample, ...]
    practice: tuple[PracticeItem, ...]


_CHOICES: dict[RatingProtocol, tuple[tuple[AnswerValue, str], ...]] = {
    "likert": tuple((point, str(point)) for point in range(1, 6)),
    "questions": ((True, "Yes"), (False, "No")),
    "scores": tuple((score, f"{score:g}") for score in (0.0, 0.25, 0.5, 0.75, 1.0)),
    "ab": (("left", "Left"), ("tie", "Tie"), ("right", "Right")),
    "boxes": (),
}


@cache
def instructions_for(protocol: RatingProtocol, suite_name: str) -> RaterInstructions:
    """Return the instructions of a protocol, with examples of what counts in the suite."""
    own = _table()["protocols"][protocol]
    return RaterInstructions(
        own["task"],
        tuple(own["rules"]),
        tuple(
            CountingExample(it["words"], _picture(it["picture"]), it["holds"], it["why"])
            for it in rating_rules(suite_name).examples()
        ),
        tuple(
            PracticeItem(
                it["words"],
                _picture(it["picture"]),
                _picture(it.get("beside", ())),
                _CHOICES[protocol],
                tuple(it["right"]),
                it["why"],
            )
            for it in own.get("practice", ())
        ),
    )


def _picture(shapes: Sequence[Sequence[Any]]) -> tuple[DrawnShape, ...]:
    return tuple(DrawnShape(*shape) for shape in shapes)


def written_examples(about: str) -> Sequence[Mapping[str, Any]]:
    """Return the examples of `instructions.toml` of what counts, for formulas, concepts, questions and so on."""
    examples: Sequence[Mapping[str, Any]] = _table()["kinds"][about]
    return examples


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("formalimg.human_eval") / "instructions.toml").read_text(encoding="utf-8"))
