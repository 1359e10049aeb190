"""Which bindings contradict themselves, and which are only unusual."""

from __future__ import annotations

from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.conflicts import RULES, find_conflicts
from formalimg.benchmarks.conceptmix.plausibility import (
    BoundRelation,
    contradictory_orders,
    pool_objects,
    reference_objects,
)
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject, SpatialRelation
from tests.support.sizes import tries

SPATIAL = load_pools()["spatial"].values


def bound(*objects: str, relations: tuple[tuple[int, str, int], ...] = ()) -> Binding:
    """A binding from words: `bound("cat tiny heart", "house", relations=((1, "inside", 2),))`."""
    category = {value: pool.category for pool in load_pools().values() for value in pool.values}
    things = []
    for text in objects:
        item, *attributes = text.split(", ")
        things.append(BoundObject(item, {category[value]: value for value in attributes}))
    return Binding(tuple(things), None, tuple(SpatialRelation(name, "", one, other) for one, name, other in relations))


def reasons(binding: Binding) -> set[str]:
    return {conflict.reason for conflict in find_conflicts(binding)}


REFUSED = [
    ("paint", bound("man, red, glass")),
    ("paint", bound("cat", "woman, fluffy, blue")),
    ("shape", bound("man, triangle")),
    ("shape", bound("cat, square", "house, square")),
    ("shape", bound("fork, circle")),
    ("shape", bound("hill, rectangle")),
    ("kind", bound("corgi", "dog, 3")),
    ("kind", bound("bird", "chicken")),
    ("itself", bound("cat", "car", relations=((1, "left", 1),))),
    ("twice", bound("cat", "car", relations=((1, "left", 2), (1, "left", 2)))),
    ("order", bound("cat", "car", relations=((1, "left", 2), (1, "right", 2)))),
    ("order", bound("cat", "car", relations=((1, "behind", 2), (2, "behind", 1)))),
    ("order", bound("cat", "car", relations=((1, "top", 2), (1, "bottom", 2)))),
    ("order", bound("cat", "car", "bee", relations=((1, "top", 2), (2, "above", 3), (1, "below", 3)))),
    ("order", bound("cat", "car", "bee", relations=((1, "left", 2), (2, "left", 3), (1, "right", 3)))),
    ("order", bound("cat", "house", "duck", relations=((1, "inside", 2), (3, "above", 2), (1, "above", 3)))),
    ("touch", bound("cat", "car", relations=((1, "top", 2), (1, "above", 2)))),
    ("touch", bound("cat", "car", relations=((1, "top", 2), (2, "below", 1)))),
    ("nesting", bound("gizmo", "gadget", relations=((1, "inside", 2), (2, "inside", 1)))),
    ("outside", bound("cat", "house", relations=((1, "inside", 2), (1, "outside", 2)))),
    ("outside", bound("bee", "car", "house", relations=((1, "inside", 2), (2, "inside", 3), (1, "outside", 3)))),
    ("outside apart", bound("bee", "car", "house", relations=((1, "inside", 2), (1, "inside", 3), (2, "outside", 3)))),
    ("beside", bound("cat", "house", relations=((1, "inside", 2), (2, "behind", 1)))),
    ("beside", bound("cat", "house", relations=((1, "inside", 2), (1, "top", 2)))),
    ("beside", bound("ball", "box", relations=((1, "inside", 2), (1, "bottom", 2)))),
    ("fit", bound("apple", "fork", relations=((1, "inside", 2),))),
    ("fit", bound("elephant", "car", relations=((1, "inside", 2),))),
    ("fit", bound("apple, huge", "ring", relations=((1, "inside", 2),))),
    ("fit", bound("apple, huge", "house, tiny", relations=((1, "inside", 2),))),
    ("fit", bound("gizmo", "spoon", relations=((1, "inside", 2),))),
    ("fit", bound("bee", "ring", relations=((1, "inside", 2),))),
    ("fit", bound("cup", "necklace", relations=((1, "inside", 2),))),
    ("fit", bound("bee", "oak tree", relations=((1, "inside", 2),))),
    ("fit", bound("man", "robot, huge", relations=((1, "inside", 2),))),
    ("fit", bound("doll, huge", "suitcase", relations=((1, "inside", 2),))),
    ("many", bound("man, 2", "skyscraper, 4", relations=((1, "inside", 2),))),
    ("many", bound("cat", "house, 2", relations=((1, "inside", 2),))),
    ("many", bound("horse, glass", "spoon, huge, 4", relations=((1, "top", 2),))),
    ("many", bound("apple", "cow", "pig", relations=((1, "top", 2), (1, "top", 3)))),
    ("many", bound("duck", "skyscraper, 4", relations=((1, "bottom", 2),))),
    ("many", bound("house, 3", "pizza", relations=((1, "bottom", 2),))),
    ("many", bound("cat, 3", "garage", "fence", relations=((1, "bottom", 2), (1, "bottom", 3)))),
    ("many", bound("table", "cup", "shelf", relations=((1, "bottom", 2), (2, "top", 3)))),
    ("many", bound("cat", "garage", "fence", relations=((1, "bottom", 2), (1, "bottom", 3)))),
    ("apart", bound("smartphone", "suitcase", "cup", relations=((1, "top", 2), (1, "inside", 3)))),
    ("apart", bound("suitcase", "smartphone", "cup", relations=((1, "bottom", 2), (2, "inside", 3)))),
    ("apart", bound("cat", "table", "house", relations=((1, "top", 2), (1, "inside", 3), (2, "outside", 3)))),
    ("apart", bound("cat", "table", "house", relations=((1, "top", 2), (1, "inside", 3), (2, "left", 3)))),
    ("apart", bound("bee", "house", "skyscraper", relations=((1, "inside", 2), (1, "inside", 3)))),
    ("apart", bound("apple", "cup", "box", relations=((1, "inside", 2), (1, "bottom", 3)))),
    ("apart", bound("bee", "cup", "hill", "car", relations=((1, "inside", 2), (2, "inside", 4), (1, "top", 3)))),
]

