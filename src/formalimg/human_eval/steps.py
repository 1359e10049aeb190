"""What people are asked about an image, step by step, and in which order they may answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Protocol: TypeAlias = Literal["likert", "questions", "scores", "boxes"]
"""How people judge: by five points, by yes and no in two steps, by scores from 0 to 1, or by correcting boxes."""

StepKind: TypeAlias = Literal["likert", "yes or no", "score", "boxes"]
"""What an answer looks like: 1 to 5, true or false, 0 to 1, or a scene in the grounding format."""


@dataclass(frozen=True)
class Step:
    """One object that people are asked about an image.

    Attributes:
        name: by which its answers are known.
        kind: what an answer looks like.
        asks: the question.
        criteria: which answer is for what.
        question: the number of the item's question, from 1; None for the image as a whole.
        about: what sort of question it is, such as color or assessment; empty for the image as a whole.
        once: it is answered once and for all, and what comes after it is not shown before.
    """

    name: str
    kind: StepKind
    asks: str
    criteria: str = ""
    question: int | None = None
    about: str = ""
    once: bool = False


def shown_steps(steps: Sequence[Step], answered: Collection[str]) -> tuple[Step, ...]:
    """The steps that may be seen by now: up to the first that is answered once and has no answer yet."""
    for number, step in enumerate(steps, 1):
        if step.once and step.name not in answered:
            return tuple(steps[:number])
    return tuple(steps)


def refusal(steps: Sequence[Step], answered: Collection[str], name: str) -> str:
    """Why a step cannot be answered now; empty if it can."""
    shown = shown_steps(steps, answered)
    step = next((step for step in steps if step.name == name), None)
    if step is None:
        return f"there is no step {name!r}: answer one of {', '.join(step.name for step in shown)}"
    if step not in shown:
        return f"answer {shown[-1].name} first: {name} comes after it"
    if step.once and name in answered:
        return f"{name} is answered already, and there is no way back to it: go on with the next step"
    return ""


def open_steps(steps: Sequence[Step], answered: Collection[str]) -> list[str]:
    """The names of the steps that still have no answer."""
    return [step.name for step in steps if step.name not in answered]
