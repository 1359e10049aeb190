"""Concepts are drawn as the paper says, or its code: exactly, for any k, and never by trying again."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest

from formalimg.benchmarks.conceptmix.pools import PoolProfile, load_pools
from formalimg.benchmarks.conceptmix.sampling import InfeasibleDrawError, category_distribution, draw_concepts
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category, Concept
from formalimg.errors import FormalimgError
from tests.benchmarks.conceptmix.brute_force import (
    OTHER_CATEGORIES,
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


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("k", [8, 40, 200])
def test_any_k_can_be_drawn(k: int, profile: PoolProfile) -> None:
    pools, rng = load_pools(profile=profile), random.Random(k)
    for _ in range(40):
        n, others = categories_of(draw_concepts(k, pools, rng, profile=profile))
        assert n + len(others) == k + 1
        assert keeps_rules(others, n, profile, None)


def test_numbers_of_objects_that_admit_no_draw_give_their_chance_to_the_others() -> None:
    assert category_distribution(2, load_pools(), "object") == {n: Fraction(w, 16) for n, w in ((1, 9), (2, 6), (3, 1))}
    pools = load_pools(profile="official-code")
    assert category_distribution(8, pools, "object", profile="official-code") == chances_of_objects(8, range(2, 10))
    assert category_distribution(8, pools_of(object=3), "object") == chances_of_objects(8, range(1, 4))


@pytest.mark.parametrize("only", CATEGORIES)
def test_only_one_category_beside_the_objects(only: Category) -> None:
    pools, rng = load_pools(), random.Random(1)
    for k in range(1, 8):
        for _ in range(20):
            n, others = categories_of(draw_concepts(k, pools, rng, only=only))
            assert n + len(others) == k + 1
            assert set(others) == ({only} if only != "object" else set())
            assert keeps_rules(others, n, "paper", only)
    assert categories_of(draw_concepts(1, pools, rng, only="color")) == (1, ("color",))


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
    with pytest.raises(FormalimgError, match="unknown category 'colour': known are object, color"):
        draw_concepts(1, pools, rng, only="colour")  # type: ignore[arg-type]
    with pytest.raises(FormalimgError, match="unknown profile 'code': known are paper"):
        draw_concepts(1, pools, rng, profile="code")  # type: ignore[arg-type]
    with pytest.raises(FormalimgError, match="no concept of the category shape"):
        draw_concepts(1, pools_of(shape=0), rng)


def test_a_seed_gives_the_same_concepts_everywhere() -> None:
    drawn = draw_concepts(4, load_pools(), random.Random("ConceptMix"))
    assert [value for _, value in drawn] == ["bee", "robot", "blue", "square", "2"]
