"""Sampling law of ConceptMix (section 2.3, step 1): how k concepts are drawn, and the exact distribution.

Drawing categories, and again while a rule is broken, makes all orders of categories that keep the rules equally likely.
Their number can be counted, so no draw has to be rejected, however rare the valid ones are.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import NamedTuple, get_args

from formalimg.benchmarks.conceptmix.pools import PoolProfile, Pools
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category, Concept
from formalimg.errors import FormalimgError

OTHER_CATEGORIES: tuple[Category, ...] = tuple(category for category in CATEGORIES if category != "object")
"""The categories besides objects, which are drawn with equal probability."""


class InfeasibleDrawError(FormalimgError, ValueError):
    """The rules leave no way to draw so many concepts from these pools."""


class SamplingRules(NamedTuple):
    """Rules of a draw; ConceptMix, section 2.3, step 1."""

    k: int  # how many concepts there are beside the first object
    pool: int  # how many objects there are to choose from; none is drawn twice
    # the paper allows one style, and spatial concepts without limit; its published code allows as many concepts of a
    # category as there are objects, in every category
    profile: PoolProfile
    only: Category | None  # the category that all concepts but objects come from, at least one of them; None for any

    def limits(self, objects: int) -> tuple[int, ...]:
        """Return the maximum number of concepts per other category, given the number of objects."""
        return tuple(self._limit(category, objects) for category in OTHER_CATEGORIES)

    def _limit(self, category: Category, objects: int) -> int:
        if self.only not in (None, category):
            return 0
        if self.profile == "paper" and category == "spatial":
            return self.k
        return 1 if self.profile == "paper" and category == "style" else objects

    def others(self, objects: int) -> int:
        """Return how many concepts come from the other categories, given the number of objects."""
        return self.k + 1 - objects

    def object_counts(self) -> tuple[int, ...]:
        """Return all numbers of objects that some draw has."""
        most = min(self.pool, self.k if self.only not in (None, "object") else self.k + 1)
        numbers = tuple(n for n in range(1, most + 1) if self.others(n) <= sum(self.limits(n)))
        if not numbers:
            raise InfeasibleDrawError(self._why_impossible(most))
        return numbers

    def _why_impossible(self, most: int) -> str:
        what = f"k = {self.k}" if self.only is None else f"k = {self.k} with {self.only} only"
        if most == 0:
            return f"{what} cannot be drawn: it leaves no place for a concept beside the object; take k = 1 or more"
        left, limits = self.others(most), dict(zip(OTHER_CATEGORIES, self.limits(most), strict=True))
        if self.only == "object":
            why = f"there are {self.pool} objects for {self.k + 1} places"
        else:
            room = " and ".join(
                f"{limits[category]} of {category}" for category in OTHER_CATEGORIES if limits[category]
            )
            why = f"beside {most} objects, which are all, {left} places are left for at most {room}"
        # The more objects, the more of everything, so that the most is reached with all of them.
        return f"{what} cannot be drawn: {why}; take k = {most + sum(limits.values()) - 1} or less, or add objects"


def sampling_rules(k: int, pools: Pools, profile: PoolProfile, only: Category | None) -> SamplingRules:
    """Return the rules for drawing from these pools."""
    if k < 0:
        raise FormalimgError(f"k is the number of concepts beside the first object, which cannot be {k}: take 1 to 7")
    if profile not in get_args(PoolProfile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(PoolProfile))}")
    if only is not None and only not in CATEGORIES:
        raise FormalimgError(f"unknown category {only!r}: known are {', '.join(CATEGORIES)}")
    empty = [category for category in CATEGORIES if not pools[category].values]
    if empty:
        raise FormalimgError(f"there is no concept of the category {empty[0]}: add one to its pool")
    return SamplingRules(k, len(pools["object"].values), profile, only)


def feasible_counts(places: int, limits: tuple[int, ...]) -> range:
    """Return how often the first category may occur in so many places, such that the others can fill the rest."""
    return range(max(0, places - sum(limits[1:])), min(places, limits[0]) + 1)


@lru_cache(maxsize=2**16)
def count_orders(places: int, limits: tuple[int, ...]) -> int:
    """Return the number of ways to fill places with categories within their limits."""
    if not limits:
        return 1 if places == 0 else 0
    return sum(
        comb(places, often) * count_orders(places - often, limits[1:]) for often in feasible_counts(places, limits)
    )


def object_weight(k: int, objects: int) -> int:
    """Return the weight of a number of objects; each of the k concepts is one with probability 1/4 (times 4 ** k)."""
    return comb(k, objects - 1) * int(3 ** (k + 1 - objects))


def category_distribution(
    k: int, pools: Pools, category: Category, *, profile: PoolProfile = "paper", only: Category | None = None
) -> Mapping[int, Fraction]:
    """Return the probability distribution of the number of concepts of a category in `draw_concepts`.

    Such as 9/16, 6/16 and 1/16 for 1, 2 and 3 objects with k = 2.

    Returns:
        The chances that are not 0, by number of concepts; they add up to 1.

    Raises:
        InfeasibleDrawError: if nothing can be drawn.
    """
    rules = sampling_rules(k, pools, profile, only)
    numbers = rules.object_counts()
    total = sum(object_weight(k, objects) for objects in numbers)
    law: dict[int, Fraction] = {}
    for objects in numbers:
        weight = Fraction(object_weight(k, objects), total)
        if category == "object":
            law[objects] = weight
            continue
        places, limits = rules.others(objects), rules.limits(objects)
        place = OTHER_CATEGORIES.index(category)
        limits = (limits[place], *limits[:place], *limits[place + 1 :])
        for often in feasible_counts(places, limits):
            ways = comb(places, often) * count_orders(places - often, limits[1:])
            law[often] = law.get(often, Fraction(0)) + weight * Fraction(ways, count_orders(places, limits))
    return dict(sorted(law.items()))


def expected_redraws(k: int, pools: Pools, *, profile: PoolProfile = "paper") -> Fraction:
    """Return the expected number of rejected draws if one drew until all rules were kept.

    It leaves out the draws that would never end: those with too few objects for any other concepts.
    """
    rules = sampling_rules(k, pools, profile, None)
    numbers = rules.object_counts()
    total = sum(object_weight(k, objects) for objects in numbers)
    return sum(
        (
            Fraction(
                object_weight(k, objects) * len(OTHER_CATEGORIES) ** places,
                total * count_orders(places, rules.limits(objects)),
            )
            for objects in numbers
            for places in [rules.others(objects)]
        ),
        start=Fraction(-1),
    )


__all__ = ["InfeasibleDrawError", "draw_concepts"]


def draw_concepts(
    k: int, pools: Pools, rng: random.Random, *, profile: PoolProfile = "paper", only: Category | None = None
) -> tuple[Concept, ...]:
    """Draw an object and k more concepts.

    Each of the k is an object with a chance of 1/4, and comes from one of the seven other categories otherwise. These
    are drawn within the rules: at most one style, and of no category but spatial more concepts than there are objects.
    Where some number of objects admits no draw at all, the others share its chance in proportion to their own.
    """
    rules = sampling_rules(k, pools, profile, only)
    objects = _draw(_object_count_weights(rules), rng)
    categories = _draw_categories(rules.others(objects), _limits(rules, objects), rng)
    # A stable sort: what is not spatial stays in the order drawn.
    categories.sort(key=lambda category: category == "spatial")
    items = rng.sample(pools["object"].values, objects)
    return (
        *(Concept("object", item) for item in items),
        *(Concept(category, rng.choice(pools[category].values)) for category in categories),
    )


def _draw_categories(places: int, limits: tuple[int, ...], rng: random.Random) -> list[Category]:
    """Draw one category per place, all orders within the limits being equally likely."""
    drawn: list[Category] = []
    for number, category in enumerate(OTHER_CATEGORIES):
        if len(drawn) == places:
            break
        often = _draw(_category_count_weights(places - len(drawn), limits[number:]), rng)
        drawn += [category] * often
    rng.shuffle(drawn)
    return drawn


CumulativeWeights = tuple[range | tuple[int, ...], list[int]]
"""Numbers to draw from, and their cumulative weights."""


@lru_cache(maxsize=1024)
def _object_count_weights(rules: SamplingRules) -> CumulativeWeights:
    numbers = rules.object_counts()
    return numbers, list(accumulate(object_weight(rules.k, objects) for objects in numbers))


# Kept, like the wheels, because thousands are drawn by the same rules.
_limits = lru_cache(maxsize=2**14)(SamplingRules.limits)


@lru_cache(maxsize=2**14)
def _category_count_weights(places: int, limits: tuple[int, ...]) -> CumulativeWeights:
    """Return counts of the first category, weighted by the number of orders that have them."""
    numbers = feasible_counts(places, limits)
    return numbers, list(
        accumulate(comb(places, often) * count_orders(places - often, limits[1:]) for often in numbers)
    )


def _draw(wheel: CumulativeWeights, rng: random.Random) -> int:
    numbers, sums = wheel
    return numbers[0] if len(numbers) == 1 else numbers[bisect(sums, rng.randrange(sums[-1]))]
