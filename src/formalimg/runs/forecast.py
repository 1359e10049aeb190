"""What a run would do, before it does anything: how many pictures and questions, and about what they cost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from formalimg.judges import Judge
from formalimg.models import Usage, price
from formalimg.runs.card import CARD_FILE
from formalimg.runs.plan import plan_pictures
from formalimg.runs.reading import open_run
from formalimg.runs.running import Order
from formalimg.suites import Item

_QUESTION = Usage(input_tokens=2_000, output_tokens=400)
"""What a question about a picture takes, roughly: the picture, our words, and an answer with its reasons."""


@dataclass(frozen=True)
class Forecast:
    """What a run would do.

    Attributes:
        pictures: how many pictures would be made.
        verdicts: how many pictures would be judged.
        questions: how many questions the judge would ask of a chat model for that.
        picture_cost: about what the pictures would cost, in US dollars; None if the price is not known.
        judge_cost: the same for judging.
        first: what would be sent for the first picture.
    """

    pictures: int
    verdicts: int
    questions: int
    picture_cost: float | None
    judge_cost: float | None
    first: str


def foresee(order: Order, folder: Path, judge: Judge | None) -> Forecast:
    """What `carry_out` would do with the same arguments. Nothing is called, made or written."""
    items = list(order.selection.of(order.items).values())
    pictures = plan_pictures(items, order.asking, samples=order.samples, seed=order.seed)
    done = _done(folder)
    to_make = [planned for planned in pictures if (planned.item.id, planned.sample) not in done]
    to_judge = [planned for planned in pictures if not done.get((planned.item.id, planned.sample))] if judge else []
    asked: Callable[[Item[object]], int] = getattr(judge, "questions", lambda item: 0)
    questions = sum(asked(planned.item) for planned in to_judge)
    a_picture = price(order.model.name).cost(Usage(images=1))
    a_question = price(judge.name).cost(_QUESTION) if judge and questions else 0.0
    first = order.asking.request(pictures[0].item, 0, pictures[0].seed).prompt
    return Forecast(
        len(to_make),
        len(to_judge),
        questions,
        None if a_picture is None else a_picture * len(to_make),
        None if a_question is None else a_question * questions,
        first,
    )


def _done(folder: Path) -> dict[tuple[str, int], bool]:
    """The pictures that are there already, and whether each has a verdict."""
    if not (folder / CARD_FILE).exists():
        return {}
    with contextlib.closing(open_run(folder)) as run:
        return {
            (outcome.item, outcome.sample): outcome.passed is not None
            for outcome in run.outcomes()
            if outcome.passed is not None or outcome.reason == "not judged"
        }
