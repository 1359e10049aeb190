"""Boxes as models write them, and images as models get them."""

from __future__ import annotations

import io
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from formalimg.judges.base import MAX_OBJECTS, LoadedImage
from formalimg.judges.boxes import KeptBoxes, box_convention, box_overlap
from formalimg.judges.chat_judge import MAX_PIXELS, MAX_SIDE, encode_image, size_on_grid
from formalimg.judges.grounders.vlm import (
    SAME_OBJECT,
    BoxFrame,
    SeenThing,
    SeenThings,
    find_problem,
    resolve_objects,
)
from formalimg.scenes.objects import Box
from tests.support.scripted_chat import numbered

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
