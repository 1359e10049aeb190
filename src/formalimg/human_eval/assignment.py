"""Assignment of images to raters: balanced shares, nothing twice, and the number of attention checks."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Hashable, Sequence
from typing import NamedTuple, TypeVar

from formalimg.errors import FormalimgError

T = TypeVar("T", bound=Hashable)


class Candidate(NamedTuple):
    """An image that can be rated: run, item, sample and level."""

    run: str
    item: str
    sample: int
    level: int


def choose_images(
    candidates: Sequence[Candidate],
    per_level: int | None,
    rng: random.Random,
    preferred: Collection[Candidate] = frozenset(),
) -> list[Candidate]:
    """Choose the images of a study, by level and run, in random order otherwise.

    With a number per level, every run contributes the same items as far as it has images of them, so that models are
    compared on the same prompts; further samples of an item are used only if there are no more items.
    """
    if per_level is not None and per_level < 1:
        raise FormalimgError(f"{per_level} images per level: take at least 1")
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
            taken = sorted(there, key=lambda it: (it not in preferred, it.sample, rank[it.item]))[:per_level]
            rng.shuffle(taken)
            chosen += taken
    return chosen


def assign_images(images: Sequence[T], raters: int, per_image: int, rng: random.Random) -> tuple[tuple[T, ...], ...]:
    """Assign images to raters.

    Each image goes to the raters with the fewest so far, at random among equals. So shares never differ by more than
    one, in any stretch of the list never by more than two, and all pairs of raters share images.
    """
    if per_image < 1:
        raise FormalimgError(f"{per_image} ratings per image: ask for at least 1")
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


def checks_per_rater(most: int, share: float) -> int:
    """Return how many attention checks make at least this share of all tasks, beside `most` images."""
    if not 0 <= share <= 0.5:  # also refuses NaN
        raise FormalimgError(f"a share of {share:g} attention checks is out of range: take 0 to 0.5, such as 0.05")
    return math.ceil(most * share / (1 - share) - 1e-9)
