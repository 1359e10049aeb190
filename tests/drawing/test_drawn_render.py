"""Rendering of drawn scenes: boxes are filled and not left, later objects hide earlier ones, fronts hide contents."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.icon import palette
from formalimg.drawing.icon_scene import DrawingError
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.svg import ground
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation
from tests.support.sizes import tries

CATALOG = files("formalimg.drawing") / "catalog.d"
CAT = SceneObject("cat", Box(100, 200, 420, 500), "red")
FRIDGE = SceneObject("refrigerator", Box(250, 250, 550, 800), "blue")


def drawn(*objects: SceneObject, records: tuple[tuple[str, int, int], ...] = (), **more: object) -> DrawnScene:
    return DrawnScene(Scene.of(objects, [SceneRelation(*each) for each in records]), **more)  # type: ignore[arg-type]


def pixels(scene: DrawnScene, size: int = 250) -> NDArray[np.int16]:
    return np.asarray(draw_scene(scene, size), np.int16)


def painted(scene: DrawnScene, size: int = 250) -> NDArray[np.bool]:
    return np.asarray((np.abs(pixels(scene, size) - np.asarray(ground(size), np.int16)) > 6).any(axis=2))


def area_of(scene: DrawnScene, color: str) -> int:
    """Count the pixels of a colour's body."""
    body = np.array(rgb(palette().colors[color].body))
    return int((np.abs(pixels(scene) - body) < 3).all(axis=2).sum())


@pytest.mark.parametrize(
    "look",
    [
        {},
        {"states": ("sleeping",)},
        {"material": "wooden"},
        {"shape": "heart"},
        {"states": ("wet",)},
        {"material": "metal", "shape": "square", "states": ("rusty",), "color": None},
    ],
)
def test_an_object_fills_its_box_and_nothing_is_painted_outside(look: dict[str, object]) -> None:
    mask = painted(drawn(replace(CAT, **look)))  # type: ignore[arg-type]
    rows, columns = np.nonzero(mask)
    assert abs(rows.min() - 50) <= 3
    assert abs(rows.max() - 124) <= 3
    assert abs(columns.min() - 25) <= 3
    assert abs(columns.max() - 104) <= 3


REFERENCES = tuple(tomllib.loads((CATALOG / "references.toml").read_text("utf-8"))["class"])


@pytest.mark.parametrize("label", REFERENCES[:: tries(4, 1)])
def test_a_reference_object_fills_its_box_in_its_own_colour(label: str) -> None:
    icon = drawn_catalog().icon(label)
    assert icon is not None
    down = min(800, round(800 / icon.aspect))
    scene = drawn(SceneObject(label, Box(100, 100, 100 + round(down * icon.aspect), 100 + down), "red"))
    rows, columns = np.nonzero(painted(scene))
    edges = np.array((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
    assert np.abs(edges - np.array(scene.scene.objects[0].box) / 4).max() <= 2
    tones = palette().colors["red"]
    reds = sum(int((np.abs(pixels(scene) - np.array(rgb(tone))) < 3).all(axis=2).sum()) for tone in tones)
    assert reds > 0.4 * len(rows)


def rgb(tone: str) -> list[int]:
    return [int(tone[place : place + 2], 16) for place in (1, 3, 5)]


def test_the_same_scene_gives_the_same_pixels_and_each_word_changes_them() -> None:
    looks = [
        {},
        {"color": "green"},
        {"material": "glass"},
        {"shape": "circle"},
        {"states": ("sleeping",)},
        {"states": ("dirty",)},
    ]
    images = [pixels(drawn(replace(CAT, **look))) for look in looks]  # type: ignore[arg-type]
    images.append(pixels(drawn(CAT, style="pixel art")))
    assert (images[0] == pixels(drawn(CAT))).all()
    assert all((one != other).any() for one, other in pairwise(images))


def test_what_is_painted_later_hides_what_is_behind() -> None:
    cat_behind, cat_in_front = drawn(CAT, FRIDGE, depth=(0, 1)), drawn(CAT, FRIDGE, depth=(1, 0))
    assert area_of(cat_behind, "red") < area_of(cat_in_front, "red") == area_of(drawn(CAT), "red")


def test_the_front_of_a_container_hides_the_lower_end_of_what_is_inside() -> None:
    basket = SceneObject("basket", Box(200, 400, 700, 900), "brown")
    cat = SceneObject("cat", Box(350, 380, 550, 700), "red")
    inside = area_of(drawn(basket, cat, records=(("In", 1, 0),)), "red")
    before = area_of(drawn(basket, cat), "red")
    assert 0.2 * before < inside < 0.9 * before


def test_what_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(DrawingError, match="a cat cannot be 'mauve'"):
        draw_scene(drawn(replace(CAT, color="mauve")))
    with pytest.raises(DrawingError, match="too small"):
        draw_scene(drawn(replace(CAT, box=Box(1, 1, 2, 2))))
