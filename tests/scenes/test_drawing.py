"""Drawn scenes: every class is drawn, fills its box exactly, shows its colour, and is like no other."""

from __future__ import annotations

import io
import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from formalimg.drawing.icon import PixelFrame, Tones, icons, palette, read_icon
from formalimg.drawing.icon_scene import (
    DrawingError,
    contact_sheet,
    draw,
    drawable_classes,
    layout_image,
    natural_aspect,
)
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.sizes import tries

CLASSES = vocabulary("knolling").words["class"]
COLORS = vocabulary("knolling").words["color"]
COLUMNS, ROWS = 10, 5

CLOSEST_ALLOWED = 0.08
"""Mean difference of gray levels (0 to 1) that any two drawings must keep when both fill the same square."""


def all_classes(width: float, height: float, color: str | None = "white", x: float = 4.3, y: float = 5.7) -> Scene:
    """One object of every class, in rows, in boxes of this size with a gap between them."""
    cell_x, cell_y = CANVAS / COLUMNS, CANVAS / ROWS
    objects = []
    for number, label in enumerate(CLASSES):
        left, top = number % COLUMNS * cell_x + x, number // COLUMNS * cell_y + y
        objects.append(SceneObject(label, Box(left, top, left + width, top + height), color))
    return Scene.of(objects)


def inside(box: Box, size: int) -> tuple[slice, slice]:
    """The whole pixels of a box: rows and columns."""
    left, top, right, bottom = (round(edge * size / CANVAS, 2) for edge in box)
    return slice(math.ceil(top), math.floor(bottom)), slice(math.ceil(left), math.floor(right))


def rgb(tone: str) -> tuple[int, int, int]:
    return int(tone[1:3], 16), int(tone[3:5], 16), int(tone[5:7], 16)


def lab(pixels: object) -> NDArray[np.float64]:
    """CIELAB of sRGB."""
    levels = np.asarray(pixels, dtype=np.float64) / 255
    linear = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    scaled = linear @ to_xyz.T / np.array([0.9505, 1.0, 1.089])
    bent = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    x, y, z = bent[..., 0], bent[..., 1], bent[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(one - other, axis=-1))


def as_jpeg(image: Image.Image) -> Image.Image:
    stored = io.BytesIO()
    image.save(stored, "JPEG", quality=85)
    return Image.open(stored).convert("RGB")


def painted(image: Image.Image) -> NDArray[np.bool_]:
    """Where an image differs at all from the background."""
    return np.asarray((np.asarray(image) != np.array(rgb(palette().background))).any(axis=-1))


def test_every_class_has_a_drawing_and_every_drawing_a_class() -> None:
    assert set(drawable_classes()) == set(CLASSES)
    assert set(palette().colors) == set(COLORS)


def test_a_class_without_a_drawing_is_an_error_that_names_those_with_one() -> None:
    with pytest.raises(DrawingError, match=r"no drawing of 'lion'.*apple, backpack.*wrench"):
        draw(Scene.of([SceneObject("lion", Box(0, 0, 100, 100))]))
    with pytest.raises(DrawingError, match="did you mean game_controller"):
        draw(Scene.of([SceneObject("game controller", Box(0, 0, 100, 100))]))


def test_an_unknown_colour_is_an_error_that_names_the_colours() -> None:
    for paint in (draw, layout_image):
        with pytest.raises(DrawingError, match=r"cup cannot be 'turquoise'.*red, green"):
            paint(Scene.of([SceneObject("cup", Box(0, 0, 100, 100), "turquoise")]))


