"""Concepts are drawn as the paper says, or its code: exactly, for any k, and never by trying again."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import comb

import pytest

from formalimg.benchmarks.conceptmix.plausibility import reference_objects
from formalimg.benchmarks.conceptmix.pools import PoolProfile, Pools, load_pools
from formalimg.benchmarks.conceptmix.sampling import (
    InfeasibleDrawError,
    bind_attributes,
    category_distribution,
    count_bindings,
    count_combinations,
    draw_concepts,
    max_items,
)
from formalimg.benchmarks.conceptmix.spec import ATTRIBUTES, CATEGORIES, Binding, Category, Concept
from formalimg.errors import FormalimgError
from tests.benchmarks.conceptmix.brute_force import (
    OTHER_CATEGORIES,
    all_combinations,
    chances_of_objects,
    keeps_rules,
    orders_kept,
    pools_of,
)
from tests.support.sizes import tries

PROFILES: tuple[PoolProfile, ...] = ("paper", "official-code")
ONLY: tuple[Category | None, ...] = (None, *CATEGORIES)


def assert_drawn_by(law: Mapping[Hashable, float], drawn: Counter[Hashable]) -> None:
    """Chi-square, with rare cells put together; what the law excludes must not occur at all."""
    total = drawn.total()
    assert not set(drawn) - set(law)
    cells = sorted((rng * total, drawn[cell]) for cell, rng in law.items())
    merged = [[0.0, 0]]
    for expected, observed in cells:
        if merged[-1][0] >= 8:
            merged.append([0.0, 0])
        merged[-1][0] += expected
        merged[-1][1] += observed
    freedom = len(merged) - 1
    distance = sum((observed - expected) ** 2 / expected for expected, observed in merged)
    assert distance <= freedom + 4 * (2 * freedom) ** 0.5 + 8, f"{distance:.1f} with {freedom} degrees of freedom"


def categories_of(concepts: tuple[Concept, ...]) -> tuple[int, tuple[Category, ...]]:
    categories = tuple(concept.category for concept in concepts)
    objects = categories.count("object")
    assert categories[:objects] == ("object",) * objects
    return objects, categories[objects:]


@cache
def drawn_categories(k: int, profile: PoolProfile) -> Counter[tuple[int, tuple[Category, ...]]]:
    pools, rng = load_pools(profile=profile), random.Random(k)
    return Counter(categories_of(draw_concepts(k, pools, rng, profile=profile)) for _ in range(tries(8_000, 20_000)))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("k", range(1, 8, tries(3, 1)))
def test_draws_follow_the_exact_law_and_break_no_rule(k: int, profile: PoolProfile) -> None:
    pools, drawn = load_pools(profile=profile), drawn_categories(k, profile)
    assert all(len(others) == k + 1 - n and keeps_rules(others, n, profile, None) for n, others in drawn)
    for category in CATEGORIES:
        counts: Counter[Hashable] = Counter()
        for (n, others), often in drawn.items():
            counts[n if category == "object" else others.count(category)] += often
        law = category_distribution(k, pools, category, profile=profile)
        assert_drawn_by({often: float(share) for often, share in law.items()}, counts)


@pytest.mark.parametrize("profile", PROFILES)
def test_all_orders_that_keep_the_rules_are_equally_likely(profile: PoolProfile) -> None:
    kept = orders_kept(3, 50, profile, None)
    law: defaultdict[Hashable, float] = defaultdict(float)
    for n, share in chances_of_objects(3, list(kept)).items():
        for order in kept[n]:
            law[n, tuple(sorted(order, key=lambda category: category == "spatial"))] += float(share / len(kept[n]))
    assert_drawn_by(law, Counter(dict(drawn_categories(3, profile))))


def test_values_are_drawn_alike_and_objects_differ() -> None:
    pools, rng = load_pools(), random.Random(5)
    draws = [draw_concepts(5, pools, rng) for _ in range(6_000)]
    for category in CATEGORIES:
        values = pools[category].values
        drawn: Counter[Hashable] = Counter(value for draw in draws for found, value in draw if found == category)
        assert_drawn_by({value: 1 / len(values) for value in values}, drawn)
    assert all(len(set(items)) == len(items) for draw in draws for items in [[v for c, v in draw if c == "object"]])
    assert any(first == second for draw in draws for first, second in pairwise(sorted(draw)))  # such as red and red


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("only", ONLY)
def test_the_law_is_that_of_drawing_again(profile: PoolProfile, only: Category | None) -> None:
    pools = pools_of(object=4)
    for k in range(1, 6 if only is None else 5):
        kept = orders_kept(k, 4, profile, only)
        if not kept:
            with pytest.raises(InfeasibleDrawError):
                category_distribution(k, pools, "object", profile=profile, only=only)
            continue
        chances = chances_of_objects(k, list(kept))
        assert category_distribution(k, pools, "object", profile=profile, only=only) == chances
        for category in OTHER_CATEGORIES:
            law: dict[int, Fraction] = {}
            for n, orders in kept.items():
                for often, found in Counter(order.count(category) for order in orders).items():
                    law[often] = law.get(often, Fraction(0)) + chances[n] * Fraction(found, len(orders))
            assert category_distribution(k, pools, category, profile=profile, only=only) == law


def test_the_law_of_the_code_agrees_with_what_was_simulated() -> None:
    pools = load_pools(profile="official-code")
    laws = [category_distribution(k, pools, "style", profile="official-code") for k in range(1, 8)]
    two_styles = [100 * float(sum(share for often, share in law.items() if often > 1)) for law in laws]
    assert two_styles == pytest.approx([0, 0, 0.8, 2.6, 5.5, 9.2, 13.4], abs=0.15)


def test_numbers_of_objects_that_admit_no_draw_give_their_chance_to_the_others() -> None:
    assert category_distribution(2, load_pools(), "object") == {n: Fraction(w, 16) for n, w in ((1, 9), (2, 6), (3, 1))}
    pools = load_pools(profile="official-code")
    assert category_distribution(8, pools, "object", profile="official-code") == chances_of_objects(8, range(2, 10))
    assert category_distribution(8, pools_of(object=3), "object") == chances_of_objects(8, range(1, 4))


@pytest.mark.parametrize(
    ("k", "only", "profile", "says"),
    [
        (
            60,
            "style",
            "paper",
            "beside 50 objects, which are all, 11 places are left for at most 1 of style; take k = 50",
        ),
        (100, "color", "paper", "51 places are left for at most 50 of color; take k = 99 or less, or add objects"),
        (60, "object", "paper", "50 objects for 61 places; take k = 49"),
        (0, "color", "paper", "take k = 1 or more"),
        (416, None, "official-code", "52 of spatial and 52 of style; take k = 415"),
    ],
)
def test_a_draw_that_is_impossible_says_why(k: int, only: Category | None, profile: PoolProfile, says: str) -> None:
    pools = load_pools(profile=profile)
    with pytest.raises(InfeasibleDrawError, match=says):
        draw_concepts(k, pools, random.Random(0), only=only, profile=profile)
    if k:
        possible = int(says.split("take k = ")[1].split()[0])
        assert len(draw_concepts(possible, pools, random.Random(0), only=only, profile=profile)) == possible + 1


def test_wrong_words_say_what_to_do() -> None:
    pools, rng = load_pools(), random.Random(0)
    with pytest.raises(FormalimgError, match="cannot be -1"):
        draw_concepts(-1, pools, rng)
    with pytest.raises(FormalimgError, match="unknown category 'colour': choose from object, color"):
        draw_concepts(1, pools, rng, only="colour")  # type: ignore[arg-type]
    with pytest.raises(FormalimgError, match="unknown profile 'code': choose from paper"):
        draw_concepts(1, pools, rng, profile="code")  # type: ignore[arg-type]
    with pytest.raises(FormalimgError, match="no concept of the category shape"):
        draw_concepts(1, pools_of(shape=0), rng)


def test_a_seed_gives_the_same_concepts_everywhere() -> None:
    drawn = draw_concepts(4, load_pools(), random.Random("ConceptMix"))
    assert [value for _, value in drawn] == ["bee", "robot", "blue", "square", "2"]


POOLS = pools_of(object=3, color=2, size=2, spatial=2, style=2)

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
