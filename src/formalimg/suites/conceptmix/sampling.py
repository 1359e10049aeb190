"""Which numbers of concepts go together: how many objects there may be, and how many concepts of each category then."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import NamedTuple, get_args

from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.pools import Pools, Profile
from formalimg.suites.conceptmix.spec import CATEGORIES, Category, Concept

OTHERS: tuple[Category, ...] = tuple(category for category in CATEGORIES if category != "object")
"""The categories beside the objects, which are drawn with equal chances."""


class ImpossibleDrawError(FormalimgError, ValueError):
    """So many concepts cannot be drawn from these pools within the rules."""


class Rules(NamedTuple):
    """What a draw must keep to; ConceptMix, section 2.3, step 1.

    Attributes:
        k: how many concepts there are beside the first object.
        pool: how many objects there are to choose from; none is drawn twice.
        profile: the paper allows one style, and spatial concepts without limit; its published code allows as many
            concepts of a category as there are objects, in every category.
        only: the category that all concepts but objects come from, at least one of them; None for any.
    """

    k: int
    pool: int
    profile: Profile
    only: Category | None

    def limits(self, objects: int) -> tuple[int, ...]:
        """How many concepts of each of the others there may be, beside so many objects."""
        return tuple(self._limit(category, objects) for category in OTHERS)

    def _limit(self, category: Category, objects: int) -> int:
        if self.only not in (None, category):
            return 0
        if self.profile == "paper" and category == "spatial":
            return self.k
        return 1 if self.profile == "paper" and category == "style" else objects

    def others(self, objects: int) -> int:
        """How many concepts are to be drawn from the other categories, beside so many objects."""
        return self.k + 1 - objects

    def numbers_of_objects(self) -> tuple[int, ...]:
        """All numbers of objects that some draw has.

        Raises:
            ImpossibleDrawError: if there is none.
        """
        most = min(self.pool, self.k if self.only not in (None, "object") else self.k + 1)
        numbers = tuple(n for n in range(1, most + 1) if self.others(n) <= sum(self.limits(n)))
        if not numbers:
            raise ImpossibleDrawError(self._why_impossible(most))
        return numbers

    def _why_impossible(self, most: int) -> str:
        what = f"k = {self.k}" if self.only is None else f"k = {self.k} with {self.only} only"
        if most == 0:
            return f"{what} cannot be drawn: it leaves no place for a concept beside the object; take k = 1 or more"
        left, limits = self.others(most), dict(zip(OTHERS, self.limits(most), strict=True))
        if self.only == "object":
            why = f"there are {self.pool} objects for {self.k + 1} places"
        else:
            room = " and ".join(f"{limits[category]} of {category}" for category in OTHERS if limits[category])
            why = f"beside {most} objects, which are all, {left} places are left for at most {room}"
        # The more objects, the more of everything, so that the most is reached with all of them.
        return f"{what} cannot be drawn: {why}; take k = {most + sum(limits.values()) - 1} or less, or add objects"


def rules_of(k: int, pools: Pools, profile: Profile, only: Category | None) -> Rules:
    """The rules for drawing from these pools.

    Raises:
        FormalimgError: if there are no such rules, or a pool is empty.
    """
    if k < 0:
        raise FormalimgError(f"k is the number of concepts beside the first object, which cannot be {k}: take 1 to 7")
    if profile not in get_args(Profile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(Profile))}")
    if only is not None and only not in CATEGORIES:
        raise FormalimgError(f"unknown category {only!r}: known are {', '.join(CATEGORIES)}")
    empty = [category for category in CATEGORIES if not pools[category].values]
    if empty:
        raise FormalimgError(f"there is no concept of the category {empty[0]}: add one to its pool")
    return Rules(k, len(pools["object"].values), profile, only)


def choices(places: int, limits: tuple[int, ...]) -> range:
    """How often the first category may stand in so many places, such that the others can fill the rest."""
    return range(max(0, places - sum(limits[1:])), min(places, limits[0]) + 1)


@lru_cache(maxsize=2**16)
def orders(places: int, limits: tuple[int, ...]) -> int:
    """In how many ways categories fill places, each category as often as its limit at most."""
    if not limits:
        return 1 if places == 0 else 0
    return sum(comb(places, often) * orders(places - often, limits[1:]) for often in choices(places, limits))


def object_weight(k: int, objects: int) -> int:
    """How likely a number of objects is: each of the k concepts is an object with a chance of 1/4; times 4 ** k."""
    return comb(k, objects - 1) * int(3 ** (k + 1 - objects))


def category_law(
    k: int, pools: Pools, category: Category, *, profile: Profile = "paper", only: Category | None = None
) -> Mapping[int, Fraction]:
    """How likely it is that `draw_concepts` gives so many concepts of a category.

    Such as 9/16, 6/16 and 1/16 for 1, 2 and 3 objects with k = 2.

    Returns:
        The chances that are not 0, by number of concepts; they add up to 1.

    Raises:
        ImpossibleDrawError: if nothing can be drawn.
    """
    rules = rules_of(k, pools, profile, only)
    numbers = rules.numbers_of_objects()
    total = sum(object_weight(k, objects) for objects in numbers)
    law: dict[int, Fraction] = {}
    for objects in numbers:
        weight = Fraction(object_weight(k, objects), total)
        if category == "object":
            law[objects] = weight
            continue
        places, limits = rules.others(objects), rules.limits(objects)
        place = OTHERS.index(category)
        limits = (limits[place], *limits[:place], *limits[place + 1 :])
        for often in choices(places, limits):
            ways = comb(places, often) * orders(places - often, limits[1:])
            law[often] = law.get(often, Fraction(0)) + weight * Fraction(ways, orders(places, limits))
    return dict(sorted(law.items()))


def mean_redraws(k: int, pools: Pools, *, profile: Profile = "paper") -> Fraction:
    """How often categories would be drawn again on average, if one drew until all rules are kept.

    It leaves out the draws that would never end: those with too few objects for any other concepts.

    Raises:
        ImpossibleDrawError: if nothing can be drawn.
    """
    rules = rules_of(k, pools, profile, None)
    numbers = rules.numbers_of_objects()
    total = sum(object_weight(k, objects) for objects in numbers)
    return sum(
        (
            Fraction(object_weight(k, objects) * len(OTHERS) ** places, total * orders(places, rules.limits(objects)))
            for objects in numbers
            for places in [rules.others(objects)]
        ),
        start=Fraction(-1),
    )


__all__ = ["ImpossibleDrawError", "draw_concepts"]


def draw_concepts(
    k: int, pools: Pools, chance: random.Random, *, profile: Profile = "paper", only: Category | None = None
) -> tuple[Concept, ...]:
    """Draw an object and k more concepts.

    Each of the k is an object with a chance of 1/4, and comes from one of the seven other categories otherwise. These
    are drawn within the rules: at most one style, and of no category but spatial more concepts than there are objects.
    Where some number of objects admits no draw at all, the others share its chance in proportion to their own.

    Args:
        k: how many concepts there are beside the first object; any number will do.
        pools: what there is to draw from.
        chance: where all chance comes from; the same state gives the same concepts.
        profile: `official-code` keeps to the rules of the published code instead: of no category, spatial and style
            alike, more concepts than objects.
        only: all concepts that are not objects come from this category, and at least one does; with `object`, all are
            objects.

    Returns:
        The objects, which all differ; then the other concepts in the order drawn, with the spatial ones last.

    Raises:
        ImpossibleDrawError: if the rules leave nothing to draw.
    """
    rules = rules_of(k, pools, profile, only)
    objects = _draw(_numbers_of_objects(rules), chance)
    categories = _draw_categories(rules.others(objects), _limits(rules, objects), chance)
    # A stable sort: what is not spatial stays in the order drawn.
    categories.sort(key=lambda category: category == "spatial")
    items = chance.sample(pools["object"].values, objects)
    return (
        *(Concept("object", item) for item in items),
        *(Concept(category, chance.choice(pools[category].values)) for category in categories),
    )


def _draw_categories(places: int, limits: tuple[int, ...], chance: random.Random) -> list[Category]:
    """As many categories as there are places, all orders within the limits being equally likely."""
    drawn: list[Category] = []
    for number, category in enumerate(OTHERS):
        if len(drawn) == places:
            break
        often = _draw(_frequencies(places - len(drawn), limits[number:]), chance)
        drawn += [category] * often
    chance.shuffle(drawn)
    return drawn


Wheel = tuple[range | tuple[int, ...], list[int]]
"""Numbers to draw from, and their weights added up."""


@lru_cache(maxsize=1024)
def _numbers_of_objects(rules: Rules) -> Wheel:
    numbers = rules.numbers_of_objects()
    return numbers, list(accumulate(object_weight(rules.k, objects) for objects in numbers))


# Kept, like the wheels, because thousands are drawn by the same rules.
_limits = lru_cache(maxsize=2**14)(Rules.limits)


@lru_cache(maxsize=2**14)
def _frequencies(places: int, limits: tuple[int, ...]) -> Wheel:
    """How often the first category occurs, weighted by the orders that have it so often."""
    numbers = choices(places, limits)
    return numbers, list(accumulate(comb(places, often) * orders(places - often, limits[1:]) for often in numbers))


def _draw(wheel: Wheel, chance: random.Random) -> int:
    numbers, sums = wheel
    return numbers[0] if len(numbers) == 1 else numbers[bisect(sums, chance.randrange(sums[-1]))]
