"""Which rater looks at which image: as many ratings as wanted, fair shares, nothing twice."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

from formalimg.errors import FormalimgError

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
