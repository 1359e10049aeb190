"""Which rater looks at which image: as many ratings as wanted, fair shares, nothing twice."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

from formalimg.errors import FormalimgError
from formalimg.human_eval.protocol import Protocol, Step
from formalimg.logic import FormulaError, verify
from formalimg.scenes import Box, Scene, SceneObject
from formalimg.suites import PASS_MARK, ConceptSpec, CounterfactualSpec, FormulaSpec, Item

T = TypeVar("T", bound=Hashable)


class Candidate(NamedTuple):
    """An image that can be rated: its run, its item, which of the item's images it is, and the item's level."""

    run: str
    item: str
    sample: int
    level: int


def choose(candidates: Sequence[Candidate], per_level: int | None, rng: random.Random) -> list[Candidate]:
    """The images of a study, level by level and run by run, in random order otherwise.

    With a number per level, every run gives the same items as far as it has images of them, so that models are
    compared on the same words; further samples of an item are taken only if there are no more items.

    Args:
        candidates: what can be rated.
        per_level: so many images of each run and level; None for all.
        rng: where chance comes from.

    Raises:
        FormalimgError: if a run has fewer images of a level.
    """
    if per_level is not None and per_level < 1:
        raise FormalimgError(f"{per_level} images per level are none: take at least 1")
    items = sorted({candidate.item for candidate in candidates})
    rng.shuffle(items)
    rank = {item: number for number, item in enumerate(items)}
    levels = sorted({candidate.level for candidate in candidates})
    runs = sorted({candidate.run for candidate in candidates})
    chosen: list[Candidate] = []
    for level in levels:
        for run in runs:
            there = [it for it in candidates if it.level == level and it.run == run]
            if per_level is not None and len(there) < per_level:
                raise FormalimgError(
                    f"{run} has {len(there)} images of level {level}, not {per_level}: take fewer per level, or all"
                )
            taken = sorted(there, key=lambda it: (it.sample, rank[it.item]))[:per_level]
            rng.shuffle(taken)
            chosen += taken
    return chosen


def assign(images: Sequence[T], raters: int, per_image: int, rng: random.Random) -> tuple[tuple[T, ...], ...]:
    """The images that each rater looks at.

    Each image goes to those who have the fewest so far, by lot among equals. So shares never differ by more than one,
    in any stretch of the list never by more than two, and all pairs of raters meet.

    Args:
        images: the images, each once.
        raters: how many raters there are.
        per_image: how many of them look at each image.
        rng: where chance comes from.

    Raises:
        FormalimgError: if there are too few raters.
    """
    if per_image < 1:
        raise FormalimgError(f"{per_image} ratings per image are none: ask for at least 1")
    if raters < per_image:
        raise FormalimgError(
            f"{per_image} ratings per image need {per_image} raters, not {raters}: nobody rates an image twice"
        )
    shares: list[list[T]] = [[] for _ in range(raters)]
    for image in images:
        lots = list(range(raters))
        rng.shuffle(lots)
        for rater in sorted(lots, key=lambda rater: len(shares[rater]))[:per_image]:
            shares[rater].append(image)
    return tuple(map(tuple, shares))


_LITTLE = 2
"""Of five points: no more than this for an image of something else."""

_NOTHING_NAMED = Scene.of([SceneObject("other", Box(0, 0, 10, 10), "other", "other", "other", ("other",))], ())


def checks_per_rater(most: int, share: float) -> int:
    """How many checks make this share of all that a rater sees, beside so many images; never fewer.

    Raises:
        FormalimgError: if the share is none.
    """
    if not 0 <= share <= 0.5:  # also refuses what is no number
        raise FormalimgError(f"a share of {share:g} attention checks makes no sense: take 0 to 0.5, such as 0.05")
    return math.ceil(most * share / (1 - share) - 1e-9)


def other_words(
    shown: Item[object], others: Sequence[Item[object]], protocol: Protocol, rng: random.Random
) -> Item[object] | None:
    """An item that an image of the shown one surely does not fulfil; None if there is none."""
    for _ in range(min(len(others), 20)):  # nearly always the first or second will do
        found = rng.choice(others)
        if is_foreign(shown, found, protocol):
            return found
    foreign = [other for other in others if is_foreign(shown, other, protocol)]
    return rng.choice(foreign) if foreign else None


def is_foreign(shown: Item[object], asked: Item[object], protocol: Protocol) -> bool:
    """Is no to be said of an image of one item beside the words of another?

    They have no object in common; and the words ask for something that is there, not only for what is not. Groups of
    CF-World are of different fields, and scores need a question about the point that decides.
    """
    match shown.spec, asked.spec:
        case ConceptSpec() as one, ConceptSpec() as other:
            return bool(_objects(other)) and not _objects(one) & _objects(other)
        case CounterfactualSpec() as one, CounterfactualSpec() as other:
            decides = protocol != "scores" or any(it.dimension == "assessment" for it in other.questions)
            return decides and one.group != other.group and shown.tags != asked.tags
        case FormulaSpec() as one, FormulaSpec() as other:
            apart = not set(one.object_classes) & set(other.object_classes)
            return apart and bool(other.object_classes) and _asks_for_something(other)
    return False


def was_attentive(protocol: Protocol, steps: Sequence[Step], answers: Mapping[str, object]) -> bool:
    """Did somebody who finished a check see that the words are those of another image?

    That is: no more than 2 of 5 points; no to the image as a whole; or less than half for the point that decides.
    """
    if protocol == "scores":
        decisive = [answers[step.name] for step in steps if step.about == "assessment"]
        return fmean(given for given in decisive if isinstance(given, int | float)) < PASS_MARK
    first = answers[steps[0].name]
    return isinstance(first, int) and first <= _LITTLE if protocol == "likert" else first is False


def _objects(spec: ConceptSpec) -> set[str]:
    return {concept.value for concept in spec.concepts if concept.category == "object"}


def _asks_for_something(spec: FormulaSpec) -> bool:
    try:
        return not verify(spec.formula, _NOTHING_NAMED, style=spec.style).passed
    except FormulaError:
        return False
