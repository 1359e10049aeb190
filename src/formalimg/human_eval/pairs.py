"""Pairs of images for A/B studies: two runs beside one prompt, on random sides, and attention checks among them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.assignment import Candidate, assign_images
from formalimg.human_eval.attention_checks import unrelated_item
from formalimg.human_eval.database import PlannedTask
from formalimg.human_eval.protocol import PREFERENCES
from formalimg.human_eval.records import RatedTask
from formalimg.types import Item

ImagePair: TypeAlias = tuple[Candidate, Candidate]
"""Two images of one item and sample, of different runs."""


def image_pairs(chosen: Sequence[Candidate]) -> list[ImagePair]:
    """Return all pairs of images of the same item and sample, in the order of the images."""
    by_item: dict[tuple[str, int], list[Candidate]] = {}
    for image in chosen:
        by_item.setdefault((image.item, image.sample), []).append(image)
    pairs = [pair for own in by_item.values() for pair in combinations(sorted(own), 2)]
    runs = sorted({image.run for image in chosen})
    if len(runs) < 2:
        raise FormalimgError("an A/B study compares two runs or more: name another run of the same suite")
    alone = next((run for run in runs if not any(run in (one.run, other.run) for one, other in pairs)), None)
    if alone is not None:
        raise FormalimgError(f"{alone} has no image of an item that another run has too: name runs of the same items")
    return pairs


def plan_pairs(
    pairs: Sequence[ImagePair],
    items: Mapping[tuple[str, str], Item[object]],
    raters: int,
    per_pair: int,
    checks: int,
    rng: random.Random,
) -> tuple[list[list[PlannedTask]], int]:
    """Assign pairs to raters and return the tasks of each in their order, and how many of them are checks.

    Each rater has every run on either side equally often, as far as chance allows; sides are blind.
    """
    shares = assign_images(pairs, raters, per_pair, rng)
    found: list[list[PlannedTask]] = []
    fewest = checks
    for rater, share in enumerate(shares, 1):
        tasks = [_task(rater, one, other, items[one.run, one.item], rng) for one, other in share]
        own = _checks(rater, share, pairs, items, checks, rng)
        fewest = min(fewest, len(own))
        tasks += own
        rng.shuffle(tasks)
        found.append(tasks)
    return found, fewest


def _task(
    rater: int, one: Candidate, other: Candidate, words: Item[object], rng: random.Random, *, is_check: bool = False
) -> PlannedTask:
    left, right = (one, other) if rng.random() < 0.5 else (other, one)
    return PlannedTask(rater, left, words, is_check, right)


def _checks(
    rater: int,
    share: Sequence[ImagePair],
    pairs: Sequence[ImagePair],
    items: Mapping[tuple[str, str], Item[object]],
    wanted: int,
    rng: random.Random,
) -> list[PlannedTask]:
    """Return pairs of an image of an item and one of another item that cannot show what is asked for."""
    asked = list(share)
    rng.shuffle(asked)
    pool = [image for pair in pairs for image in pair]
    found: list[PlannedTask] = []
    for one, _ in asked:
        if len(found) == wanted:
            break
        words = items[one.run, one.item]
        foreign = [
            image
            for image in rng.sample(pool, min(len(pool), 50))
            if unrelated_item(items[image.run, image.item], [words], "ab", rng) is not None
        ]
        if foreign:
            found.append(_task(rater, one, foreign[0], words, rng, is_check=True))
    return found


def preferred_run(task: RatedTask) -> str | None:
    """Return the run whose image a rater prefers; empty for a tie, None if the rater cannot tell."""
    value = task.answers["preference"].value
    if value == CANNOT_TELL or task.other is None:
        return None
    assert value in PREFERENCES  # nothing else is ever stored
    return {"left": task.run, "right": task.other.run, "tie": ""}[str(value)]


def passed_pair_check(task: RatedTask) -> bool:
    """Return whether a rater preferred the image of the item over that of another one."""
    right = "left" if task.item == task.words_of else "right"
    return task.answers["preference"].value == right
