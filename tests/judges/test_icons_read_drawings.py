"""The grounder for drawings reads them back: every class, every colour, boxes to the pixel, in any size."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter

import formalimg
from formalimg.drawing.icon_scene import draw, drawable_classes, natural_aspect
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.certificates.grounder_certificate import random_scenes
from formalimg.judges.grounders.icons import IconGrounder, ground_icons
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored
from tests.support.sizes import tries

COLORS = (*vocabulary("knolling").words["color"], "other")


def _read(image: Image.Image) -> Scene:
    answer = ground_icons(image)
    assert isinstance(answer, Grounding), answer
    return answer.scene


def _assert_same(found: Scene, truth: Scene, tolerance: float) -> None:
    """The same objects, each within a tolerance of its box; there is no order among them."""
    left = list(found.objects)
    for obj in truth.objects:
        closest_match = min(left, key=lambda other: _difference(other.box, obj.box))
        assert (closest_match.label, closest_match.color) == (obj.label, obj.color or "other"), obj
        assert _difference(closest_match.box, obj.box) <= tolerance, (obj, closest_match)
        left.remove(closest_match)
    assert not left


def _difference(one: Box, other: Box) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def _table(labels: list[tuple[str, str]]) -> Scene:
    """Objects in natural shapes, one in each cell of a table of six by six."""
    objects = []
    for number, (label, color) in enumerate(labels):
        aspect = natural_aspect(label)
        width, height = round(120 * min(1, aspect)), round(120 * min(1, 1 / aspect))
        x, y = 30 + number % 6 * 160, 30 + number // 6 * 160
        objects.append(SceneObject(label, Box(x, y, x + width, y + height), color))
    return Scene.of(objects)


def test_every_class_is_read_in_every_colour() -> None:
    kinds = [(label, color) for label in drawable_classes() for color in COLORS]
    for start in range(0, len(kinds), 36 * tries(3, 1)):
        scene = _table(kinds[start : start + 36])
        _assert_same(_read(draw(scene, 700)), scene, tolerance=2)


@pytest.mark.parametrize("size", [768, 1024, 1400][:: tries(2, 1)])
def test_random_scenes_are_read_in_any_size(size: int) -> None:
    for scene in random_scenes(tries(1, 4), seed=size):
        _assert_same(_read(draw(scene, size)), scene, tolerance=2 if size < CANVAS else 1)


@given(
    label=st.sampled_from(drawable_classes()),
    color=st.sampled_from(COLORS),
    sides=st.tuples(st.integers(40, 400), st.integers(40, 400)).filter(lambda sides: 1 / 7 < sides[0] / sides[1] < 7),
    place=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
@settings(max_examples=tries(6, 40), deadline=None)
def test_objects_in_boxes_of_any_shape_are_read_right_or_not_at_all(
    label: str, color: str, sides: tuple[int, int], place: tuple[float, float]
) -> None:
    """A laptop squeezed to a quarter of its width may be doubted, but never be taken for something else."""
    left, top = (round(share * (CANVAS - side)) for share, side in zip(place, sides, strict=True))
    scene = Scene.of([SceneObject(label, Box(left, top, left + sides[0], top + sides[1]), color)])
    found = ground_icons(draw(scene))
    if not isinstance(found, Unscored):
        _assert_same(found.scene, scene, tolerance=1)
    elif 1 / 2 < sides[0] / sides[1] / natural_aspect(label) < 2:
        raise AssertionError(f"what is hardly out of shape must be read: {found.detail}")


def _packed(image: Image.Image, file_type: str) -> Image.Image:
    file = io.BytesIO()
    image.save(file, file_type, quality=60)
    return Image.open(file).convert("RGB")


@pytest.mark.parametrize(
    "changed",
    [
        lambda image: _packed(image, "JPEG"),
        lambda image: _packed(image, "WEBP"),
        lambda image: image.filter(ImageFilter.GaussianBlur(1.5)),
        lambda image: image.resize((512, 512), Image.Resampling.LANCZOS),
        lambda image: image.resize((2048, 2048), Image.Resampling.BICUBIC),
        lambda image: image.resize((1024, 640), Image.Resampling.BICUBIC),
        lambda image: image.convert("RGBA"),
    ],
    ids=["jpeg", "webp", "blurred", "halved", "doubled", "squeezed", "with transparency"],
)
def test_drawings_are_read_after_what_happens_to_images(changed: Callable[[Image.Image], Image.Image]) -> None:
    for scene in random_scenes(tries(1, 3), seed=31):
        _assert_same(_read(changed(draw(scene))), scene, tolerance=3)


def test_witnesses_still_satisfy_their_formulas_when_read_back() -> None:
    for item in formalimg.load("knolling")[:: tries(480, 160)]:
        assert item.spec.witness is not None
        found = _read(draw(item.spec.witness))
        _assert_same(found, item.spec.witness, tolerance=1)
        assert verify(item.spec.formula, found).passed, item.id


def test_an_empty_canvas_holds_nothing_for_sure() -> None:
    assert ground_icons(draw(Scene.of([]))) == Grounding(Scene.of([]), 1.0, {"things": []})


def test_objects_are_seen_whether_asked_for_or_not() -> None:
    scene = Scene.of(
        [SceneObject("cup", Box(100, 100, 300, 270), "red"), SceneObject("pen", Box(500, 100, 540, 340), "blue")]
    )
    image = draw(scene)
    grounder = IconGrounder()
    answer = asyncio.run(grounder.ground(LoadedImage(b"", image), ["cup"]))
    assert answer == ground_icons(image)
    assert isinstance(answer, Grounding)
    _assert_same(answer.scene, scene, tolerance=1)
    assert (grounder.name, grounder.settings["version"]) == ("builtin/icons", 1)
    assert grounder.concurrency >= 1


def test_what_was_seen_is_told_object_by_object() -> None:
    answer = ground_icons(draw(Scene.of([SceneObject("lemon", Box(100, 100, 300, 240), "yellow")])))
    objects = answer.evidence["things"]
    assert isinstance(objects, list)
    assert [(entry["looks"], entry["confidence"]) for entry in objects] == [("yellow lemon", 1.0)]
    assert objects[0]["distance"] < objects[0]["rival_distance"]