def test_a_box_too_small_to_be_painted_is_an_error() -> None:
    dot = Scene.of([SceneObject("cup", Box(10, 10, 11, 500), "red")])
    with pytest.raises(DrawingError, match="too small"):
        draw(dot, 256)
    with pytest.raises(DrawingError, match="a larger image"):
        layout_image(Scene.of([SceneObject("game_controller", Box(10, 10, 40, 40), "red")]), 256)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<svg", "cannot be read"),
        ('<svg viewBox="0 0 9 9" data-other="teal"/>', "empty"),
        ('<svg viewBox="1 0 9 9" data-other="teal"/>', "viewBox"),
        ('<svg viewBox="0 0 9 9" data-other="red"/>', "data-other"),
        ('<svg viewBox="0 0 9 9" data-other="teal"><path d="M0 0L1 1" fill="red"/></svg>', 'fill="red"'),
        ('<svg viewBox="0 0 9 9" data-other="teal"><path d="M0 0L1" fill="{body}"/></svg>', "bad step L1"),
        ('<svg viewBox="0 0 9 9" data-other="teal"><path d="M0 0A1 1 9 0 0 1 1"/></svg>', "rotated arc"),
        ('<svg viewBox="0 0 9 9" data-other="teal"><text/></svg>', "<text>"),
    ],
)
def test_a_broken_drawing_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(FormalimgError, match=r"mug\.svg") as caught:
        read_icon("mug", text)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [
        *itertools.product([90.0], [90.0], [256, 512, 1024, 2048][: tries(3, 4)]),
        *itertools.product([91.7], [60.0, 181.1], [256, 1024]),
        *itertools.product([33.3], [21.4, 190.0], [512, 777]),
        (92.0, 28.0, 1024),
        (20.0, 20.0, 256),
    ],
)
def test_drawings_fill_their_boxes_exactly_and_paint_nothing_outside(width: float, height: float, size: int) -> None:
    scene = all_classes(width, height, color="yellow" if size == 512 else "white")
    image = draw(scene, size)
    assert (image.size, image.mode) == ((size, size), "RGB")
    pixels = np.asarray(image).astype(int)
    seen = np.abs(pixels - np.array(rgb(palette().background))).max(axis=-1) > 12
    outside = painted(image)
    for obj in scene.objects:
        within = inside(obj.box, size)
        box = seen[within]
        edges = {"top": box[0], "bottom": box[-1], "left": box[:, 0], "right": box[:, -1]}
        assert [edge for edge, line in edges.items() if not line.any()] == [], (obj.label, box.shape)
        outside[within] = False
    assert not outside.any()


@pytest.mark.parametrize(
    "frame",
    [PixelFrame(60, 120, 240, 120), PixelFrame(60, 60, 240, 240), PixelFrame(120, 60, 120, 240)][: tries(1, 3)],
)
def test_drawings_need_no_clipping(frame: PixelFrame) -> None:
    """What is drawn stays in its frame by itself, so that clipping cuts no outline."""
    import resvg_py

    for icon in icons().values():
        drawn = icon.svg(frame, palette().paints("black", icon.other), 2)
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="360" height="360" stroke-linejoin="round">{drawn}</svg>'
        painted = Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg))).getchannel("A").getbbox()
        assert painted == (frame.left, frame.top, frame.left + frame.width, frame.top + frame.height), icon.label


@pytest.mark.parametrize("label", ["pen", "keyboard", "keys", "shoe"])
def test_a_long_object_is_turned_to_suit_its_box(label: str) -> None:
    aspect = natural_aspect(label)
    natural = Box(100, 100, 100 + 400 * min(aspect, 1), 100 + 400 / max(aspect, 1))
    clockwise = Box(CANVAS - natural.ymax, natural.xmin, CANVAS - natural.ymin, natural.xmax)
    straight = draw(Scene.of([SceneObject(label, natural, "blue")]), CANVAS).transpose(Image.Transpose.ROTATE_270)
    turned = draw(Scene.of([SceneObject(label, clockwise, "blue")]), CANVAS)
    assert np.abs(np.asarray(straight).astype(int) - np.asarray(turned)).mean() < 0.2


def test_later_objects_lie_on_top() -> None:
    below, above = (
        SceneObject("book", Box(0, 0, 1000, 1000), "red"),
        SceneObject("plate", Box(300, 300, 700, 700), "blue"),
    )
    image = draw(Scene.of([below, above]), 400)
    alone = draw(Scene.of([above]), 400)
    assert image.getpixel((135, 200)) == alone.getpixel((135, 200)) == rgb(palette().colors["blue"].body)


def test_every_tone_is_nearest_to_its_own_colour() -> None:
    families: dict[str, Tones] = {**palette().colors, **palette().others}
    names = list(families)
    bodies = lab([rgb(families[name].body) for name in names])
    for name, tones in families.items():
        for tone in (tones.body, tones.dark, tones.light):
            assert names[int(distance(bodies, lab(rgb(tone))).argmin())] == name
    background = lab(rgb(palette().background))
    assert distance(bodies, background).min() > 15
    apart = [
        (float(distance(bodies[i], bodies[j])), names[i], names[j]) for i, j in itertools.combinations(range(12), 2)
    ]
    assert min(apart)[0] > 30, min(apart)


