"""How likely each mixture of concepts is, exactly.

Drawing categories and drawing them again while a rule is broken makes all orders of categories that keep the rules
equally likely. How many of them there are can be counted, so nothing has to be drawn again, however rare they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb

from formalimg.suites.conceptmix.drawing_rules import OTHERS, rules_of
from formalimg.suites.conceptmix.pools import Pools, Profile
from formalimg.suites.conceptmix.spec import Category


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
