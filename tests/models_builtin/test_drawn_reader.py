"""The reader draws in the worlds of Natural and ConceptMix what it believes to have read."""

from __future__ import annotations

import pytest

from formalimg.benchmarks.loader import load
from formalimg.drawing.layout import NoDrawing, solve_drawn
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.truth import brief_concepts, concept_holds, verify_drawn
from formalimg.errors import FormalimgError
from formalimg.models.base import ImageRequest, Refused
from formalimg.models.builtin.baselines import Baseline, open_baseline
from formalimg.models.builtin.drawn_parser import read_facts
from formalimg.models.builtin.drawn_reader import brief_of, compose_drawn_reading
from formalimg.models.builtin.drawn_world import MisreadRates
from formalimg.scenes.scene import SceneRelation

NONE = MisreadRates(0, 0, 0, 0, 0, 0)


def _drawn(prompt: str, world: str = "natural", rates: MisreadRates = NONE, seed: int = 0) -> DrawnScene:
    found = compose_drawn_reading(prompt, world, rates, memory=1, seed=seed)
    assert isinstance(found, DrawnScene), found
    return found


def _reader(**options: str) -> Baseline:
    model = open_baseline("reader", options)
    assert isinstance(model, Baseline)
    return model


@pytest.mark.parametrize("world", ["natural", "conceptmix"])
def test_what_is_read_without_failures_passes(world: str) -> None:
    items = [item for item in load(world) if item.level <= 3][::60]
    drawn = [(item, compose_drawn_reading(item.prompt, world, NONE, memory=12)) for item in items]
    scenes = [(item, scene) for item, scene in drawn if isinstance(scene, DrawnScene)]
    assert len(scenes) > len(items) / 3
    for item, scene in scenes:
        if world == "natural":
            if isinstance(solve_drawn(item.spec.formula), NoDrawing):
                continue  # it draws without what no layout shows
            assert verify_drawn(item.spec.formula, scene).passed, item.prompt
        else:
            asked = brief_concepts(brief_of(read_facts(item.prompt, "conceptmix")))
            # A layout that cannot show everything lacks a size or a relation, and nothing else.
            lacking = [each for each in asked if not concept_holds(each, scene)]
            assert all(each.category in ("size", "spatial", "number") for each in lacking), item.prompt


def test_failures_are_drawn() -> None:
    prompt = "A cartoon of a red cup and a white bed."
    scene = _drawn(prompt, rates=MisreadRates(0, 1, 0, 0, 0, 1))
    assert scene.style is None
    assert [obj.color for obj in scene.scene.objects] == [None, None]
    scene = _drawn(prompt)
    assert scene.style == "cartoon"
    assert [obj.color for obj in scene.scene.objects] == ["red", "white"]


def test_what_contradicts_earlier_facts_is_dropped() -> None:
    scene = _drawn("A cup is to the left of a bed. The bed is to the left of the cup.")
    boxes = {obj.label: obj.box for obj in scene.scene.objects}
    assert boxes["cup"].center_x < boxes["bed"].center_x


def test_an_object_stays_in_its_first_place() -> None:
    scene = _drawn("A cat is on a bed. The cat is inside a car. A dog is beside the bed.")
    assert scene.scene.relations == frozenset({SceneRelation("On", 0, 1)})
    assert verify_drawn("(exists ?d (exists ?b (and (Is ?d 'dog') (Is ?b 'bed') (NextTo ?d ?b))))", scene).passed


def test_every_object_of_a_class_is_one_or_two() -> None:
    counts = {len(_drawn("Every cup is red.", seed=seed).scene.objects) for seed in range(8)}
    assert counts == {1, 2}
    assert len(_drawn("Every cup is red and has a spoon inside it.", seed=1).scene.objects) == 2


def test_a_swap_to_an_object_that_cannot_have_it_is_a_loss() -> None:
    rates = MisreadRates(0, 0, 1, 0, 0, 0)
    prompt = "A sleeping cat. A cup."
    assert [obj.states for obj in _drawn(prompt).scene.objects] == [("sleeping",), ()]
    for seed in range(3):
        assert [obj.states for obj in _drawn(prompt, rates=rates, seed=seed).scene.objects] == [(), ()]


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("A photo of a cat.", "cannot be drawn: photo: "),
        ("Nothing that anybody knows.", "the prompt names nothing that can be drawn"),
    ],
)
def test_what_cannot_be_drawn_is_refused_whatever_is_forgotten(prompt: str, reason: str) -> None:
    for rates in (NONE, MisreadRates(1, 1, 1, 1, 1, 1)):
        found = compose_drawn_reading(prompt, "natural", rates, memory=1)
        assert isinstance(found, Refused)
        assert found.reason.startswith(reason)


def test_options_shape_the_images_and_are_settings() -> None:
    assert _reader().settings == {"version": 1, "memory": 12}
    model = _reader(lose_attributes="1", memory="2")
    assert model.settings == {"version": 1, "memory": 2, "lose_attributes": 1.0}
    request = ImageRequest("1", 0, "A red cup and a blue bed.", 0, 128, suite="natural")
    assert model.answer(request) != _reader(lose_attributes="0", swap_attributes="0", lose_objects="0").answer(request)


@pytest.mark.parametrize("text", ["2", "-0.1", "nan", "1e-3", "", "0,5", "1.5", "²"])
def test_a_chance_is_between_0_and_1(text: str) -> None:
    with pytest.raises(FormalimgError, match=r"miscount=.*: give a chance from 0 to 1"):
        _reader(miscount=text)


def test_options_of_drawn_worlds_are_refused_where_they_have_no_effect() -> None:
    with pytest.raises(FormalimgError, match="'lose_style' for natural and conceptmix only: leave it out"):
        _reader(lose_style="0.5").answer(ImageRequest("1", 0, "A red cup.", 0, 128, suite="knolling"))
