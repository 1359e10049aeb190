"""Concepts are bound without loss, found again in a binding, and guarded against change."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.authoring.checks import binding_changes
from formalimg.benchmarks.conceptmix.pools import PoolProfile, load_pools
from formalimg.benchmarks.conceptmix.questions import concept_statements
from formalimg.benchmarks.conceptmix.sampling import bind_attributes, draw_concepts
from formalimg.benchmarks.conceptmix.spec import (
    ATTRIBUTES,
    Binding,
    BindingError,
    BoundObject,
    Concept,
    SpatialRelation,
    bound_concepts,
)

POOLS = load_pools()

seeds = st.integers(0, 10_000).map(random.Random)
profiles: st.SearchStrategy[PoolProfile] = st.sampled_from(["paper", "official-code"])


def completed(binding: Binding, rng: random.Random) -> Binding:
    """The binding with an object added if there is but one, and two objects for each relation."""
    objects = binding.objects if len(binding.objects) > 1 else (*binding.objects, BoundObject("tree"))
    pairs = [rng.sample(range(1, len(objects) + 1), 2) for _ in binding.relations]
    relations = tuple(
        replace(relation, first=first, second=second)
        for relation, (first, second) in zip(binding.relations, pairs, strict=True)
    )
    return replace(binding, objects=objects, relations=relations)


def concepts_in(binding: Binding) -> Counter[Concept]:
    found = Counter(Concept("object", obj.item) for obj in binding.objects)
    found.update(Concept(c, obj.attributes[c]) for obj in binding.objects for c in ATTRIBUTES if c in obj.attributes)
    found.update(Concept("spatial", relation.name) for relation in binding.relations)
    found.update([Concept("style", binding.style)] if binding.style is not None else [])
    return found


@given(k=st.integers(1, 12), rng=seeds, profile=profiles)
def test_what_is_drawn_is_bound_and_found_again(k: int, rng: random.Random, profile: PoolProfile) -> None:
    pools = load_pools(profile=profile)
    drawn = draw_concepts(k, pools, rng, profile=profile)
    binding = bind_attributes(drawn, pools, rng)
    styles = [concept for concept in drawn if concept.category == "style"]
    assert concepts_in(binding) == Counter(drawn) - Counter(styles[:-1])  # of several styles the last one stays
    assert Binding.from_json(binding.to_json()) == binding
    assert all(relation.description == pools["spatial"].sentences[relation.name] for relation in binding.relations)

    full = completed(binding, rng)
    assert binding_changes(binding, full) is None
    bound = bound_concepts(drawn, full)
    assert tuple(found.concept for found in bound) == drawn
    assert (
        max(Counter((found.concept.category, found.objects) for found in bound if len(found.objects) == 1).values())
        == 1
    )
    for (category, value), ids in bound:
        if category == "spatial":
            assert (value, *ids) in [(relation.name, relation.first, relation.second) for relation in full.relations]
        elif category == "style":
            assert ids == ()
        else:
            obj = full.objects[ids[0] - 1]
            assert value == (obj.item if category == "object" else obj.attributes[category])
    assert len(concept_statements(bound, full, pools)) == k + 1


def test_attributes_stand_in_the_order_of_binding() -> None:
    drawn = [Concept("object", "cat"), Concept("texture", "glass"), Concept("color", "red")]
    assert list(bind_attributes(drawn, POOLS, random.Random(0)).objects[0].attributes) == ["texture", "color"]


def test_what_cannot_be_bound_is_refused() -> None:
    cat, red = Concept("object", "cat"), Concept("color", "red")
    with pytest.raises(BindingError, match="no object among the concepts"):
        bind_attributes([red], POOLS, random.Random(0))
    with pytest.raises(BindingError, match="no object is left for the color 'red': all 1 have one"):
        bind_attributes([cat, red, red], POOLS, random.Random(0))


GIVEN = Binding(
    (BoundObject("cat", {"color": "red"}), BoundObject("dog", {"color": "red", "size": "tiny"})),
    "ink",
    (SpatialRelation("left", "the {ObjectA} is left"), SpatialRelation("top", "the {ObjectA} is on top", 1)),
)
FULL = replace(
    GIVEN,
    objects=(*GIVEN.objects, BoundObject("cat")),
    relations=(replace(GIVEN.relations[0], first=2, second=3), replace(GIVEN.relations[1], second=2)),
)


def test_equal_concepts_go_to_different_objects_by_id() -> None:
    red, spatial = Concept("color", "red"), [Concept("spatial", "top"), Concept("spatial", "left")]
    drawn = [Concept("object", "cat"), Concept("object", "dog"), red, red, Concept("style", "ink"), *spatial]
    assert [ids for _, ids in bound_concepts(drawn, FULL)] == [(1,), (2,), (1,), (2,), (), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("concepts", "says"),
    [
        ([Concept("object", "pig")], "lacks the object 'pig'"),
        ([Concept("object", "cat"), Concept("object", "dog"), *[Concept("color", "red")] * 3], "'red', .* 3 times"),
        ([Concept("object", "cat"), Concept("size", "tiny")], "lacks the size 'tiny'"),  # the dog was not drawn
        ([Concept("style", "manga")], "lacks the style 'manga'"),
        ([Concept("spatial", "right")], "lacks the spatial 'right'"),
    ],
)
def test_concepts_that_are_not_in_the_binding_are_named(concepts: list[Concept], says: str) -> None:
    with pytest.raises(BindingError, match=says):
        bound_concepts(concepts, FULL)


def test_relations_must_be_closed_and_between_two_objects() -> None:
    left = [Concept("spatial", "left")]
    with pytest.raises(BindingError, match="the relation 'left' has no objects"):
        bound_concepts(left, GIVEN)
    for ends in ((1, 1), (1, 4), (0, 2)):
        with pytest.raises(BindingError, match="not two of 3 objects"):
            bound_concepts(left, replace(FULL, relations=(SpatialRelation("left", "", *ends),)))


def with_object(place: int, item: str, **attributes: str) -> Binding:
    return replace(FULL, objects=(*FULL.objects[:place], BoundObject(item, attributes), *FULL.objects[place + 1 :]))


def with_relation(place: int, **changes: str | int | None) -> Binding:
    changed = replace(FULL.relations[place], **changes)  # type: ignore[arg-type]
    return replace(FULL, relations=(*FULL.relations[:place], changed, *FULL.relations[place + 1 :]))


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (with_object(0, "lion", color="red"), "object 1 was 'cat' and is now 'lion'"),
        (with_object(0, "cat", color="blue"), "the color of object 1 was 'red' and is now 'blue'"),
        (with_object(0, "cat"), "the color of object 1 (red) is missing"),
        (
            with_object(0, "cat", color="red", size="huge"),
            "the size of object 1 (huge) was added, but only plain objects may be",
        ),
        (with_object(2, "pig", size="huge"), "the size of object 3 (huge) was added, but only plain objects may be"),
        (replace(FULL, style=None), "the style (ink) is missing"),
        (replace(FULL, style="manga"), "the style was 'ink' and is now 'manga'"),
        (with_relation(0, name="right"), "relation 1 was 'left' and is now 'right'"),
        (
            with_relation(0, description="?"),
            "the description of relation 1 was 'the {ObjectA} is left' and is now '?'",
        ),
        (with_relation(0, first=None), "ObjectA_id of relation 1 is still '?': fill in the id of an object"),
        (with_relation(0, second=4), "ObjectB_id of relation 1 is 4, but objects are 1 to 3"),
        (with_relation(0, first=3), "relation 1 is between object 3 and itself: it needs two objects"),
        (with_relation(1, first=3), "ObjectA_id of relation 2 was 1 and is now 3"),
        (with_relation(1, first=None), "ObjectA_id of relation 2 was 1 and is now '?'"),
        (replace(FULL, relations=FULL.relations[:1]), "relation 2 (top) is missing"),
        (
            replace(FULL, relations=(*FULL.relations, SpatialRelation("top", "", 1, 2))),
            "relation 3 (top) was added, but only plain objects may be",
        ),
        (
            replace(FULL, objects=FULL.objects[:1], relations=()),
            "object 2 (dog) is missing; relation 1 (left) is missing; relation 2 (top) is missing",
        ),
    ],
)
def test_tampering_is_told_in_words(after: Binding, says: str) -> None:
    assert binding_changes(GIVEN, FULL) is None
    assert binding_changes(GIVEN, after) == says


def test_styles_may_not_be_added_and_relations_not_swapped() -> None:
    assert (
        binding_changes(replace(GIVEN, style=None), FULL) == "the style (ink) was added, but only plain objects may be"
    )
    swapped = binding_changes(GIVEN, replace(FULL, relations=FULL.relations[::-1]))
    assert swapped is not None
    assert "relation 1 was 'left' and is now 'top'" in swapped
    assert binding_changes(GIVEN, GIVEN) is not None  # nothing was filled in
