"""Shapes go to objects that can have them, if there is any way, and nothing else is changed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.completion import assign_shapes
from formalimg.benchmarks.conceptmix.conflicts import find_conflicts
from formalimg.benchmarks.conceptmix.plausibility import can_have_shape
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject
from tests.support.sizes import tries

OBJECTS, SHAPES = load_pools()["object"].values, load_pools()["shape"].values


@st.composite
def bindings(draw: st.DrawFn) -> Binding:
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


@given(bindings(), st.integers(0, 99))
@settings(max_examples=tries(50, 120), deadline=None)
def test_shapes_fit_whenever_they_can_and_nothing_else_changes(binding: Binding, seed: int) -> None:
    fitted = assign_shapes(binding, random.Random(seed))
    assert rest_of(fitted) == rest_of(binding)
    assert shapes_of(fitted) == shapes_of(binding)
    assert any(conflict.reason == "shape" for conflict in find_conflicts(fitted)) == (not can_fit(binding))
    if not find_conflicts(binding):
        assert fitted == binding
    assert assign_shapes(binding, random.Random(seed)) == fitted


def test_each_object_that_can_have_a_shape_gets_it_as_often() -> None:
    things = [BoundObject("cat", {"shape": "heart"}), *(BoundObject(item) for item in ("pizza", "fork", "house"))]
    got = Counter(
        obj.item
        for seed in range(400)
        for obj in assign_shapes(Binding(tuple(things)), random.Random(seed)).objects
        if "shape" in obj.attributes
    )
    assert set(got) == {"pizza", "house"}
    assert min(got.values()) > 150
