"""What can be shown but leaves viewers in doubt, tells them nothing, or is far-fetched: counted, and avoided."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest

from formalimg.benchmarks.conceptmix.completion import complete_binding
from formalimg.benchmarks.conceptmix.conflicts import SceneObjects, count_problems, relation_conflicts
from formalimg.benchmarks.conceptmix.generation import content_key
from formalimg.benchmarks.conceptmix.plausibility import BoundRelation, bound_relations
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject, ConceptSpec, RequestedConcept, SpatialRelation
from tests.benchmarks.conceptmix.given import given


def problems(text: str) -> int:
    """Problems of a scene such as "cat | +table | 1 top 2", none of which is a conflict."""
    concepts, binding = given(text)
    placed = bound_relations(binding.relations)
    assert not relation_conflicts(binding.objects, placed)
    drawn = sum(one.concept.category == "object" for one in concepts)
    return count_problems(placed, SceneObjects(binding.objects, drawn))


@pytest.mark.parametrize(
    "text",
    [
        "cat | table | 1 top 2",
        "table | cat | 1 bottom 2",
        "sheep | barn | 1 outside 2",
        "hammer | +box | 1 outside 2",
        "highway | +tunnel | 1 inside 2",
        "skyscraper | +snow globe | 1 inside 2",
        "oak tree | +greenhouse | 1 inside 2",
        "tiny sunflower | +box | 1 inside 2",
        "cat | dog | cow | 1 left 2 | 2 left 3",
        "cat | dog | +house | 1 inside 3 | 2 inside 3 | 1 left 2",
        "cat | table | butterfly | 1 top 2 | 3 above 2",
        "gizmo | gadget | 1 top 2",
        "gizmo | gadget | 1 outside 2",
    ],
)
def test_scenes_that_nobody_asks_about_have_no_problem(text: str) -> None:
    assert problems(text) == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("car | oak tree | 1 outside 2", "a tree has no inside"),
        ("hill | +box | 1 outside 2", "no hill was ever in a box"),
        ("cat | +snow globe | 1 outside 2", "nor a cat in a snow globe"),
        ("sheep | 3 truck | 1 outside 2", "outside of three things at once"),
        ("house | +warehouse | 1 inside 2", "nobody builds a house in there"),
        ("sunflower | +truck | 1 inside 2", "nothing grows there"),
        ("man | +snow globe | 1 inside 2", "nor fits"),
        ("huge house | +snow globe | 1 inside 2", "nothing in there is huge"),
        ("cat | dog | cow | 1 left 2 | 2 left 3 | 1 left 3", "the last follows from the others"),
        ("cat | dog | cow | 1 left 2 | 2 left 3 | 3 right 1", "so does its converse"),
        ("bee | apple | 1 above 2 | 1 behind 2", "above and behind the same"),
        ("cat | dog | 1 left 2 | 1 behind 2", "beside and behind the same"),
        ("cow | truck | +bridge | 1 right 3 | 1 left 2 | 3 behind 2", "only far off to one side"),
        ("glass dirt road", "it is made of dirt"),
        ("dog | +house | +bench | 1 inside 2 | 1 left 3", "is the bench in the house?"),
        ("laptop | necklace | +bowl | 3 top 1 | 2 inside 3 | 2 left 1", "it is where the bowl is"),
        ("truck | pine tree | +bridge | 1 top 3 | 1 left 2 | 3 right 2", "a truck is where its bridge is"),
        ("doll | table | apple | 1 top 2 | 1 above 3", "it stands on the table and hovers above the apple"),
        ("3 apple | +shelf | +pillow | 1 top 2 | 1 top 3", "on two things"),
        ("apple | +table | +box | 1 top 2 | 1 outside 3", "what is on a table is in no box"),
        ("bee | apple | +box | 1 above 2 | 1 outside 3", "nor what hovers"),
        ("chicken | man | +box | 3 above 2 | 1 outside 3", "outside of a box in the air"),
        ("giraffe | house | 1 above 2", "giraffes do not hover"),
        ("oak tree | highway | 2 below 1", "nor do trees"),
        ("car | barn | 2 bottom 1", "too large to rest there"),
        ("chair | bush | 1 bottom 2", "what has roots rests on nothing"),
        ("cup | sunflower | 1 top 2", "a flower carries no cup"),
        ("cup | man | 1 top 2", "nor does a man"),
        ("table | +bed | 1 top 2", "furniture is not piled"),
        ("spider | house | 1 behind 2", "nobody would see it"),
    ],
)
def test_what_viewers_would_ask_about_is_counted(text: str, why: str) -> None:
    assert problems(text) > 0, why


@pytest.mark.parametrize(
    ("items", "relation"),
    [
        (("giraffe", "pine tree"), "above"),
        (("house", "oak tree"), "top"),
        (("ring", "hill"), "left"),
        (("cup", "man"), "bottom"),
        (("necklace", "robot"), "inside"),
        (("hill", "skyscraper"), "inside"),
    ],
)
def test_an_object_is_added_rather_than_something_far_fetched(items: tuple[str, ...], relation: str) -> None:
    for seed in range(8):
        binding = Binding(tuple(map(BoundObject, items)), None, (SpatialRelation(relation, ""),))
        done = complete_binding(binding, random.Random(seed))
        assert len(done.objects) == 3
        placed = bound_relations(done.relations)
        assert count_problems(placed, SceneObjects(done.objects, 2)) == 0


def test_relations_of_the_user_imply_nothing() -> None:
    placed = [BoundRelation("near", 1, 2), BoundRelation("near", 2, 3), BoundRelation("near", 1, 3)]
    cast = tuple(map(BoundObject, ("cat", "dog", "cow")))
    assert count_problems(placed, SceneObjects(cast, 3)) == 0


def content_of(text: str, *, bound: bool = True) -> Hashable:
    concepts, binding = given(text)
    asked = [RequestedConcept(*one.concept, f"say {number}", f"{number}?") for number, one in enumerate(concepts)]
    return content_key(ConceptSpec(tuple(asked), binding if bound else None))


def test_the_order_does_not_matter() -> None:
    assert content_of("red cat | blue dog | 1 left 2 | 2 above 1") == content_of(
        "blue dog | red cat | 1 above 2 | 2 left 1"
    )
    assert content_of("red cat | blue dog", bound=False) == content_of("dog | red blue cat", bound=False)


def test_who_has_what_does() -> None:
    different = [
        "red cat | blue dog",
        "blue cat | red dog",
        "red blue cat | dog",
        "red cat | blue dog | 1 left 2",
        "red cat | blue dog | 2 left 1",
        "red cat | blue dog | 2 right 1",
        "red cat | blue dog | style ink",
        "red cat | blue dog | style manga",
    ]
    assert len({content_of(text) for text in different}) == len(different)


def test_what_was_added_counts_where_a_relation_names_it() -> None:
    assert content_of("cat | +table | 1 top 2") != content_of("cat | +bench | 1 top 2")
    assert content_of("tiny cat | +table") == content_of("tiny cat | +bench")
