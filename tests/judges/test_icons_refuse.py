"""The grounder for drawings says when an image is none, or when it is not sure; it never guesses and never fails."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from formalimg.drawing.icon_scene import draw, drawable_classes, layout_image
from formalimg.judges.base import Grounding
from formalimg.judges.boxes import match_objects
from formalimg.judges.certificates.grounder_certificate import draw_impostors, random_scenes
from formalimg.judges.grounders.icon_segmentation import drawing_background
from formalimg.judges.grounders.icons import ground_icons
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored
from tests.support.sizes import tries


def test_images_that_are_no_drawings_are_refused() -> None:
    for kind, image in draw_impostors(tries(4, 20), seed=11):
        answer = ground_icons(image)
        assert isinstance(answer, Unscored), kind
        assert answer.reason == "not understood"
        assert "vision-language model" in answer.detail


def test_layouts_are_no_drawings() -> None:
    (scene,) = random_scenes(1, seed=2)
    assert isinstance(ground_icons(layout_image(scene, 2048)), Unscored)


def test_a_single_strange_object_is_enough_to_refuse() -> None:
    cup = SceneObject("cup", Box(100, 100, 300, 270), "red")
    image = draw(Scene.of([cup]))
    assert isinstance(ground_icons(image), Grounding)
    image.paste((40, 200, 90), (600, 600, 700, 680))
    answer = ground_icons(image)
    assert isinstance(answer, Unscored)
    assert "[585 585 684 665]" in answer.detail
    assert len(answer.evidence["things"]) == 2  # type: ignore[arg-type]


@given(
    labels=st.tuples(st.sampled_from(drawable_classes()), st.sampled_from(drawable_classes())),
    moved=st.tuples(st.integers(-210, 210), st.integers(-210, 210)),
)
@settings(max_examples=tries(5, 30), deadline=None)
def test_objects_on_top_of_one_another_are_read_right_or_not_at_all(
    labels: tuple[str, str], moved: tuple[int, int]
) -> None:
    x, y = moved
    below = SceneObject(labels[0], Box(400, 400, 600, 600), "red")
    above = SceneObject(labels[1], Box(400 + x, 400 + y, 600 + x, 600 + y), "blue")
    answer = ground_icons(draw(Scene.of([below, above])))
    if isinstance(answer, Grounding) and max(map(abs, moved)) > 20:
        assert len(match_objects(Scene.of([below, above]), answer.scene)) == 2


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32), st.floats(0, 0.5))
@settings(max_examples=60, deadline=None)
def test_no_image_is_too_strange(width: int, height: int, seed: int, share: float) -> None:
    """Random spots on the background of drawings, in images down to a single pixel."""
    chance = np.random.default_rng(seed)
    pixels = np.full((height, width, 3), drawing_background(), np.uint8)
    spots = chance.random((height, width)) < share
    pixels[spots] = chance.integers(0, 256, (int(spots.sum()), 3))
    answer = ground_icons(Image.fromarray(pixels))
    assert isinstance(answer, Grounding | Unscored)
    assert spots.any() or isinstance(answer, Grounding)


def test_an_image_of_countless_parts_is_refused_at_once() -> None:
    image = draw(Scene.of([]))
    pixels = np.array(image)
    pixels[::8, ::8] = 0
    answer = ground_icons(Image.fromarray(pixels))
    assert isinstance(answer, Unscored)
    assert "separate parts" in answer.detail
