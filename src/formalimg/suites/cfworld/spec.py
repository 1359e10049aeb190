"""What items of CF-World ask for: an image of a group's scene, judged by weighted questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Level: TypeAlias = Literal[1, 2, 3]
"""1 factual, 2 explicit counterfactual (the outcome is told), 3 implicit counterfactual (it has to be deduced)."""

Dimension: TypeAlias = Literal["integrity", "assessment", "logic", "adherence"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
"""What a question is about: the image as such, the point that decides, the rest of the scene, or the words."""

WEIGHTS: dict[Dimension, float] = {"integrity": 3, "assessment": 15, "logic": 8, "adherence": 2}
"""What questions of each dimension count."""

PASS_MARK = 0.5
"""Images of this score and above pass, whatever opens a gate."""


@dataclass(frozen=True)
class WeightedQuestion:
    """A question about an image, to be answered with a score from 0 to 1.

    Attributes:
        dimension: what it is about.
        question: the question.
        criteria: which score is for what.
        weight: how much it counts.
    """

    dimension: Dimension
    question: str
    criteria: str
    weight: float


@dataclass(frozen=True)
class CounterfactualSpec:
    """What an item of CF-World, or of one of its probes, asks for.

    Attributes:
        group: the group it belongs to: its three levels, or the variants of a rule or of a pair.
        assessment: what decides, in one sentence; empty for published data that have none.
        questions: the questions of all dimensions; none for published prompts that have none, which nobody can score.
    """

    group: str
    assessment: str
    questions: tuple[WeightedQuestion, ...]
