"""The colour of an object is read from the pixels in its box."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFilter

from formalimg.drawing.icon_scene import draw, drawable_classes, natural_aspect
from formalimg.judges.grounders.colors import color_in, lab
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.sizes import tries

NINE = vocabulary("knolling").words["color"]
COLORS = vocabulary("natural").words["color"]

TYPICAL = {
    "red": "#c8102e",
    "green": "#228b22",
    "blue": "#1e50c8",
    "yellow": "#ffd800",
    "black": "#101010",
    "white": "#fafafa",
    "brown": "#6f4526",
    "pink": "#ff88b8",
    "gray": "#808080",
    "orange": "#ff8000",
    "purple": "#800080",
}
"""What everyone would call so; none of it is a tone of ours."""

OUTSIDE = ("#008b8b", "#40e0d0")
"""Teal and turquoise have none of the words."""


@pytest.mark.parametrize(
    ("rgb", "expected"),
    [  # as tables of colours give them, for sRGB under D65
        ((255, 255, 255), (100.0, 0.0, 0.0)),
        ((0, 0, 0), (0.0, 0.0, 0.0)),
        ((10, 10, 10), (2.74, 0.0, 0.0)),
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 255, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((128, 128, 128), (53.59, 0.0, 0.0)),
    ],
)
def test_lab_is_what_tables_say(rgb: tuple[int, ...], expected: tuple[float, ...]) -> None:
    assert lab(np.array(rgb)) == pytest.approx(expected, abs=0.02)


def test_drawn_objects_have_the_colour_they_were_drawn_in() -> None:
    found = []
    labels = drawable_classes()[:: tries(10, 1)]
    for label in labels:
        scene = _one_of_each_color(label)
        image = draw(scene, size=384)
        found += [(color_in(image, obj.box).name, obj.color, label) for obj in scene.objects]
    wrong = [entry for entry in found if (entry[0] if entry[0] in NINE else "other") != entry[1]]
    assert len(found) == 10 * len(labels)
    assert len(wrong) <= 0.02 * len(found), wrong


@pytest.mark.parametrize("ground", ["#ffffff", "#dddddd", "#c9a77a", "#404040"])
@pytest.mark.parametrize("color", COLORS)
def test_a_shaded_object_in_a_loose_box_has_its_colour_on_any_ground(color: str, ground: str) -> None:
    image = _shaded_disc(TYPICAL[color], ground)
    assert color_in(image, Box(180, 180, 820, 820)).name == color


@pytest.mark.parametrize("box", [Box(999, 0, 1000, 1000), Box(0, 999, 1000, 1000), Box(999, 999, 1000, 1000)])
def test_a_sliver_at_the_edge_is_not_black_from_beyond_the_image(box: Box) -> None:
    assert color_in(Image.new("RGB", (10, 10), TYPICAL["yellow"]), box) == ("yellow", 1.0)


@pytest.mark.parametrize("color", COLORS)
def test_an_object_of_the_colour_of_its_ground_has_it_all_the_same(color: str) -> None:
    image = Image.new("RGB", (100, 100), TYPICAL[color])
    assert color_in(image, Box(300, 300, 700, 700)) == (color, 1.0)


@pytest.mark.parametrize("tone", OUTSIDE)
def test_what_has_none_of_the_words_is_other(tone: str) -> None:
    assert color_in(_shaded_disc(tone, "#ffffff"), Box(200, 200, 800, 800)).name == "other"


def test_the_middle_counts_most() -> None:
    image = Image.new("RGB", (200, 200), "white")
    pencil = ImageDraw.Draw(image)
    pencil.rectangle((50, 50, 149, 149), fill=TYPICAL["yellow"])
    pencil.rectangle((70, 50, 129, 149), fill=TYPICAL["blue"])
    seen = color_in(image, Box(250, 250, 750, 750))
    assert seen.name == "blue"
    assert 0.6 < seen.share < 1, "it covers 0.6 of the box, and more of its middle"


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(*[st.floats(0, 1000)] * 4),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.integers(0, 10**6),
)
def test_any_box_in_any_image_has_a_colour(corners: tuple[float, ...], size: tuple[int, int], seed: int) -> None:
    x, y, right, bottom = corners
    box = Box(min(x, right), min(y, bottom), max(x, right), max(y, bottom))
    noise = Image.frombytes("RGB", size, random.Random(seed).randbytes(size[0] * size[1] * 3))
    name, share = color_in(noise, box)
    assert name in (*COLORS, "other")
    assert 0 < share <= 1


def _one_of_each_color(label: str) -> Scene:
    aspect = natural_aspect(label)
    width, height = (200.0, max(60.0, 200 / aspect)) if aspect > 1 else (max(60.0, 200 * aspect), 200.0)
    corners = [(20 + 245 * (number % 4), 20 + 320 * (number // 4)) for number in range(10)]
    return Scene.of(
        SceneObject(label, Box(x, y, x + width, y + height), color)
        for (x, y), color in zip(corners, [*NINE, "other"], strict=True)
    )


def _shaded_disc(tone: str, ground: str) -> Image.Image:
    """A disc that is lighter above than below, blurred and speckled, as in a photograph."""
    image = Image.new("RGB", (200, 200), ground)
    ImageDraw.Draw(image).ellipse((40, 40, 160, 160), fill=tone)
    light = np.linspace(1.08, 0.88, 200)[:, None, None]
    speckles = np.random.default_rng(5).normal(0, 5, (200, 200, 1))
    shaded = np.asarray(image.filter(ImageFilter.GaussianBlur(1.5)), dtype=float) * light + speckles
    return Image.fromarray(shaded.clip(0, 255).astype(np.uint8))
