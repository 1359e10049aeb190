"""How many different things can be drawn, counted rather than listed."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from formalimg.suites.conceptmix.drawing_rules import OTHERS, rules_of
from formalimg.suites.conceptmix.pools import Pools, Profile
from formalimg.suites.conceptmix.spec import ATTRIBUTES, Category


def count_combinations(k: int, pools: Pools, *, profile: Profile = "paper", only: Category | None = None) -> int:
    """How many different sets of concepts `draw_concepts` can give.

    Their order does not count; how often each is there does, so red twice is not red once.

    Raises:
        ImpossibleDrawError: if it can give none.
    """
    return _count(k, pools, profile, only, lambda category, values, objects, often: comb(values + often - 1, often))


def count_bindings(k: int, pools: Pools, *, profile: Profile = "paper", only: Category | None = None) -> int:
    """How many different bindings `bind_attributes` can give, before anybody fills in who stands where to whom.

    A red cat with a blue dog is not a blue cat with a red dog. The order of objects and of relations does not count.

    Raises:
        ImpossibleDrawError: if it can give none.
    """
    return _count(k, pools, profile, only, _ways_to_bind)


def most_items(k: int, pools: Pools, *, profile: Profile = "paper", only: Category | None = None) -> int:
    """How many different items can be made of what `bind_attributes` gives, at most.

    Each relation goes to two of the objects, or to one of them and one of the plain objects that we add. What is then
    sorted out as a conflict is counted all the same, so there may be fewer.

    Raises:
        ImpossibleDrawError: if nothing can be drawn.
    """
    from formalimg.suites.conceptmix.knowledge import reference_objects  # here, as counting alone needs no knowledge

    plain = len(reference_objects())

    def ways(category: Category, values: int, objects: int, often: int) -> int:
        if category in ATTRIBUTES:
            return _ways_to_bind(category, values, objects, often)
        pairs = objects * (objects - 1) + 2 * objects * plain if category == "spatial" else 1
        return comb(values * pairs + often - 1, often)

    return _count(k, pools, profile, only, ways)


def _ways_to_bind(category: Category, values: int, objects: int, often: int) -> int:
    if category in ATTRIBUTES:
        return comb(objects, often) * int(values**often)
    if category == "style":
        return values if often else 1  # of several, which only the published code draws, the last one stays
    return comb(values + often - 1, often)


def _count(
    k: int,
    pools: Pools,
    profile: Profile,
    only: Category | None,
    ways: Callable[[Category, int, int, int], int],
) -> int:
    """The sum over all numbers of objects and of concepts per category.

    `ways` says how many there are for a category with so many values, beside so many objects, to be there so often.
    """
    rules = rules_of(k, pools, profile, only)
    found = 0
    for objects in rules.numbers_of_objects():
        places = rules.others(objects)
        # For each number of places: the ways to fill them with the categories met so far.
        filled = [1] + [0] * places
        for category, limit in zip(OTHERS, rules.limits(objects), strict=True):
            one = [
                ways(category, len(pools[category].values), objects, often) for often in range(min(limit, places) + 1)
            ]
            filled = [
                sum(one[often] * filled[there - often] for often in range(min(there + 1, len(one))))
                for there in range(places + 1)
            ]
        found += comb(rules.pool, objects) * filled[places]
    return found
