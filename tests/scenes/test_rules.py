"""The geometric rules at their bounds, and the fast way of applying them against the plain one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene
from tests.support.brute_force import atom_truth


def square(x: float, y: float, size: float = 100) -> Box:
    """A box around a centre."""
    return Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2)


@pytest.mark.parametrize(
    ("predicate", "holding", "failing"),
    [
        ("OnLeftSide", square(499.5, 500), square(500, 500)),
        ("OnRightSide", square(500.5, 500), square(500, 500)),
        ("OnTopSide", square(500, 499.5), square(500, 500)),
        ("OnBottomSide", square(500, 500.5), square(500, 500)),
        ("InCenter", square(333.5, 666.5), square(333, 500)),
        ("InCenter", square(500, 500), square(500, 667)),
    ],
)
def test_sides_are_strict(predicate: str, holding: Box, failing: Box) -> None:
    assert UNARY_RULES[predicate].holds(holding)
    assert not UNARY_RULES[predicate].holds(failing)


@pytest.mark.parametrize(
    ("predicate", "a", "b", "holds"),
    [
        ("LeftOf", square(100, 0), square(150.5, 0), True),  # edge 150 against centre 150.5
        ("LeftOf", square(100, 0), square(150, 0), False),
        ("RightOf", square(200.5, 0), square(150, 0), True),
        ("RightOf", square(200, 0), square(150, 0), False),
        ("Above", square(0, 100), square(0, 150.5), True),
        ("Above", square(0, 100), square(0, 150), False),
        ("Below", square(0, 200.5), square(0, 150), True),
        ("Below", square(0, 200), square(0, 150), False),
        ("AlignedHorizontally", square(0, 100), square(900, 199.5), True),
        ("AlignedHorizontally", square(0, 100), square(900, 200), False),
        ("AlignedVertically", square(100, 0), square(199.5, 900), True),
        ("AlignedVertically", square(100, 0), square(200, 900), False),
        ("LargerThan", square(0, 0, 101), square(0, 0, 100), True),
        ("LargerThan", square(0, 0, 100), square(0, 0, 100), False),
        ("SmallerThan", square(0, 0, 100), square(0, 0, 101), True),
        ("SmallerThan", square(0, 0, 100), square(0, 0, 100), False),
    ],
)
def test_relations_are_strict(predicate: str, a: Box, b: Box, holds: bool) -> None:
    assert BINARY_RULES[predicate].holds(a, b) is holds


def test_right_of_and_vertically_aligned_can_both_hold_for_narrow_objects() -> None:
    narrow, other = Box(480, 0, 500, 100), Box(400, 0, 500, 100)
    assert BINARY_RULES["RightOf"].holds(narrow, other)
    assert BINARY_RULES["AlignedVertically"].holds(narrow, other)


def test_evidence_tells_the_numbers_and_how_they_compare() -> None:
    a, b = square(100, 300), square(450, 439)
    assert BINARY_RULES["LeftOf"].evidence(a, b) == "right edge 150 < centre x 450"
    assert BINARY_RULES["RightOf"].evidence(a, b) == "left edge 50 ≤ centre x 450"
    assert BINARY_RULES["AlignedHorizontally"].evidence(a, b) == "centre y 300 and 439: diff 139 ≥ 100"
    assert BINARY_RULES["LargerThan"].evidence(a, b) == "area 10000 ≤ 10000"
    assert UNARY_RULES["OnLeftSide"].evidence(a) == "centre x 100 < 500"
    assert UNARY_RULES["OnRightSide"].evidence(a) == "centre x 100 ≤ 500"
    assert UNARY_RULES["InCenter"].evidence(square(400, 200)) == "centre y 200 ≤ 333.333"
    assert UNARY_RULES["InCenter"].evidence(square(400, 400)) == (
        "centre x 400 > 333.333 and < 666.667, centre y 400 > 333.333 and < 666.667"
    )


def test_every_geometric_predicate_of_knolling_has_a_rule() -> None:
    words = {"Is", "Has"}
    assert set(vocabulary("knolling").predicates) == words | set(UNARY_RULES) | set(BINARY_RULES)


_numbers = st.one_of(st.integers(0, 1000), st.floats(0, 1000), st.sampled_from([0.1, 100.1, 200.2, 333.3, 500, 666.6]))
_boxes = st.builds(
    lambda x, y: Box(min(x), min(y), max(x), max(y)), st.tuples(_numbers, _numbers), st.tuples(_numbers, _numbers)
)


@given(st.lists(_boxes, min_size=1, max_size=30), st.data())
def test_sets_of_partners_are_what_the_rules_say_one_by_one(boxes: list[Box], data: st.DataObject) -> None:
    """Also for numbers that round: the fast way must not differ in the last bit."""
    scene = Scene.of([SceneObject("cup", box) for box in boxes])
    everything = (1 << len(boxes)) - 1
    some = data.draw(st.integers(1, everything))
    among = data.draw(st.integers(0, everything))
    for predicate in BINARY_RULES:
        seconds, firsts = scene.seconds(predicate, some, among), scene.firsts(predicate, some, among)
        for number, obj in enumerate(scene.objects):
            others = [scene.objects[i] for i in range(len(boxes)) if some >> i & 1]
            inside = bool(among >> number & 1)
            assert bool(seconds >> number & 1) is (
                inside and any(atom_truth(predicate, [other, obj]) for other in others)
            )
            assert bool(firsts >> number & 1) is (
                inside and any(atom_truth(predicate, [obj, other]) for other in others)
            )
    for predicate, rule in UNARY_RULES.items():
        holding = scene.having(predicate, None)
        assert [bool(holding >> i & 1) for i in range(len(boxes))] == [rule.holds(box) for box in boxes]
        assert Scene(scene.objects).having(predicate, None, among) == holding & among


def test_measures_of_a_box() -> None:
    box = Box(10, 20, 40, 100)
    assert (box.center_x, box.center_y, box.area) == (25, 60, 2400)
    assert str(box) == "[10 20 40 100]"
    assert math.isclose(UNARY_RULES["InCenter"].low * 3, 1000)
