"""All draws from small pools, listed one by one with the rules spelled out again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb

from formalimg.benchmarks.conceptmix.pools import Pool, PoolProfile, Pools, load_pools
from formalimg.benchmarks.conceptmix.spec import Category

OTHER_CATEGORIES: tuple[Category, ...] = ("color", "number", "shape", "size", "texture", "spatial", "style")


def pools_of(**sizes: int) -> Pools:
    """Our pools, cut to so many values; categories that are not named have one."""
    return {
        category: Pool(category, pool.values[: sizes.get(category, 1)], pool.statement, {})
        for category, pool in load_pools().items()
    }


def keeps_rules(categories: Sequence[Category], objects: int, profile: PoolProfile, only: Category | None) -> bool:
    counts = Counter(categories)
    if only == "object":
        return not categories
    if only is not None and set(categories) != {only}:
        return False
    if profile == "official-code":
        return all(often <= objects for often in counts.values())
    return counts["style"] <= 1 and all(
        often <= objects for category, often in counts.items() if category not in ("spatial", "style")
    )


def orders_kept(
    k: int, pool: int, profile: PoolProfile, only: Category | None
) -> dict[int, list[tuple[Category, ...]]]:
    """For each number of objects that admits any: the orders of other categories that keep the rules."""
    found = {
        n: [order for order in product(OTHER_CATEGORIES, repeat=k + 1 - n) if keeps_rules(order, n, profile, only)]
        for n in range(1, min(k + 1, pool) + 1)
    }
    return {n: orders for n, orders in found.items() if orders}


def chances_of_objects(k: int, numbers: Sequence[int]) -> dict[int, Fraction]:
    """Each of k concepts is an object with a chance of 1/4, given that their number is one of these."""
    chances = {n: comb(k, n - 1) * Fraction(1, 4) ** (n - 1) * Fraction(3, 4) ** (k + 1 - n) for n in numbers}
    return {n: rng / sum(chances.values()) for n, rng in chances.items()}


def all_combinations(
    k: int, pools: Pools, profile: PoolProfile, only: Category | None = None
) -> Iterator[tuple[tuple[str, ...], tuple[tuple[Category, str], ...]]]:
    """All sets of objects with all multisets of other concepts beside them."""
    values = [(category, value) for category in OTHER_CATEGORIES for value in pools[category].values]
    for n in range(1, k + 2):
        for others in combinations_with_replacement(values, k + 1 - n):
            if keeps_rules([category for category, _ in others], n, profile, only):
                for items in combinations(pools["object"].values, n):
                    yield items, others
