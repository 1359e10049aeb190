"""Drawing the concepts of an item; ConceptMix, section 2.3, step 1."""

from __future__ import annotations

import random
from bisect import bisect
from functools import lru_cache
from itertools import accumulate
from math import comb

from formalimg.suites.conceptmix.drawing_rules import OTHERS, ImpossibleDrawError, Rules, rules_of
from formalimg.suites.conceptmix.law import choices, object_weight, orders
from formalimg.suites.conceptmix.pools import Pools, Profile
from formalimg.suites.conceptmix.spec import Category, Concept

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
