"""A group of scenes says where predicates hold just as each of its scenes does."""

from __future__ import annotations

import random

import numpy as np

from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene
from formalimg.scenes.spatial_relations import ClearScene

LABELS = ("cup", "fork", "plate")
COLORS = ("red", "other", None)
ASKED = [*((rule, None) for rule in UNARY_RULES), *(("Is", word) for word in (*LABELS, "spoon"))]
ASKED += [(predicate, word) for predicate in ("Has", "HasColor") for word in ("red", "blue", "other")]


def _scene(chance: random.Random, size: int) -> Scene:
    # On a coarse grid, so that edges, centres and bounds are often equal.
    corners = [sorted(chance.choices(range(0, 1001, 125), k=2)) for _ in range(2 * size)]
    boxes = [Box(x[0], y[0], x[1], y[1] + chance.choice([0, 0.5])) for x, y in zip(*[iter(corners)] * 2, strict=True)]
    return Scene.of(SceneObject(chance.choice(LABELS), box, chance.choice(COLORS)) for box in boxes)


def _bits(objects: int, width: int) -> list[bool]:
    return [bool(objects >> obj & 1) for obj in range(width)]


def test_sets_and_pairs_are_those_of_each_scene() -> None:
    chance = random.Random(4)
    for _ in range(10):
        scenes = [_scene(chance, chance.randint(1, 6)) for _ in range(5)]
        group = Scene.grouped(scenes)
        assert group is not None
        sets, pairs = group.sets(ASKED), group.pairs([*BINARY_RULES, "On"])
        assert sets is not None
        assert pairs.keys() == BINARY_RULES.keys()
        for number, scene in enumerate(scenes):
            for row, (predicate, word) in zip(sets[number], ASKED, strict=True):
                assert row.tolist() == _bits(scene.having(predicate, word), sets.shape[2])
            for predicate, tables in pairs.items():
                alone = scene.pairs(predicate)
                assert alone is not None
                assert np.array_equal(tables[number, : len(scene), : len(scene)], alone)


def test_what_arrays_cannot_say_is_left_to_each_scene() -> None:
    plain = Scene.of([SceneObject("cup", Box(0, 0, 9, 9), "red")])
    wooden = Scene.of([SceneObject("cup", Box(0, 0, 9, 9), material="wood")])
    huge = Scene.of([SceneObject("cup", Box(0, 0, 2**60, 9))])
    for scene, asked, is_said in (
        (plain, ("Has", "red"), True),
        (wooden, ("Is", "cup"), True),
        (wooden, ("Has", "wood"), False),
        (plain, ("HasMaterial", "wood"), False),
        (huge, ("OnLeftSide", None), False),
    ):
        group = Scene.grouped([plain, scene])
        assert group is not None
        assert (group.sets([asked]) is not None) is is_said
    assert ClearScene.grouped([plain]) is None  # its directions are other rules
