"""Assignment of images to raters: selection, order, pairing and attention checks."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.human_eval.attention_checks import find_unrelated_item, ready_made_check, usual_checks
from formalimg.human_eval.protocol import RatingProtocol
from formalimg.types import Item

T = TypeVar("T", bound=Hashable)


class Candidate(NamedTuple):
    """An image available for rating: run, item, sample and level."""

    run: str
    item: str
    sample: int
    level: int


RunItems: TypeAlias = Mapping[tuple[str, str], Item[object]]  # Items by run and id


class PlannedTask(NamedTuple):
    """An image to be rated against the prompt of an item, which is a different item for attention checks."""

    rater: int
    image: Candidate
    words: Item[object]
    is_check: bool
    other: Candidate | None = None


class TaskPlan(NamedTuple):
    """The ordered tasks of each rater, and the smallest number of attention checks of any rater."""

    tasks: list[list[PlannedTask]]
    checks: int


def choose_images(
    candidates: Sequence[Candidate],
    per_level: int | None,
    rng: random.Random,
    preferred: Collection[Candidate] = frozenset(),
) -> list[Candidate]:
    """Choose the images of a study by level and run, and at random within them.

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
            images = [image for image in candidates if image.level == level and image.run == run]
            if per_level is not None and len(images) < per_level:
                raise FormalimgError(
                    f"{run} has {len(images)} images of level {level}, not {per_level}: take fewer per level, or all"
                )
            images.sort(key=lambda image: (image not in preferred, image.sample, rank[image.item]))
            images = images[:per_level]
            rng.shuffle(images)
            chosen += images
    return chosen


def assign_images(images: Sequence[T], raters: int, per_image: int, rng: random.Random) -> tuple[tuple[T, ...], ...]:
    """Assign images to raters.

    Each image goes to the raters with the fewest images so far, with ties broken at random. So shares differ by at most
    one, in any stretch of the list by at most two, and all pairs of raters share images.
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


def plan_images(
    units: Sequence[tuple[Candidate, ...]],
    images: Collection[Candidate],
    items: RunItems,
    raters: int,
    per_image: int,
    checks: float | None,
    protocol: RatingProtocol,
    rng: random.Random,
) -> TaskPlan:
    """Plan the tasks of each rater, with attention checks that may show any image of `images`."""
    chosen = sorted(image for unit in units for image in unit)
    shares = [[image for unit in share for image in unit] for share in assign_images(units, raters, per_image, rng)]
    target = _count_checks(max(map(len, shares)), checks, protocol)
    prompts = list({image.item: items[image.run, image.item] for image in chosen}.values())
    tasks = []
    for rater, share in enumerate(shares, 1):
        planned = [PlannedTask(rater, image, items[image.run, image.item], False) for image in share]
        pairs = _find_checks(share, images, items, prompts, target, protocol, rng)
        planned += [PlannedTask(rater, image, words, True) for image, words in pairs.items()]
        rng.shuffle(planned)
        tasks.append(_put_ratings_first(planned))
    return _require_checks(tasks, target, checks)


def _find_checks(
    share: Sequence[Candidate],
    images: Collection[Candidate],
    items: RunItems,
    prompts: Sequence[Item[object]],
    target: int,
    protocol: RatingProtocol,
    rng: random.Random,
) -> dict[Candidate, Item[object]]:
    """Select images for attention checks, each with a mismatched prompt, preferring images the rater does not rate."""
    checks: dict[Candidate, Item[object]] = {}
    if not target:
        return checks
    spare, repeated = sorted({*images} - {*share}), sorted(share)
    rng.shuffle(spare)
    rng.shuffle(repeated)
    for image in [*spare, *repeated]:
        words = find_unrelated_item(items[image.run, image.item], prompts, protocol, rng)
        if words is not None:
            checks[image] = words
            if len(checks) == target:
                return checks
    for image in [*spare, *repeated] if protocol == "likert" else ():
        if image not in checks and len(checks) < target:
            used = {item.id for item in checks.values()}
            words = ready_made_check(items[image.run, image.item], used, rng)
            if words is not None:
                checks[image] = words
    return checks


def _put_ratings_first(tasks: list[PlannedTask]) -> list[PlannedTask]:
    """Reorder the tasks so that an image is rated before it is shown again in an attention check."""
    positions = {task.image: number for number, task in enumerate(tasks) if not task.is_check}
    for number, task in enumerate(tasks):
        position = positions.get(task.image, -1)
        if task.is_check and position > number:
            tasks[number], tasks[position] = tasks[position], tasks[number]
            positions[task.image] = number
    return tasks


def plan_pairs(
    chosen: Sequence[Candidate], items: RunItems, raters: int, per_pair: int, checks: float | None, rng: random.Random
) -> TaskPlan:
    """Plan the tasks of an A/B study: all pairs of images of the same item and sample, with the sides randomised."""
    by_item: dict[tuple[str, int], list[Candidate]] = {}
    for image in chosen:
        by_item.setdefault((image.item, image.sample), []).append(image)
    pairs = [pair for images in by_item.values() for pair in combinations(sorted(images), 2)]
    runs = sorted({image.run for image in chosen})
    if len(runs) < 2:
        raise FormalimgError("an A/B study compares two runs or more: name another run of the same suite")
    pool = [image for pair in pairs for image in pair]
    alone = next((run for run in runs if run not in {image.run for image in pool}), None)
    if alone is not None:
        raise FormalimgError(f"{alone} has no image of an item that another run has too: name runs of the same items")
    target = _count_checks(-(-len(pairs) * per_pair // raters), checks, "ab")

    def plan(rater: int, pair: tuple[Candidate, Candidate], words: Item[object], *, is_check: bool) -> PlannedTask:
        left, right = pair if rng.random() < 0.5 else pair[::-1]
        return PlannedTask(rater, left, words, is_check, right)

    tasks = []
    for rater, share in enumerate(assign_images(pairs, raters, per_pair, rng), 1):
        planned = [plan(rater, pair, items[pair[0].run, pair[0].item], is_check=False) for pair in share]
        order = list(share)
        rng.shuffle(order)
        count = 0
        for image, _ in order:
            if count == target:
                break
            words = items[image.run, image.item]
            foreign = [
                candidate
                for candidate in rng.sample(pool, min(len(pool), 50))
                if find_unrelated_item(items[candidate.run, candidate.item], [words], "ab", rng) is not None
            ]
            if foreign:
                planned.append(plan(rater, (image, foreign[0]), words, is_check=True))
                count += 1
        rng.shuffle(planned)
        tasks.append(planned)
    return _require_checks(tasks, target, checks)


def checks_per_rater(images: int, share: float) -> int:
    """Return the number of attention checks that, added to `images` ratings, make up the given share of all tasks."""
    if not 0 <= share <= 0.5:  # also refuses NaN
        raise FormalimgError(f"a share of {share:g} attention checks is out of range: take 0 to 0.5, such as 0.05")
    return math.ceil(images * share / (1 - share) - 1e-9)


def _count_checks(images: int, checks: float | None, protocol: RatingProtocol) -> int:
    return usual_checks(images, protocol) if checks is None else checks_per_rater(images, checks)


def _require_checks(tasks: list[list[PlannedTask]], target: int, checks: float | None) -> TaskPlan:
    fewest = min(sum(task.is_check for task in share) for share in tasks)
    if fewest < target and checks is not None:
        raise FormalimgError(
            f"{target} attention check{'s' * (target > 1)} must have as many images beside prompts that certainly do "
            f"not match, and there are {fewest}: ask for fewer checks, or leave the option out"
        )
    return TaskPlan(tasks, fewest)
