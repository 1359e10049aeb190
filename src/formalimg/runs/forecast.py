"""What a run would do, before it does anything: how many images and questions, and about what they cost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.judges import Judge
from formalimg.models import ImageRequest, Matches, Usage, price
from formalimg.runs.files import refuse_strange
from formalimg.runs.manifest import CARD_FILE, read_card, require_same
from formalimg.runs.plan import plan_images
from formalimg.runs.reading import MadeBefore, open_run
from formalimg.runs.running import RunConfig, card_of, wanted_of
from formalimg.suites import Item

_QUESTION = Usage(input_tokens=2_000, output_tokens=400)
"""What a question about an image takes, roughly: the image, our words, and an answer with its reasons."""


@dataclass(frozen=True)
class RunEstimate:
    """What a run would do.

    Attributes:
        images: how many images would be made.
        verdicts: how many images would be judged.
        questions: how many questions the judge would ask of a chat model for that.
        image_cost: about what the images would cost, in US dollars; None if the price is not known.
        judge_cost: the same for judging.
        first: what would be sent for the first image.
    """

    images: int
    verdicts: int
    questions: int
    image_cost: float | None
    judge_cost: float | None
    first: str


def estimate(order: RunConfig, folder: Path, judge: Judge | None) -> RunEstimate:
    """What `execute` would do with the same arguments. Nothing is called, made or written.

    Raises:
        FormalimgError: as `execute` would, if the folder holds another run.
    """
    chosen = order.selection.of(order.items)
    if isinstance(order.model, Matches):
        order.model.match(wanted_of(chosen, order.samples))
    items = list(chosen.values())
    images = plan_images(items, order.asking, samples=order.samples, seed=order.seed)
    there = _there(order, folder, judge)
    to_make = [it for it in images if there.made.get((it.item.id, it.sample), MadeBefore("", "")).key != it.key]
    unseen = {(it.item.id, it.sample) for it in to_make}
    made = [it for it in images if (it.item.id, it.sample) not in unseen]
    looks = {(it.question, there.made[it.item.id, it.sample].sha256): it for it in made}
    to_judge = [*to_make, *(it for look, it in looks.items() if look not in there.scored)] if judge else []
    asked: Callable[[Item[object]], int] = getattr(judge, "questions", lambda item: 0)
    questions = sum(asked(it.item) for it in to_judge)
    one = price(order.model.name).cost(_QUESTION if order.task == "layout" else Usage(images=1))
    a_question = price(judge.name).cost(_QUESTION) if judge and questions else 0.0
    request = order.asking.request(images[0].item, 0, images[0].seed)
    sent: Callable[[ImageRequest], str] = getattr(order.model, "sent", lambda request: request.prompt)
    return RunEstimate(
        len(to_make),
        len(to_judge),
        questions,
        None if one is None else one * len(to_make),
        None if a_question is None else a_question * questions,
        sent(request),
    )


class _There(NamedTuple):
    made: Mapping[tuple[str, int], MadeBefore]
    scored: Set[tuple[str, str]]


def _there(order: RunConfig, folder: Path, judge: Judge | None) -> _There:
    """What the folder holds already: images, and what this judge has said of them."""
    if not (folder / CARD_FILE).exists():
        refuse_strange(folder)
        return _There({}, frozenset())
    require_same(card_of(order), read_card(folder), folder)
    with contextlib.closing(open_run(folder)) as run:
        return _There(run.made(), run.scored(judge) if judge else frozenset())