SHOWN = [
    bound("man, red", "woman, glass", "cat, red, glass"),
    bound("horse, glass, 4", "spoon, huge, fluffy, 4", relations=((1, "top", 2),)),
    bound("table", "doll, 2", relations=((1, "bottom", 2),)),
    bound("table", "doll", "cup", relations=((1, "bottom", 2), (1, "bottom", 3))),
    bound("cat", "table", "house", relations=((1, "top", 2), (1, "inside", 3))),
    bound("bee", "cup", "house", relations=((1, "inside", 2), (1, "inside", 3))),
    bound("gizmo", "gadget", "widget", relations=((1, "inside", 2), (1, "inside", 3))),
    bound("pizza, triangle", "house, heart", "oak tree, rectangle"),
    bound("elephant, tiny", "house", relations=((1, "inside", 2),)),
    bound("man", "suitcase, huge", relations=((1, "inside", 2),)),
    bound("skyscraper", "snow globe", relations=((1, "inside", 2),)),
    bound("cat, 4", "house, 3", relations=((1, "inside", 2),)),
    bound("cat", "house", relations=((1, "outside", 2), (1, "left", 2), (1, "in front of", 2))),
    bound("cat", "house", relations=((1, "top", 2), (1, "outside", 2))),
    bound("cat", "car", relations=((1, "left", 2), (2, "right", 1))),
    bound("cat", "car", relations=((1, "left", 2), (1, "above", 2), (1, "behind", 2))),
    bound("cat", "house", "man", relations=((1, "inside", 2), (2, "left", 3), (1, "right", 3))),
    bound("cat", "house", "car", relations=((1, "inside", 2), (3, "inside", 2), (1, "outside", 3))),
    bound("apple, 2", "cow", "pig", relations=((1, "top", 2), (1, "top", 3))),
    bound("gizmo, heart", "gadget", relations=((1, "inside", 2),)),
    bound("skyscraper", "apple", relations=((1, "top", 2),)),
]


