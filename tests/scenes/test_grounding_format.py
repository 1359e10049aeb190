"""The published grounding format: read exactly, written back, and every flaw named."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.logic.errors import FormulaError
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneError, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation


def entry(**changes: object) -> dict[str, object]:
    return {"label": "cup", "color": "red", "box_2d": [1, 2, 3, 4], **changes}


def test_reading() -> None:
    scene = Scene.from_json({"image_file": "7", "objects": [entry(), entry(color=None), entry(color="other")]})
    assert scene.objects[0] == SceneObject("cup", Box(1, 2, 3, 4), "red")
    assert [obj.color for obj in scene.objects] == ["red", None, "other"]
    assert len(scene) == 3


def test_a_scene_may_be_empty() -> None:
    assert len(Scene.from_json({"objects": []})) == 0


def test_a_box_may_be_as_thin_as_a_line() -> None:
    assert Scene.from_json({"objects": [entry(box_2d=[5, 0, 5, 1000])]}).objects[0].box.area == 0


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, 'a scene is an object with "objects"'),
        ([entry()], 'a scene is an object with "objects"'),
        ({"things": []}, 'a scene is an object with "objects"'),
        ({"objects": None}, "null: whoever made this scene could not read the image"),
        ({"objects": "cup"}, "must be a list"),
        ({"objects": ["cup"]}, r"objects\[0\] must be an object"),
        ({"objects": [entry(label=None)]}, r"objects\[0\] has no label"),
        ({"objects": [entry(label="")]}, r"objects\[0\] has no label"),
        ({"objects": [entry(box_2d=None)]}, r"objects\[0\] \(cup\) has no box_2d"),
        ({"objects": [{"label": "cup"}]}, r"objects\[0\] \(cup\) has no box_2d"),
        ({"objects": [entry(box_2d=[1, 2, 3])]}, "must be four numbers"),
        ({"objects": [entry(box_2d=[1, 2, 3, "4"])]}, "must be four numbers"),
        ({"objects": [entry(box_2d=[1, 2, 3, True])]}, "must be four numbers"),
        ({"objects": [entry(box_2d=[1, 2, 3, float("nan")])]}, "must be four numbers"),
        ({"objects": [entry(box_2d=[1, 2, 3, 10**400])]}, "must be four numbers"),
        ({"objects": [entry(box_2d=[3, 2, 1, 4])]}, r"\[3 2 1 4\] has its corners swapped"),
        ({"objects": [entry(box_2d=[1, 4, 3, 2])]}, "corners swapped"),
        ({"objects": [entry(box_2d=[-1, 2, 3, 4])]}, "leaves the canvas of 0 to 1000"),
        ({"objects": [entry(box_2d=[1, 2, 3, 1000.5])]}, "leaves the canvas"),
        ({"objects": [entry(color=["red"])]}, "color must be a word or null"),
        ({"objects": [entry(state=[3])]}, "state must be a word or a list"),
        ({"objects": [entry()], "relations": "On"}, '"relations" must be a list'),
        ({"objects": [entry()], "relations": [["On", 0, 1]]}, r"relations\[0\] must be"),
        ({"objects": [entry()], "relations": [["On", False, 0]]}, r"relations\[0\] must be"),
    ],
)
def test_flaws_are_named(data: object, says: str) -> None:
    with pytest.raises(SceneError, match=says):
        Scene.from_json(data)


def test_all_flaws_are_named_at_once() -> None:
    with pytest.raises(SceneError) as caught:
        Scene.from_json({"objects": [entry(box_2d=None), entry(), entry(box_2d=[3, 2, 1, 4]), entry(label=3), "x"]})
    assert len(caught.value.problems) == 4
    assert "and 1 more" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_extensions_for_annotated_scenes() -> None:
    data = {
        "objects": [
            entry(label="cat", state=["lying", "sleeping"]),
            entry(label="desk", material="wooden", shape="square", state="open"),
        ],
        "relations": [["On", 0, 1]],
    }
    scene = Scene.from_json(data)
    assert scene.objects[0].states == ("lying", "sleeping")
    assert scene.objects[1].states == ("open",)
    assert scene.relations == frozenset({SceneRelation("On", 0, 1)})
    assert Scene.from_json(scene.to_json()) == scene


@pytest.mark.parametrize("words", [{"color": ""}, {"color": None, "material": "", "shape": "", "state": ["", ""]}])
def test_an_empty_word_is_none(words: dict[str, object]) -> None:
    assert Scene.from_json({"objects": [entry(**words)]}).objects == (SceneObject("cup", Box(1, 2, 3, 4)),)


def test_an_empty_state_decides_nothing() -> None:
    scene = Scene.from_json({"objects": [entry(state=""), entry(state=[])]})
    with pytest.raises(FormulaError, match="records no state of any object"):
        verify("(exists ?x (HasState ?x 'open'))", scene)


_words = st.text(min_size=1, max_size=5)
_maybe = st.one_of(st.none(), _words)
_sides = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(sorted)
_objects = st.builds(
    lambda label, x, y, color, material, shape, states: SceneObject(
        label, Box(x[0], y[0], x[1], y[1]), color, material, shape, tuple(states)
    ),
    _words, _sides, _sides, _maybe, _maybe, _maybe, st.lists(_words, max_size=2),
)  # fmt: skip


@given(st.lists(_objects, max_size=4))
def test_writing_and_reading_are_inverse(objects: list[SceneObject]) -> None:
    scene = Scene.of(objects)
    assert Scene.from_json(scene.to_json()) == scene


_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from(["objects", "label", "color", "box_2d", "state", "relations", "x"]), inner),
    ),
    max_leaves=12,
)


@given(_json)
def test_any_data_is_read_or_refused(data: object) -> None:
    for candidate in (data, {"objects": data}, {"objects": [data]}, {"objects": [entry(box_2d=data)]}):
        try:
            Scene.from_json(candidate)
        except SceneError as error:
            assert error.problems


def test_words_that_a_suite_does_not_know() -> None:
    scene = Scene.from_json({"objects": [entry(label="cutting board"), entry(color="purple"), entry(color="other")]})
    assert scene.unknown_words("knolling") == [
        "objects[0]: knolling has no class 'cutting board'; did you mean 'cutting_board'?",
        "objects[1]: knolling has no color 'purple'",
    ]
    assert scene.unknown_words("natural") == ["objects[0]: natural has no class 'cutting board'"]


def test_relations_that_no_instruction_asks_for() -> None:
    seen = [["on", 0, 1], ["LeftOf", 0, 1], ["On", 1, 0]]
    scene = Scene.from_json({"objects": [entry(), entry()], "relations": seen})
    assert scene.unknown_words("knolling") == [
        "relations: 'LeftOf' is read from boxes, not from records",
        "relations: 'on' decides nothing; did you mean 'On'?",
    ]
