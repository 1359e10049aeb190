"""Sampling of ConceptMix concepts (section 2.3): drawing and binding k concepts, and counting combinations.

All orders of categories that obey the rules are equally likely. They are counted in advance, so no draw is rejected.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import NamedTuple, get_args

from formalimg.benchmarks.conceptmix.pools import PoolProfile, Pools
from formalimg.benchmarks.conceptmix.spec import (
    ATTRIBUTES,
    CATEGORIES,
    Binding,
    BindingError,
    BoundObject,
    Category,
    Concept,
    SpatialRelation,
    last_style,
)
from formalimg.errors import FormalimgError

OTHER_CATEGORIES: tuple[Category, ...] = tuple(category for category in CATEGORIES if category != "object")
"""The categories besides objects, which are drawn with equal probability."""

_MAX_COUNTED_LEVEL = 50  # beyond it counting takes long, and there are nearly always more items than requested


class InfeasibleDrawError(FormalimgError, ValueError):
    """Raised if the rules do not allow k concepts to be drawn from the pools."""


class SamplingRules(NamedTuple):
    """Rules for drawing concepts (ConceptMix, section 2.3, step 1)."""

    k: int  # how many concepts there are beside the first object
    pool: int  # how many objects there are to choose from; none is drawn twice
    # the paper allows one style, and spatial concepts without limit; its published code allows as many concepts of a
    # category as there are objects, in every category
    profile: PoolProfile
    only: Category | None  # the category that all concepts but objects come from, at least one of them; None for any

    def limits(self, objects: int) -> tuple[int, ...]:
        """Return the maximum number of concepts in each non-object category, given the number of objects."""
        special = {"spatial": self.k, "style": 1} if self.profile == "paper" else {}
        return tuple(
            special.get(category, objects) if self.only in (None, category) else 0 for category in OTHER_CATEGORIES
        )

    def places(self, objects: int) -> int:
        """Return the number of concepts from non-object categories, given the number of objects."""
        return self.k + 1 - objects

    def object_counts(self) -> tuple[int, ...]:
        """Return all feasible numbers of objects."""
        maximum = min(self.pool, self.k if self.only not in (None, "object") else self.k + 1)
        numbers = tuple(n for n in range(1, maximum + 1) if self.places(n) <= sum(self.limits(n)))
        if not numbers:
            raise InfeasibleDrawError(self._why_impossible(maximum))
        return numbers

    def object_weights(self) -> dict[int, int]:
        """Return the binomial weight of each number of objects, times 4 ** k, with object probability 1/4."""
        return {n: comb(self.k, n - 1) * int(3 ** self.places(n)) for n in self.object_counts()}

    def _why_impossible(self, maximum: int) -> str:
        request = f"k = {self.k}" if self.only is None else f"k = {self.k} with {self.only} only"
        if maximum == 0:
            return f"{request} cannot be drawn: it leaves no place for a concept beside the object; take k = 1 or more"
        limits = dict(zip(OTHER_CATEGORIES, self.limits(maximum), strict=True))
        if self.only == "object":
            reason = f"there are {self.pool} objects for {self.k + 1} places"
        else:
            room = " and ".join(f"{limit} of {category}" for category, limit in limits.items() if limit)
            reason = (
                f"beside {maximum} objects, which are all, {self.places(maximum)} places are left for at most {room}"
            )
        # The more objects, the more of everything, so that the most is reached with all of them.
        largest = maximum + sum(limits.values()) - 1
        return f"{request} cannot be drawn: {reason}; take k = {largest} or less, or add objects"


def sampling_rules(k: int, pools: Pools, profile: PoolProfile, only: Category | None) -> SamplingRules:
    """Return the rules for drawing from these pools."""
    if k < 0:
        raise FormalimgError(f"k is the number of concepts beside the first object, which cannot be {k}: take 1 to 7")
    if profile not in get_args(PoolProfile):
        raise FormalimgError(f"unknown profile {profile!r}: choose from {', '.join(get_args(PoolProfile))}")
    if only is not None and only not in CATEGORIES:
        raise FormalimgError(f"unknown category {only!r}: choose from {', '.join(CATEGORIES)}")
    empty = [category for category in CATEGORIES if not pools[category].values]
    if empty:
        raise FormalimgError(f"there is no concept of the category {empty[0]}: add one to its pool")
    return SamplingRules(k, len(pools["object"].values), profile, only)


@lru_cache(maxsize=2**14)
def _count_ways(places: int, limits: tuple[int, ...]) -> Mapping[int, int]:
    """Map each count of the first category to the number of category orders that have it."""
    counts = range(max(0, places - sum(limits[1:])), min(places, limits[0]) + 1)
    return {count: comb(places, count) * _count_orders(places - count, limits[1:]) for count in counts}


@lru_cache(maxsize=2**16)
def _count_orders(places: int, limits: tuple[int, ...]) -> int:
    """Return the number of ways to fill `places` with categories within their limits."""
    return sum(_count_ways(places, limits).values()) if limits else int(places == 0)


def category_distribution(
    k: int, pools: Pools, category: Category, *, profile: PoolProfile = "paper", only: Category | None = None
) -> Mapping[int, Fraction]:
    """Return the probability distribution of the number of concepts of a category in `draw_concepts`.

    For example, 9/16, 6/16 and 1/16 for 1, 2 and 3 objects with k = 2. Numbers with probability 0 are omitted.
    """
    rules = sampling_rules(k, pools, profile, only)
    weights = rules.object_weights()
    law: dict[int, Fraction] = {}
    for objects, weight in weights.items():
        chance = Fraction(weight, sum(weights.values()))
        if category == "object":
            law[objects] = chance
            continue
        places, limits = rules.places(objects), rules.limits(objects)
        index = OTHER_CATEGORIES.index(category)
        ways = _count_ways(places, (limits[index], *limits[:index], *limits[index + 1 :]))
        for count, orders in ways.items():
            law[count] = law.get(count, Fraction(0)) + chance * Fraction(orders, sum(ways.values()))
    return dict(sorted(law.items()))


def draw_concepts(
    k: int, pools: Pools, rng: random.Random, *, profile: PoolProfile = "paper", only: Category | None = None
) -> tuple[Concept, ...]:
    """Draw an object and k more concepts, each an object with a chance of 1/4, within the rules of the profile.

    If a number of objects admits no draw at all, its probability is distributed proportionally among the others.
    """
    rules = sampling_rules(k, pools, profile, only)
    objects = _draw_number(rules.object_weights(), rng)
    places, limits = rules.places(objects), rules.limits(objects)
    categories: list[Category] = []
    for index, category in enumerate(OTHER_CATEGORIES):  # all orders within the limits are equally likely
        if len(categories) == places:
            break
        categories += [category] * _draw_number(_count_ways(places - len(categories), limits[index:]), rng)
    rng.shuffle(categories)
    # A stable sort: what is not spatial stays in the order drawn.
    categories.sort(key=lambda category: category == "spatial")
    items = rng.sample(pools["object"].values, objects)
    return (
        *(Concept("object", item) for item in items),
        *(Concept(category, rng.choice(pools[category].values)) for category in categories),
    )


def _draw_number(weights: Mapping[int, int], rng: random.Random) -> int:
    numbers = list(weights)
    if len(numbers) == 1:
        return numbers[0]
    sums = list(accumulate(weights.values()))
    return numbers[bisect(sums, rng.randrange(sums[-1]))]


def bind_attributes(concepts: Sequence[Concept], pools: Pools, rng: random.Random) -> Binding:
    """Bind each attribute to a random object without an attribute of that category (section 2.3, step 2)."""
    items = [concept.value for concept in concepts if concept.category == "object"]
    if not items:
        raise BindingError("there is no object among the concepts: draw at least one")
    attributes: list[dict[str, str]] = [{} for _ in items]
    for category, value in concepts:
        if category in ATTRIBUTES:
            free = [values for values in attributes if category not in values]
            if not free:
                raise BindingError(f"no object is left for the {category} {value!r}: all {len(items)} have one already")
            rng.choice(free)[category] = value
    sentence = pools["spatial"].sentence
    return Binding(
        tuple(map(BoundObject, items, attributes)),
        last_style(concepts),
        tuple(
            SpatialRelation(value, sentence(value).replace("{value}", value))
            for category, value in concepts
            if category == "spatial"
        ),
    )


def count_combinations(k: int, pools: Pools, *, profile: PoolProfile = "paper", only: Category | None = None) -> int:
    """Return the number of different multisets of concepts that `draw_concepts` can return."""
    return _count_choices(
        k, pools, profile, only, lambda category, values, objects, count: comb(values + count - 1, count)
    )


def count_bindings(k: int, pools: Pools, *, profile: PoolProfile = "paper", only: Category | None = None) -> int:
    """Return the number of different bindings that `bind_attributes` can return; order does not count."""
    return _count_choices(k, pools, profile, only, _ways_to_bind)


def max_items(k: int, pools: Pools, *, profile: PoolProfile = "paper", only: Category | None = None) -> int:
    """Return an upper bound on the number of different items, counting those that are rejected as conflicts.

    Each relation is between two of the sampled objects, or between one of them and an added reference object.
    """
    from formalimg.benchmarks.conceptmix.plausibility import reference_objects  # here: counting alone does without

    plain = len(reference_objects())

    def ways(category: Category, values: int, objects: int, count: int) -> int:
        if category in ATTRIBUTES:
            return _ways_to_bind(category, values, objects, count)
        pairs = objects * (objects - 1) + 2 * objects * plain if category == "spatial" else 1
        return comb(values * pairs + count - 1, count)

    return _count_choices(k, pools, profile, only, ways)


def require_enough(level: int, per_level: int, pools: Pools, profile: PoolProfile, only: Category | None) -> None:
    """Raise an error if fewer distinct items exist than requested."""
    if level > _MAX_COUNTED_LEVEL:
        return
    maximum = max_items(level, pools, profile=profile, only=only)
    if maximum < per_level:
        raise FormalimgError(
            f"there are at most {maximum:,} different items with k={level}, fewer than {per_level:,}: "
            "ask for fewer with --per-level, or give more concepts"
        )


def _ways_to_bind(category: Category, values: int, objects: int, count: int) -> int:
    if category in ATTRIBUTES:
        return comb(objects, count) * int(values**count)
    if category == "style":
        return values if count else 1  # of several, which only the published code draws, the last one stays
    return comb(values + count - 1, count)


def _count_choices(
    k: int, pools: Pools, profile: PoolProfile, only: Category | None, ways: Callable[[Category, int, int, int], int]
) -> int:
    """Sum the number of choices over all object counts and all counts per category.

    `ways(category, values, objects, count)` is the number of ways for a category to occur `count` times.
    """
    rules = sampling_rules(k, pools, profile, only)
    total = 0
    for objects in rules.object_counts():
        places = rules.places(objects)
        # For each number of places: the ways to fill them with the categories so far.
        totals = [1] + [0] * places
        for category, limit in zip(OTHER_CATEGORIES, rules.limits(objects), strict=True):
            values = len(pools[category].values)
            added = [ways(category, values, objects, count) for count in range(min(limit, places) + 1)]
            totals = [
                sum(added[count] * totals[filled - count] for count in range(min(filled + 1, len(added))))
                for filled in range(places + 1)
            ]
        total += comb(rules.pool, objects) * totals[places]
    return total
