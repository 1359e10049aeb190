"""What can be drawn and bound is counted without listing it; small pools are listed as well."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from math import comb

import pytest

from formalimg.benchmarks.conceptmix.plausibility import reference_objects
from formalimg.benchmarks.conceptmix.pools import PoolProfile, Pools, load_pools
from formalimg.benchmarks.conceptmix.sampling import (
    InfeasibleDrawError,
    bind_attributes,
    count_bindings,
    count_combinations,
    draw_concepts,
    max_items,
)
from formalimg.benchmarks.conceptmix.spec import ATTRIBUTES, Binding, Category
from tests.benchmarks.conceptmix.brute_force import all_combinations, pools_of

POOLS = pools_of(object=3, color=2, size=2, spatial=2, style=2)
PROFILES: tuple[PoolProfile, ...] = ("paper", "official-code")

Attributes = frozenset[tuple[str, str]]
Structure = tuple[frozenset[tuple[str, Attributes]], str | None, tuple[str, ...]]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("only", [None, "object", "color", "spatial", "style"])
def test_combinations_and_bindings_are_as_many_as_can_be_listed(only: Category | None, profile: PoolProfile) -> None:
    for k in (1, 2, 3, 4):
        listed = list(all_combinations(k, POOLS, profile, only))
        if not listed:
            with pytest.raises(InfeasibleDrawError):
                count_combinations(k, POOLS, profile=profile, only=only)
            continue
        assert count_combinations(k, POOLS, profile=profile, only=only) == len(listed)
        bound = {structure for items, others in listed for structure in all_structures(items, others)}
        assert count_bindings(k, POOLS, profile=profile, only=only) == len(bound)


def all_structures(items: Sequence[str], others: Sequence[tuple[Category, str]]) -> Iterator[Structure]:
    """All ways to give each attribute to some object without one, and to let one of the styles stay."""
    relations = tuple(sorted(value for category, value in others if category == "spatial"))
    styles: set[str | None] = {value for category, value in others if category == "style"}
    held: set[tuple[Attributes, ...]] = {tuple(frozenset() for _ in items)}
    for category, value in others:
        if category in ATTRIBUTES:
            held = {
                (*before[:place], before[place] | {(category, value)}, *before[place + 1 :])
                for before in held
                for place in range(len(items))
                if category not in dict(before[place])
            }
    for attributes in held:
        for style in styles or {None}:
            yield frozenset(zip(items, attributes, strict=True)), style, relations


def structure_of(binding: Binding) -> Structure:
    return (
        frozenset((obj.item, frozenset(obj.attributes.items())) for obj in binding.objects),
        binding.style,
        tuple(sorted(relation.name for relation in binding.relations)),
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_everything_that_is_counted_comes_up_and_nothing_else(profile: PoolProfile) -> None:
    pools, rng = pools_of(object=2, color=2, style=2), random.Random(2)
    combinations, structures = set(), set()
    for _ in range(3_000):
        drawn = draw_concepts(2, pools, rng, profile=profile)
        combinations.add(tuple(sorted(drawn)))
        structures.add(structure_of(bind_attributes(drawn, pools, rng)))
    assert len(combinations) == count_combinations(2, pools, profile=profile)
    assert len(structures) == count_bindings(2, pools, profile=profile)


def test_the_published_pools_hold_nearly_as_many_as_the_paper_says() -> None:
    pools: Pools = load_pools()
    counts = [count_combinations(k, pools) for k in range(1, 8)]
    assert counts[0] == 1_225 + 50 * 49  # two objects, or one and any of the 49 others
    # Three objects; two and one of the others; one and two others of different categories, or two spatial ones.
    assert counts[1] == 19_600 + 1_225 * 49 + 50 * (954 + 55)
    # The paper says about 145 billion, which is what any 2 to 8 of the 96 concepts would be that it speaks of.
    assert sum(counts) == pytest.approx(sum(comb(96, concepts) for concepts in range(2, 9)), rel=0.02)
    assert count_bindings(1, pools) == counts[0]  # one object: nothing to choose
    assert all(count_bindings(k, pools) > counts[k - 1] for k in range(2, 8))


def test_items_are_at_most_the_bindings_with_all_pairs_for_their_relations() -> None:
    for k, only in ((1, "size"), (2, "color"), (2, "object"), (1, "style")):
        assert max_items(k, POOLS, only=only) == count_bindings(k, POOLS, only=only)  # type: ignore[arg-type]
    # One object in one of two relations: to one of 32 plain objects, or one of these to it.
    assert max_items(1, POOLS, only="spatial") == 3 * 2 * (2 * len(reference_objects()))
    assert max_items(2, POOLS) > count_bindings(2, POOLS)
