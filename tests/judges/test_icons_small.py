"""Images of 128 pixels, read by a learned detector: what it finds, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from PIL import Image

from formalimg import Box, Scene, SceneObject, draw
from formalimg.drawing.icon_scene import natural_aspect
from formalimg.judges.base import Grounding
from formalimg.judges.grounders.icon_segmentation import PixelBox, SmallIcon, find_unexplained, reduce_blocks
from formalimg.judges.grounders.icons import ground_icons
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.tiny.model import enlarge
from formalimg.types import Unscored

WORDS = vocabulary("knolling").words


def _scenes(count: int) -> Iterator[Scene]:
    """Scenes of some objects of a usual size, each in a cell of its own."""
    rng = Random(5)
    for _ in range(count):
        objects = []
        for cell in rng.sample(range(9), rng.randint(1, 5)):
            label = rng.choice(WORDS["class"])
            width = min(260.0, 170 * natural_aspect(label) ** 0.5)
            height = min(260.0, 170 / natural_aspect(label) ** 0.5)
            left, top = 30 + 320 * (cell % 3), 30 + 320 * (cell // 3)
            box = Box(round(left), round(top), round(left + width), round(top + height))
            objects.append(SceneObject(label, box, rng.choice(WORDS["color"])))
        yield Scene.of(objects)


def _names(scene: Scene) -> list[tuple[str, str | None]]:
    return sorted((obj.label, obj.color) for obj in scene.objects)


def test_drawings_are_read_whatever_they_were_enlarged_to() -> None:
    read = right = 0
    scenes = list(_scenes(60))
    for scene in scenes:
        small = draw(scene, 128)
        found = ground_icons(small)
        assert ground_icons(enlarge(small, 512)) == found
        if isinstance(found, Grounding):
            read += 1
            right += _names(found.scene) == _names(scene)
            for obj in found.scene.objects:
                planned = min(
                    scene.objects,
                    key=lambda other: abs(other.box.xmin - obj.box.xmin) + abs(other.box.ymin - obj.box.ymin),
                )
                assert max(abs(a - b) for a, b in zip(obj.box, planned.box, strict=True)) < 24
    assert read >= 0.85 * len(scenes)
    assert right >= 0.97 * read


def test_an_image_without_objects_is_an_empty_scene() -> None:
    found = ground_icons(draw(Scene(()), 128))
    assert isinstance(found, Grounding)
    assert found.scene.objects == ()


@pytest.mark.parametrize("factor", [1, 4])
def test_what_is_no_drawing_is_refused(factor: int) -> None:
    rng = np.random.default_rng(1)
    noise = Image.fromarray(rng.integers(0, 255, (128, 128, 3), dtype=np.uint8))
    scrawl = draw(Scene(()), 128)
    for step in range(40):
        scrawl.putpixel((30 + step, 30 + (step * 7) % 40), (200, 0, 0))
        scrawl.putpixel((31 + step, 30 + (step * 7) % 40), (0, 0, 200))
    for image in (noise, scrawl):
        assert isinstance(ground_icons(enlarge(image, 128 * factor)), Unscored)


def test_drawings_on_another_background_are_refused() -> None:
    scene = Scene.of([SceneObject("cup", Box(100, 100, 300, 300), "red")])
    image = draw(scene, 128)
    assert isinstance(ground_icons(image), Grounding)
    pixels = np.array(image)
    pixels[(pixels == pixels[0, 0]).all(axis=-1)] = (255, 255, 255)
    found = ground_icons(Image.fromarray(pixels))
    assert isinstance(found, Unscored)
    assert "background" in found.detail


def test_what_the_detector_does_not_name_is_not_passed_over() -> None:
    component = PixelBox(60, 60, 90, 70)
    cup = SmallIcon(PixelBox(10, 10, 30, 30), "cup", "red", 0.9, "bowl")
    assert find_unexplained([PixelBox(10, 10, 30, 30)], [cup]) is None
    assert find_unexplained([PixelBox(10, 10, 30, 30), component], [cup]) == component
    assert find_unexplained([PixelBox(10, 10, 45, 30)], [cup]) == PixelBox(10, 10, 45, 30)


def test_only_images_whose_pixels_are_squares_are_reduced() -> None:
    small = draw(next(_scenes(1)), 128)
    large = small.resize((512, 512), Image.Resampling.NEAREST)
    assert reduce_blocks(large) == small
    assert reduce_blocks(small.resize((512, 512), Image.Resampling.BICUBIC)) is None
    assert reduce_blocks(small.resize((500, 500), Image.Resampling.NEAREST)) is None
    assert reduce_blocks(draw(next(_scenes(1)), 512)) is None
