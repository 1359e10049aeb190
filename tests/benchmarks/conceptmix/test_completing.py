"""Bindings are completed by rule: closed, unchanged in what was given, with no more added than is needed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.completion import assign_shapes, complete_binding, lacks_size_reference
from formalimg.benchmarks.conceptmix.conflicts import find_conflicts
from formalimg.benchmarks.conceptmix.plausibility import can_have_shape, reference_objects
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject, SpatialRelation
from tests.support.sizes import tries

OBJECTS = load_pools(profile="official-code")["object"].values
SPATIAL = load_pools()["spatial"].values
REFERENCES = {obj.name for obj in reference_objects()}


def open_binding(*items: str, relations: tuple[str, ...] = (), **first_has: str) -> Binding:
    things = (BoundObject(items[0], first_has), *(BoundObject(item) for item in items[1:]))
    return Binding(things, None, tuple(SpatialRelation(name, f"say {name}") for name in relations))


def stated(binding: Binding) -> list[tuple[str, str, str]]:
    found = []
    for relation in binding.relations:
        assert relation.first is not None
        assert relation.second is not None
        one, other = binding.objects[relation.first - 1], binding.objects[relation.second - 1]
        found.append((one.item, relation.name, other.item))
    return found


@st.composite
def bindings(draw: st.DrawFn, most_relations: int = 4) -> Binding:
    items = draw(st.lists(st.sampled_from([*OBJECTS, "gizmo"]), min_size=1, max_size=5, unique=True))
    sizes = st.fixed_dictionaries({}, optional={"size": st.sampled_from(["tiny", "huge"]), "number": st.just("3")})
    things = tuple(BoundObject(item, draw(sizes)) for item in items)
    names = draw(st.lists(st.sampled_from([*SPATIAL, "orbiting"]), max_size=most_relations))
    ends = st.one_of(st.none(), st.none(), st.integers(1, len(items)))
    relations = [SpatialRelation(name, f"say {name}", draw(ends)) for name in names]
    return Binding(things, draw(st.sampled_from([None, "ink"])), tuple(relations))


@given(bindings(), st.integers(0, 9))
@settings(max_examples=tries(8, 40), deadline=None)
def test_everything_is_closed_and_nothing_given_is_changed(binding: Binding, seed: int) -> None:
    done = complete_binding(binding, random.Random(seed))
    assert not done.is_open
    assert done.style == binding.style
    assert done.objects[: len(binding.objects)] == binding.objects
    assert len(done.relations) == len(binding.relations)
    for before, after in zip(binding.relations, done.relations, strict=True):
        assert after.first != after.second
        assert before in (after, replace(after, second=None), replace(after, first=None, second=None))
    assert complete_binding(binding, random.Random(seed)) == done
    assert complete_binding(done, random.Random(seed)) == done


@given(bindings(), st.integers(0, 9))
@settings(max_examples=tries(15, 80), deadline=None)
def test_only_plain_objects_are_added_and_each_of_them_serves(binding: Binding, seed: int) -> None:
    done = complete_binding(binding, random.Random(seed))
    added = done.objects[len(binding.objects) :]
    assert all(obj.item in REFERENCES and not obj.attributes for obj in added)
    assert len({obj.item for obj in done.objects}) == len(done.objects)
    measure = bool(binding.objects) and all("size" in obj.attributes for obj in binding.objects)
    used = {end for relation in done.relations for end in (relation.first, relation.second)}
    idle = [number for number in range(len(binding.objects) + 1, len(done.objects) + 1) if number not in used]
    assert idle == [] or (measure and idle == [len(binding.objects) + 1])
    assert len(done.objects) > 1 or not (measure or binding.relations)
    assert not lacks_size_reference(done)
    if not binding.relations and not measure:
        assert done == binding


@pytest.mark.parametrize(
    ("binding", "expected"),
    [
        (open_binding("bee", "house", relations=("inside",)), ("bee", "inside", "house")),
        (open_binding("table", "apple", relations=("top",)), ("apple", "top", "table")),
        (open_binding("apple", "table", relations=("bottom",)), ("table", "bottom", "apple")),
        (open_binding("cow", "butterfly", relations=("below",)), ("cow", "below", "butterfly")),
        (open_binding("highway", "duck", relations=("above",)), ("duck", "above", "highway")),
        (open_binding("bee", "elephant", relations=("behind",)), ("elephant", "behind", "bee")),
        (open_binding("house", "man", relations=("outside",)), ("man", "outside", "house")),
        (open_binding("elephant", "house", size="tiny", relations=("inside",)), ("elephant", "inside", "house")),
    ],
)
def test_relations_go_to_pairs_that_make_sense(binding: Binding, expected: tuple[str, str, str]) -> None:
    for seed in range(8):
        assert stated(complete_binding(binding, random.Random(seed))) == [expected]


def test_chance_decides_among_equally_good_pairs() -> None:
    binding = open_binding("cat", "dog", "sheep", relations=("left",))
    found = {stated(complete_binding(binding, random.Random(seed)))[0] for seed in range(60)}
    assert len(found) == 6


def test_drawn_objects_are_used_first_and_relations_spread_over_them() -> None:
    for seed in range(20):
        done = complete_binding(
            open_binding("cat", "dog", "cow", "pig", relations=("left", "behind")), random.Random(seed)
        )
        assert len(done.objects) == 4
        assert len({end for relation in done.relations for end in (relation.first, relation.second)}) == 4


def test_a_reference_object_comes_when_two_objects_cannot_do_it() -> None:
    for relations in (("left", "right"), ("above", "top"), ("inside",)):
        done = complete_binding(open_binding("fork", "spoon", relations=relations), random.Random(3))
        assert len(done.objects) == 3, relations
        assert find_conflicts(done) == ()


def test_where_everything_has_a_size_something_usual_is_added_to_tell_it_by() -> None:
    sized = Binding((BoundObject("screwdriver", {"size": "tiny"}), BoundObject("butterfly", {"size": "huge"})))
    assert lacks_size_reference(sized)
    for seed in range(10):
        done = complete_binding(sized, random.Random(seed))
        assert len(done.objects) == 3
        assert done.objects[2].item not in {"cloud", "kite", "valley", "rock"}
    for plain in (open_binding("bee"), open_binding("bee", "cat", size="tiny")):
        assert not lacks_size_reference(plain)


def test_nothing_is_added_that_shares_a_name_with_what_is_there() -> None:
    for seed in range(tries(10, 30)):
        done = complete_binding(
            open_binding("duck", "chicken", relations=("above", "top", "below")), random.Random(seed)
        )
        assert "bird" not in {obj.item for obj in done.objects}


def test_nothing_is_added_for_a_conflict_that_was_given() -> None:
    given = (SpatialRelation("left", "", 1, 2), SpatialRelation("right", "", 1, 2), SpatialRelation("behind", ""))
    for seed in range(5):
        objects = tuple(map(BoundObject, ("cat", "dog", "cow")))
        done = complete_binding(Binding(objects, None, given), random.Random(seed))
        assert len(done.objects) == 3


def test_a_size_is_compared_with_something_of_about_its_length() -> None:
    for seed in range(10):
        small = complete_binding(open_binding("bee", size="tiny"), random.Random(seed)).objects[1].item
        large = complete_binding(open_binding("skyscraper", size="huge"), random.Random(seed)).objects[1].item
        assert small in {"cup", "candle", "plate", "bowl", "ball", "box", "basket"}
        assert large not in {"cup", "candle", "plate", "bowl", "ball", "box", "basket"}
    alone = open_binding("bee", color="red")
    assert complete_binding(alone, random.Random(1)) == alone
    both = open_binding("bee", "cat", size="tiny")
    assert complete_binding(both, random.Random(1)) == both


SHAPES = load_pools()["shape"].values


@st.composite
def shaped_bindings(draw: st.DrawFn) -> Binding:
    items = draw(st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=5, unique=True))
    held = st.fixed_dictionaries({}, optional={"shape": st.sampled_from(SHAPES), "color": st.just("red")})
    return Binding(tuple(BoundObject(item, draw(held)) for item in items), "ink")


def rest_of(binding: Binding) -> list[tuple[str, dict[str, str]]]:
    return [(obj.item, {c: v for c, v in obj.attributes.items() if c != "shape"}) for obj in binding.objects]


def shapes_of(binding: Binding) -> Counter[str]:
    return Counter(obj.attributes["shape"] for obj in binding.objects if "shape" in obj.attributes)


def can_fit(binding: Binding) -> bool:
    """By trying all ways."""
    shapes = list(shapes_of(binding).elements())
    return any(
        all(can_have_shape(obj.item, shape) for obj, shape in zip(things, shapes, strict=True))
        for things in permutations(binding.objects, len(shapes))
    )


@given(shaped_bindings(), st.integers(0, 99))
@settings(max_examples=tries(50, 120), deadline=None)
def test_shapes_fit_whenever_they_can_and_nothing_else_changes(binding: Binding, seed: int) -> None:
    fitted = assign_shapes(binding, random.Random(seed))
    assert rest_of(fitted) == rest_of(binding)
    assert shapes_of(fitted) == shapes_of(binding)
    assert any(conflict.reason == "shape" for conflict in find_conflicts(fitted)) == (not can_fit(binding))
    if not find_conflicts(binding):
        assert fitted == binding
    assert assign_shapes(binding, random.Random(seed)) == fitted