@pytest.mark.parametrize(("why", "binding"), REFUSED)
def test_what_no_image_can_show_is_refused_for_its_reason(why: str, binding: Binding) -> None:
    assert reasons(binding) == set(why.split())
    assert all("\n" not in conflict.detail and conflict.detail for conflict in find_conflicts(binding))


@pytest.mark.parametrize("binding", SHOWN)
def test_what_is_only_unusual_is_kept(binding: Binding) -> None:
    assert find_conflicts(binding) == ()


def test_every_rule_is_told_and_tried() -> None:
    assert set(RULES) == {reason for why, _ in REFUSED for reason in why.split()}


def test_open_relations_contradict_nothing() -> None:
    assert (
        find_conflicts(
            Binding((BoundObject("cat"), BoundObject("car")), None, (SpatialRelation("left", "", 1, None),) * 2)
        )
        == ()
    )


PLACED = st.builds(BoundRelation, st.sampled_from(SPATIAL), st.integers(1, 4), st.integers(1, 4))


@given(st.lists(PLACED.filter(lambda relation: relation.first != relation.second), min_size=1, max_size=7))
@settings(max_examples=tries(50, 120), deadline=None)
def test_relations_in_circles_are_those_that_no_boxes_can_have(relations: list[BoundRelation]) -> None:
    stated = bool(list(contradictory_orders(relations)))
    assert stated == (_boxes(relations, middle_is_halfway=False) == z3.unsat)
    if stated:
        assert _boxes(relations, middle_is_halfway=True) == z3.unsat


def _boxes(relations: list[BoundRelation], middle_is_halfway: bool) -> z3.CheckSatResult:
    """Ask a solver for boxes (low, middle, high on each of the axes x, y, z) that have all relations."""
    solver = z3.Solver()

    def marks(obj: int, axis: str) -> list[z3.ArithRef]:
        return [z3.Real(f"{axis}{obj}{mark}") for mark in ("low", "middle", "high")]

    for obj, axis in product(range(1, 5), "xyz"):
        low, middle, high = marks(obj, axis)
        solver.add(low < middle, middle < high)
        if middle_is_halfway:
            solver.add(middle + middle == low + high)
    for name, first, second in relations:
        (x_low, x, x_high), (y_low, y, y_high), (z_low, z, z_high) = (marks(first, axis) for axis in "xyz")
        (u_low, u, u_high), (v_low, v, v_high), (w_low, w, w_high) = (marks(second, axis) for axis in "xyz")
        within = [u_low < x_low, x_high < u_high, v_low < y_low, y_high < v_high, w_low < z_low, z_high < w_high]
        meaning = {
            "left": [x < u],
            "right": [x > u],
            "in front of": [z < w],
            "behind": [z > w],
            "above": [y > v, y_low > v_low, y_high > v_high],
            "below": [y < v, y_low < v_low, y_high < v_high],
            "top": [y > v, y_low > v_low],
            "bottom": [y < v, y_high < v_high],
            "inside": within,
            "outside": [],
        }
        solver.add(*meaning[name])
    return solver.check()


CASTS = [("cat", "house", "car", "bee, tiny"), ("spider", "cup, tiny", "ring", "apple, 2"), ("gizmo",) * 4]


@given(st.lists(PLACED, max_size=6), PLACED, st.sampled_from(CASTS))
@settings(max_examples=tries(60, 150), deadline=None)
def test_a_further_relation_never_mends_a_conflict(
    relations: list[BoundRelation], more: BoundRelation, items: tuple[str, ...]
) -> None:
    def refused(placed: list[BoundRelation]) -> bool:
        return bool(reasons(bound(*items, relations=tuple((one, name, other) for name, one, other in placed))))

    assert refused([*relations, more]) or not refused(relations)


def test_every_object_of_the_pools_is_known_and_no_reference_object_is_in_them() -> None:
    pool = set(load_pools(profile="official-code")["object"].values)
    words = {value for pool in load_pools(profile="official-code").values() for value in pool.values}
    assert {obj.name for obj in pool_objects()} == pool
    assert not {obj.name for obj in reference_objects()} & words
    assert not {word for obj in reference_objects() for word in obj.name.split()} & words