@pytest.mark.parametrize(
    ("color", "width", "height"),
    [
        *((color, 60.0, 60.0) for color in [*COLORS[:: tries(6, 1)], None]),
        *((color, 92.0, 110.0) for color in ("black", "white", "pink")[: tries(1, 3)]),
    ],
)
def test_most_of_what_is_painted_is_the_colour_asked_for(color: str | None, width: float, height: float) -> None:
    scene = all_classes(width, height, color)
    pixels = np.asarray(as_jpeg(draw(scene, 1024)))
    tones = {**palette().colors, **palette().others}
    names = [*tones, "background"]
    anchors = lab([*(rgb(tone.body) for tone in tones.values()), rgb(palette().background)])
    for obj in scene.objects:
        box = lab(pixels[inside(obj.box, 1024)]).reshape(-1, 1, 3)
        counts = np.bincount(distance(box, anchors).argmin(axis=1), minlength=len(names))[:-1]
        found = names[int(counts.argmax())]
        assert found == color if color else found in palette().others, (obj.label, found)


def in_the_same_square(color: str) -> NDArray[np.float64]:
    """Every class as 48 by 48 gray levels between 0 and 1."""
    scene = all_classes(90, 90, color)
    gray = draw(scene, 1024).convert("L")
    squares = []
    for obj in scene.objects:
        rows, columns = inside(obj.box, 1024)
        square = gray.crop((columns.start, rows.start, columns.stop, rows.stop)).resize((48, 48), Image.Resampling.BOX)
        squares.append(np.asarray(square) / 255)
    return np.stack(squares)


@pytest.mark.parametrize("color", ["red", "gray", "black"])
def test_no_two_classes_look_alike(color: str) -> None:
    squares = in_the_same_square(color)
    pairs = sorted(
        (float(np.abs(squares[i] - squares[j]).mean()), CLASSES[i], CLASSES[j])
        for i, j in itertools.combinations(range(len(CLASSES)), 2)
    )
    assert pairs[0][0] > CLOSEST_ALLOWED, f"closest pairs: {pairs[:5]}"


def test_the_same_scene_gives_the_same_bytes_in_another_process() -> None:
    program = (
        "import hashlib; from formalimg.scenes import Box, Scene, SceneObject;"
        "from formalimg.drawing import draw, layout_image;"
        "objects = [SceneObject('cup', Box(10, 20, 333, 444), 'red'), SceneObject('pen', Box(500, 20, 550, 444))];"
        "scene = Scene.of(objects);"
        "print([hashlib.sha256(paint(scene, 256).tobytes()).hexdigest() for paint in (draw, layout_image)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_an_image_of_a_strange_size_is_refused() -> None:
    for size in (0, 10, 100_000):
        with pytest.raises(DrawingError, match="ask for 64 to 8192"):
            draw(Scene.of([SceneObject("cup", Box(0, 0, 500, 500))]), size)


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [(90.0, 150.0, 512), (90.0, 150.0, 1024), (92.0, 60.0, 1024), (40.0, 190.0, 1024)][:: tries(3, 1)],
)
def test_a_layout_labels_every_box_inside_it(width: float, height: float, size: int) -> None:
    scene = all_classes(width, height, "yellow")
    image = layout_image(scene, size)
    assert (image.size, image.mode) == ((size, size), "RGB")
    pixels = np.asarray(image).astype(int)
    outside = (pixels != 255).any(axis=-1)
    for obj in scene.objects:
        within = inside(obj.box, size)
        box = pixels[within]
        assert (box[0] != 255).any(axis=-1).all()
        assert (box[:, -1] != 255).any(axis=-1).all()
        letters = box[6:-6, 6:-6].max(axis=-1) < 128
        assert letters.sum() > 20, obj.label
        outside[within] = False
    assert not outside.any()


def test_a_layout_tells_colours_and_classes_apart_and_takes_any_class() -> None:
    box = Box(100, 100, 600, 400)
    looks = [("cup", "red"), ("cup", "white"), ("cup", None), ("lion", None), ("bowl", "red")]
    images = {layout_image(Scene.of([SceneObject(label, box, color)]), 256).tobytes() for label, color in looks}
    assert len(images) == len(looks)


def test_the_contact_sheet_shows_every_class() -> None:
    sheet = contact_sheet()
    seen = painted(sheet)
    rows, columns = 6, 10
    height, width = sheet.height // rows, sheet.width // columns
    for row, column in itertools.product(range(rows), range(columns)):
        assert seen[row * height : (row + 1) * height, column * width : (column + 1) * width].mean() > 0.04
