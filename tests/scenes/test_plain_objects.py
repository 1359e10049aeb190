"""Most objects have a label, a colour and a box, and are read by a short cut: it must read what the long way reads."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.scenes.objects import Box, SceneError, SceneObject
from formalimg.scenes.rules import BINARY_RULES
from formalimg.scenes.scene import Scene
from tests.support.sizes import tries

KEYS = ("label", "color", "box_2d", "material", "shape", "state")
NUMBERS = st.sampled_from([0, 5, 5.5, 7, 1000, -0.0, -1, 1000.5, float("nan"), True, 10**400, "1"])
NEAR_THE_EDGE = st.tuples(*[st.sampled_from([0, 5, 5.5, 1000, 1001, -1])] * 4).map(list)
WORDS = st.sampled_from(["cup", "red", "other", "", None, 3, ["red"]])
BOXES = st.one_of(NEAR_THE_EDGE, st.lists(NUMBERS, min_size=3, max_size=5), st.tuples(*[NUMBERS] * 4), WORDS)
ENTRIES = st.one_of(
    st.fixed_dictionaries({"label": st.just("cup"), "color": st.just("red"), "box_2d": NEAR_THE_EDGE}),
    st.fixed_dictionaries({"label": WORDS, "color": WORDS, "box_2d": BOXES}),
    st.dictionaries(st.sampled_from(KEYS), st.one_of(WORDS, BOXES), max_size=4),
    st.fixed_dictionaries({"label": st.just("cup"), "box_2d": st.just([1, 2, 3, 4])}, optional={"shape": WORDS}),
    WORDS,
)


def read(entries: list[Any]) -> object:
    try:
        objects = Scene.from_json({"objects": entries}).objects
    except SceneError as error:
        return error.problems
    return [(obj, [type(number) for number in obj.box]) for obj in objects]


@settings(max_examples=tries(80, 2000), deadline=None)
@given(st.lists(ENTRIES, max_size=3))
def test_a_key_that_nobody_knows_changes_nothing(entries: list[Any]) -> None:
    """Such a key is ignored, and objects that have one are read the long way."""
    slowly = [{**entry, "note": 1} if isinstance(entry, dict) else entry for entry in entries]
    assert repr(read(entries)) == repr(read(slowly))


def test_most_objects_are_plain() -> None:
    plain = {"label": "cup", "color": None, "box_2d": [0, 0.5, 1000, 1000]}
    assert read([plain]) == [(SceneObject("cup", Box(0, 0.5, 1000, 1000)), [int, float, int, int])]
    assert read([{"label": "cup", "shape": 3, "box_2d": [1, 2, 3, 4]}]) == (
        "objects[0] (cup): shape must be a word or null",
    )


LARGE = st.builds(int.__add__, st.sampled_from([0, 2**25, 2**27, 2**53]), st.integers(0, 2))


@settings(max_examples=tries(60, 1000), deadline=None)
@given(st.lists(st.tuples(*[st.one_of(LARGE, st.floats())] * 4), max_size=4))
def test_arrays_never_round(numbers: list[tuple[float, float, float, float]]) -> None:
    """Numbers of any size: all pairs at once are those of the rules, or None."""
    boxes = [Box(*four) for four in numbers]
    scene = Scene.of(SceneObject("cup", box) for box in boxes)
    for predicate, rule in BINARY_RULES.items():
        pairs = scene.pairs(predicate)
        if pairs is not None:
            assert pairs.tolist() == [[rule.holds(first, second) for second in boxes] for first in boxes]


def test_areas_that_arrays_would_round_are_compared_exactly() -> None:
    one, other = Box(0, 0, 2**27 + 1, 2**27 + 1), Box(0, 0, 2**27, 2**27 + 2)
    scene = Scene.of([SceneObject("cup", one), SceneObject("cup", other)])
    assert (one.area - other.area, scene.pairs("LargerThan")) == (1, None)
    assert best_binding("(exists ?x (exists ?y (LargerThan ?x ?y)))", scene).bindings == {"x": 0, "y": 1}
