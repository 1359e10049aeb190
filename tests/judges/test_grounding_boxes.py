"""Boxes in every convention of chat models, their objects, and colours from pixels."""

from __future__ import annotations

import io
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFilter

from formalimg.drawing.icon_scene import draw, drawable_classes, natural_aspect
from formalimg.judges.base import MAX_OBJECTS, LoadedImage
from formalimg.judges.boxes import KeptBoxes, box_convention, box_overlap
from formalimg.judges.chat_judge import MAX_PIXELS, MAX_SIDE, encode_image, size_on_grid
from formalimg.judges.grounders.colors import color_in, lab
from formalimg.judges.grounders.vlm import (
    SAME_OBJECT,
    BoxFrame,
    SeenThing,
    SeenThings,
    find_problem,
    resolve_objects,
)
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.scripted_chat import numbered
from tests.support.sizes import tries

sides = st.integers(64, 4096)
numbers = st.floats(-10, 1100) | st.integers(-10, 1100) | st.sampled_from([float("nan"), float("inf")])


@pytest.mark.parametrize(
    ("name", "boxes"),
    [
        ("openai/Qwen/Qwen2.5-VL-7B-Instruct", "pixels"),
        ("openai/qwen2.5vl:7b", "pixels"),
        ("transformers/models/qwen2_5_vl", "pixels"),
        ("openai/Qwen/Qwen2-VL-7B-Instruct", "xyxy-1000"),
        ("openai/Qwen/Qwen3-VL-8B-Instruct", "xyxy-1000"),
        ("openai/qwen3-vl:8b", "xyxy-1000"),
        ("gemini/gemini-3-pro-preview", "yxyx-1000"),
        ("openai/google/Gemini-2.5-flash", "yxyx-1000"),
        ("anthropic/claude-sonnet-4-5", "pixels"),
        ("openai/gpt-4o", "xyxy-1000"),
        ("hf/zai-org/GLM-4.5V", "xyxy-1000"),
    ],
)
def test_the_name_of_a_model_tells_how_it_writes_boxes(name: str, boxes: str) -> None:
    assert box_convention(name).name == boxes
    assert box_convention(name, "unit").name == "unit"


@pytest.mark.parametrize(
    ("convention", "written"),
    [
        ("xyxy-1000", [100, 200, 300, 600]),
        ("yxyx-1000", [200, 100, 600, 300]),
        ("pixels", [80, 80, 240, 240]),
        ("unit", [0.1, 0.2, 0.3, 0.6]),
    ],
)
def test_one_box_in_all_conventions(convention: str, written: list[float]) -> None:
    """In an image of 800 by 400 pixels."""
    assert box_convention("", convention).on_canvas(written, 800, 400) == Box(100, 200, 300, 600)


@pytest.mark.parametrize("convention", ["xyxy-1000", "yxyx-1000", "pixels"])
@pytest.mark.parametrize("written", [[0, 0, 1, 1], [0.1, 0.2, 0.3, 0.6], [0, 0.5, 1.0, 1]])
def test_a_box_with_no_number_above_1_looks_like_unit_coordinates(convention: str, written: list[float]) -> None:
    found = box_convention("", convention).on_canvas(written, 800, 400)
    assert isinstance(found, str)
    assert "looks like unit coordinates" in found
    assert isinstance(box_convention("", "unit").on_canvas(written, 800, 400), Box)


def test_a_reply_in_unit_coordinates_is_unreadable_with_that_reason() -> None:
    whole = SeenThing(label="cup", color="red", box_2d=[0, 0, 1, 1])
    problem = find_problem(SeenThings(objects=[whole]), FRAME)
    assert problem == "the box [0, 0, 1, 1] looks like unit coordinates: [xmin, ymin, xmax, ymax] goes from 0 to 1000"


@given(st.sampled_from(["xyxy-1000", "yxyx-1000", "pixels", "unit"]), st.lists(numbers, max_size=6), sides, sides)
def test_whatever_is_written_is_a_good_box_or_a_reason(
    name: str, written: list[float], width: int, height: int
) -> None:
    found = box_convention("", name).on_canvas(written, width, height)
    if isinstance(found, str):
        assert found.startswith("the box [")
        assert "\n" not in found
    else:
        assert 0 <= found.xmin < found.xmax <= 1000
        assert 0 <= found.ymin < found.ymax <= 1000


@given(sides, sides)
def test_images_on_the_grid_are_not_scaled_again(width: int, height: int) -> None:
    across, down = size_on_grid(width, height)
    assert across % 28 == 0
    assert down % 28 == 0
    assert across * down <= MAX_PIXELS or min(across, down) == 28
    assert max(across, down) <= MAX_SIDE
    assert size_on_grid(across, down) == (across, down)
    # A side is off its share by less than one patch.
    scale = min(1, (MAX_PIXELS / (width * height)) ** 0.5, MAX_SIDE / max(width, height))
    assert abs(across - width * scale) < 29
    assert abs(down - height * scale) < 29


