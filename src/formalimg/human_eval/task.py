"""What a rater is shown, and how far raters are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.human_eval.steps import Step
from formalimg.human_eval.values import Value


@dataclass(frozen=True)
class Task:
    """An image that a rater is asked about. It tells nothing of the model, and not whether it is a check.

    Attributes:
        id: a random token.
        image: the random token that the image is called by.
        words: what the image should show.
        steps: what is asked, as far as it may be seen by now.
        answers: what the rater has said so far, by the name of the step; the last answer to each.
        is_complete: all steps have an answer, and the task can be finished.
        number, of: which it is of the rater's tasks, from 1.
        grounded: what was found in the image, in the grounding format, where boxes are to be corrected; None
            elsewhere, and if nothing could be found.
    """

    id: str
    image: str
    words: str
    steps: tuple[Step, ...]
    answers: Mapping[str, Value]
    is_complete: bool
    number: int
    of: int
    grounded: Mapping[str, object] | None = None


class RaterProgress(NamedTuple):
    """How far a rater is.

    Attributes:
        rater: the pseudonym.
        finished: how many tasks are finished.
        of: how many there are.
        seconds: how long all answers took together.
        last: when the rater last answered, in UTC; empty if never.
    """

    rater: str
    finished: int
    of: int
    seconds: float
    last: str
