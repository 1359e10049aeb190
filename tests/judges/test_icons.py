"""The grounder for drawings reads them back to the pixel, or says that it cannot; it never guesses and never fails."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from importlib.resources import files
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from tools.draw_looks import draw_looks

import formalimg
from formalimg.drawing.icon_scene import draw, drawable_classes, layout_image, natural_aspect
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.boxes import match_objects
from formalimg.judges.certificates.grounder_certificate import draw_impostors, random_scenes
from formalimg.judges.grounders import icon_recognition
from formalimg.judges.grounders.icon_recognition import LOOKS_FILE, CellGrid, list_kinds
from formalimg.judges.grounders.icon_segmentation import (
    PixelBox,
    SmallIcon,
    drawing_background,
    find_unexplained,
    reduce_blocks,
)
from formalimg.judges.grounders.icons import IconGrounder, ground_icons
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.tiny.model import enlarge
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored
from tests.support.sizes import only_in_full, tries

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


# --- what is refused


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


# --- images of 128 pixels

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


# --- templates


@only_in_full
def test_the_looks_that_ship_are_those_that_are_drawn() -> None:
    drawn = draw_looks()
    with (files("formalimg.judges.grounders") / LOOKS_FILE).open("rb") as file, np.load(file) as shipped:
        assert len(list_kinds()) == len(shipped["bold"]) == len(shipped["fine"])
        for name, fresh in drawn.items():
            # Another version of the library that draws may round a shade differently, and nothing more.
            assert np.abs(shipped[name].astype(int) - fresh.astype(int)).max() <= 8, name


def test_bounds_are_below_the_distances_at_any_fineness_and_softness() -> None:
    chance = np.random.default_rng(6)
    for grid in (CellGrid(24, 24), CellGrid(6, 8)):
        known = icon_recognition.load_templates(grid)
        every = np.arange(len(known.looks))
        cells = chance.uniform(0, 255, (6, known.bold.shape[1])).astype(np.float32)
        cells[1:4] = known.bold[chance.integers(0, len(every), 3)] + chance.normal(0, 5, cells[1:4].shape)
        bounds = icon_recognition._lower_bounds(cells, grid)
        assert (bounds <= _all_distances(cells, grid) ** 2).all()


def test_looks_ruled_out_on_a_coarser_grid_are_never_the_nearest() -> None:
    """Cells of all kinds: templates bolder, softer and noisier than drawn, mixed with each other, and plain noise."""
    chance = np.random.default_rng(5)
    for grid in (CellGrid(24, 24), CellGrid(12, 24), CellGrid(8, 12), CellGrid(6, 6), CellGrid(24, 8)):
        known = icon_recognition.load_templates(grid)
        every = np.arange(len(known.looks))
        chosen = chance.integers(0, len(every), 12)
        amounts = chance.uniform(-0.5, 1.5, (2, 12, 1)).astype(np.float32)
        cells = known.bold[chosen] + amounts[0] * known.towards_fine[chosen] + amounts[1] * known.towards_soft[chosen]
        cells[4:8] += chance.normal(0, 12, cells[4:8].shape)
        cells[8] = known.bold[chosen[9:11]].mean(axis=0)
        cells[9] = chance.uniform(0, 255, cells.shape[1])
        all_distances = _all_distances(cells, grid)
        found = icon_recognition._find_nearest(cells, grid)
        for distances, nearest in zip(all_distances, found, strict=True):
            expected = icon_recognition._nearest_of(distances, every, grid)
            assert (nearest.best, nearest.rival) == (expected.best, expected.rival)
            assert nearest.distance == pytest.approx(expected.distance, abs=0.05)
            assert nearest.rival_distance == pytest.approx(expected.rival_distance, abs=0.05)


def _all_distances(cells: NDArray[np.float32], grid: CellGrid) -> NDArray[np.float32]:
    objects, rows = np.indices((len(cells), len(icon_recognition.load_templates(grid).looks)))
    return icon_recognition._compute_distances(cells, grid, objects.ravel(), rows.ravel()).reshape(objects.shape)