def test_a_plain_file_is_sent_as_it_came_with_its_own_type() -> None:
    for form, media_type in (("PNG", "image/png"), ("WEBP", "image/webp"), ("JPEG", "image/jpeg")):
        image = numbered(3, 100, 60, form)
        sent = encode_image(image)
        assert (sent.attachment.data, sent.attachment.media_type) == (image.data, media_type)
        assert (sent.width, sent.height) == (100, 60)


def test_an_image_that_could_be_seen_in_two_ways_is_sent_as_it_is_judged() -> None:
    upright = Image.new("RGB", (60, 100), "teal")
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = io.BytesIO()
    Image.new("RGB", (100, 60), "teal").save(turned, "JPEG", exif=exif)
    clear = io.BytesIO()
    Image.new("RGBA", (60, 100), (0, 0, 0, 0)).save(clear, "PNG")
    for data in (turned.getvalue(), clear.getvalue(), b"no image at all"):
        sent = encode_image(LoadedImage(data, upright))
        assert (sent.width, sent.height, sent.attachment.media_type) == (60, 100, "image/png")
        with Image.open(io.BytesIO(sent.attachment.data)) as seen:
            assert (seen.size, seen.mode, seen.getpixel((3, 3))) == ((60, 100), "RGB", (0, 128, 128))


def test_for_answers_in_pixels_the_size_is_that_of_what_is_sent() -> None:
    sent = encode_image(numbered(3, 1024, 1024), on_grid=True)
    assert (sent.width, sent.height) == (980, 980)
    with Image.open(io.BytesIO(sent.attachment.data)) as seen:
        assert seen.size == (980, 980)
    fits = numbered(3, 980, 560)
    assert encode_image(fits, on_grid=True).attachment.data == fits.data


labels = st.sampled_from(["cup", "pen", "Cup", "hat"])
spots = st.integers(0, 90).map(lambda spot: spot * 10)
entries = st.builds(
    lambda label, color, x, y, side: SeenThing(label=label, color=color, box_2d=[x, y, x + side, y + side]),
    labels,
    st.sampled_from(["red", "other", "teal"]),
    spots,
    spots,
    st.sampled_from([40, 50, 100]),
)
FRAME = BoxFrame(box_convention(""), 1000, 1000)


@given(st.lists(entries, max_size=12))
def test_resolving_objects_loses_nothing_without_saying_so(seen: list[SeenThing]) -> None:
    answer = SeenThings(objects=seen)
    assert find_problem(answer, FRAME) is None
    objects, changes = resolve_objects([(("cup", "pen"), answer)], FRAME, ["red"])
    assert len(objects) + len(changes.get("dropped", ())) + len(changes.get("merged", ())) == len(seen)
    assert not any(
        one.label == other.label and box_overlap(one.box, other.box) >= SAME_OBJECT
        for one, other in permutations(objects, 2)
    )
    again = SeenThings(objects=[SeenThing(label=t.label, color=t.color or "", box_2d=list(t.box)) for t in objects])
    assert resolve_objects([(("cup", "pen"), again)], FRAME, ["red"])[0] == objects


def test_all_bad_boxes_of_an_answer_are_told_but_not_at_length() -> None:
    bad = SeenThing(label="cup", color="red", box_2d=[5, 5, 1, 1])
    problem = find_problem(SeenThings(objects=[bad] * 9), FRAME)
    assert problem is not None
    assert problem.count("swapped") == 3
    assert problem.endswith("and 6 more boxes are wrong")


boxes = st.builds(
    lambda x, y, across, down: Box(x, y, min(x + across, 1000), min(y + down, 1000)),
    *(st.integers(0, 99).map(lambda n: n * 10.0),) * 2,
    *(st.sampled_from([7.0, 10.0, 70.0, 100.0, 700.0, 1000.0]),) * 2,
)


@given(st.lists(boxes, max_size=60), boxes, st.sampled_from([0.01, 0.5, 0.7, 1.0]))
def test_boxes_compared_all_at_once_are_those_compared_one_by_one(kept: list[Box], box: Box, least: float) -> None:
    collection = KeptBoxes()
    for one in kept:
        collection.add(one)
    assert collection.overlapping(box, least) == [n for n, one in enumerate(kept) if box_overlap(box, one) >= least]


def test_reading_stops_at_more_objects_than_an_image_shows() -> None:
    things = [
        SeenThing(label="cup", color="red", box_2d=[n % 90 * 10, n // 90 * 10, n % 90 * 10 + 9, n // 90 * 10 + 9])
        for n in range(3000)
    ]
    repeated = SeenThings(objects=things[:MAX_OBJECTS] * 5)
    assert len(resolve_objects([(("cup",), repeated)], FRAME, ["red"])[0]) == MAX_OBJECTS
    assert len(resolve_objects([(("cup",), SeenThings(objects=things))], FRAME, ["red"])[0]) == 1001


# --- colours from pixels

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
