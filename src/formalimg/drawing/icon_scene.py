"""Rendering of scenes: icons that fill their boxes exactly, labelled layouts, layout PNG files, contact sheet."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from formalimg._util.argument_types import checks_types
from formalimg.drawing.icon import Icon, PixelFrame, icons, palette
from formalimg.drawing.svg import render_svg
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import closest_match
from formalimg.scenes.objects import CANVAS, NO_WORD, SceneError, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont


_OUTLINE_DIVISOR = 450  # The image's width divided by this is the outline of objects
_MAX_OUTLINE_DIVISOR = 32
"""The smaller side divided by this is the maximum outline, so that small objects stay readable."""
_MIN_SIZE, _MAX_SIZE = 64, 8192
_MIN_FONT_SIZE = 6
_VERTICAL_PENALTY = 0.6  # Vertical text is used only where horizontal text would be smaller than this fraction of it
_TEXT = "#26272b"


class DrawingError(FormalimgError):
    """A scene that cannot be drawn."""


def drawable_classes() -> tuple[str, ...]:
    """Return all classes with an icon, in alphabetical order."""
    return tuple(icons())


def natural_aspect(label: str) -> float:
    """Return the natural aspect ratio of a class; upright boxes may use its inverse."""
    return _icon(label).aspect


@checks_types(scene="solve(formula).scene is one that satisfies a formula")
def draw(scene: Scene, size: int = 1024) -> Image:
    """Render the scene as a square image of `size` pixels, with each object in its colour and filling its box exactly.

    Icons are stretched to their boxes, and rotated by a quarter turn if that distorts them less. Nothing is painted
    outside a box. Objects without a colour, or of colour "other", get a tint that matches no colour. If boxes overlap,
    later objects lie on top.

    Raises:
        DrawingError: if a class has no icon, a colour is unknown, or a box is too small to be painted.
    """
    objects = [(_icon(obj.label), _palette_color(obj), pixel_frame(obj, size)) for obj in scene.objects]
    drawn = [_element(icon, color, frame, size) for icon, color, frame in objects]
    return _render(drawn, [frame for *_, frame in objects], size, size)


def layout_image(scene: Scene, size: int = 1024) -> Image:
    """Render the scene as labelled boxes on white, outlined in each object's colour, as a layout to show to a model.

    Raises:
        DrawingError: if a colour is unknown, or a box is too small for its label.
    """
    from PIL import Image, ImageDraw

    boxes = [(obj, _palette_color(obj), pixel_frame(obj, size)) for obj in scene.objects]
    image = Image.new("RGB", (size, size), "#ffffff")
    pen = ImageDraw.Draw(image)
    width = max(2, round(size / 200))
    for obj, color, (x, y, across, down) in boxes:
        band = min(width, across // 3, down // 3)
        corners = (x, y, x + across - 1, y + down - 1)
        if color is None:
            pen.rectangle(corners, outline=_TEXT, width=max(1, band // 2))
        else:
            # A hairline around the band of colour keeps white and yellow visible on white.
            tones = palette().colors[color]
            pen.rectangle(corners, outline=tones.line, width=band)
            if band > 2:
                pen.rectangle((x + 1, y + 1, corners[2] - 1, corners[3] - 1), outline=tones.body, width=band - 2)
        words = ([] if color is None else [color]) + [_label_text(obj.label)]
        room = PixelFrame(x + band + 1, y + band + 1, across - 2 * band - 2, down - 2 * band - 2)
        _draw_text(image, words, room, largest=max(8, round(size / 32)))
    return image


def contact_sheet() -> Image:
    """Render all icons with their names in varied colours, and one icon in every colour."""
    from PIL import ImageDraw

    columns, cell, title = 10, 150, 26
    colors: list[str | None] = list(palette().colors)
    entries = [(label, colors[number * 4 % 9]) for number, label in enumerate(icons())]
    last = math.ceil(len(entries) / columns) * columns
    row = [("backpack", color) for color in [*colors, None]]
    places: list[tuple[Icon, str | None, PixelFrame, str]] = []
    for number, (label, color) in [*enumerate(entries), *enumerate(row, start=last)]:
        icon, room = icons()[label], cell - 34
        scale = room / max(icon.width, icon.height)
        width, height = round(icon.width * scale), round(icon.height * scale)
        left = number % columns * cell + (cell - width) // 2
        top = number // columns * (cell + title) + (cell - height) // 2
        places.append((icon, color, PixelFrame(left, top, width, height), label if number < last else color or NO_WORD))
    rows = math.ceil((last + len(row)) / columns)
    drawn = [_element(icon, color, frame, 800) for icon, color, frame, _ in places]
    sheet = _render(drawn, [frame for _, _, frame, _ in places], columns * cell, rows * (cell + title))
    pen = ImageDraw.Draw(sheet)
    for number, (*_, name) in enumerate(places):
        x, y = number % columns * cell + cell / 2, number // columns * (cell + title) + cell
        pen.text((x, y), _label_text(name), fill=_TEXT, font=_font(16), anchor="ma")
    return sheet


# --- objects


def _icon(label: str) -> Icon:
    icon = icons().get(label)
    if icon is None:
        near = closest_match(label, tuple(icons()))
        advice = f"did you mean {near}? " if near else ""
        raise DrawingError(f"there is no drawing of {label!r}: {advice}these can be drawn: {', '.join(icons())}")
    return icon


def _palette_color(obj: SceneObject) -> str | None:
    """Return the object's colour, or None if it has no colour of the vocabulary."""
    if obj.color is None or obj.color == NO_WORD:
        return None
    if obj.color not in palette().colors:
        colors = ", ".join(palette().colors)
        raise DrawingError(f"a {obj.label} cannot be {obj.color!r}: the colours are {colors}, or {NO_WORD}")
    return obj.color


def pixel_frame(obj: SceneObject, size: int) -> PixelFrame:
    """Return the whole pixels inside the object's box, for an image of `size` pixels."""
    if not _MIN_SIZE <= size <= _MAX_SIZE:
        raise DrawingError(f"an image of {size} pixels cannot be made: ask for {_MIN_SIZE} to {_MAX_SIZE}")
    # Hundredths, so that a rounding error does not miss the edge of a pixel.
    left, top, right, bottom = (round(edge * size / CANVAS, 2) for edge in obj.box)
    x, y = math.ceil(left), math.ceil(top)
    frame = PixelFrame(x, y, math.floor(right) - x, math.floor(bottom) - y)
    if frame.width < 3 or frame.height < 3:
        raise DrawingError(f"the box {obj.box} of a {obj.label} is too small for an image of {size} pixels")
    return frame


def _label_text(label: str) -> str:
    return label.replace("_", " ")


# --- painting


def _element(icon: Icon, color: str | None, frame: PixelFrame, size: int) -> str:
    return icon.svg(frame, palette().paints(color, icon.other), outline_width(frame, size))


def outline_width(frame: PixelFrame, size: int) -> float:
    """Return the outline width in a frame, for an image of `size` pixels."""
    return min(size / _OUTLINE_DIVISOR, min(frame.width, frame.height) / _MAX_OUTLINE_DIVISOR)


def _render(elements: Sequence[str], frames: Sequence[PixelFrame], width: int, height: int) -> Image:
    from PIL import Image

    background = f'<rect width="{width}" height="{height}" fill="{palette().background}"/>'
    painted = render_svg(background + "".join(elements), width, height).convert("RGB")
    image = Image.new("RGB", (width, height), palette().background)
    # Icons stay inside their frames, but in a frame of a few pixels the lines inside are thick enough to leave it.
    for left, top, across, down in frames:
        image.paste(painted.crop((left, top, left + across, top + down)), (left, top))
    return image


# --- words


class _TextFit(NamedTuple):
    """A possible fit of a text: its font size, its line breaks, and whether it runs upwards."""

    points: int
    text: str
    vertical: bool


def _draw_text(image: Image, words: Sequence[str], room: PixelFrame, largest: int) -> None:
    """Write the words in the middle of the room, using the fit with the largest font."""
    from PIL import Image, ImageDraw

    texts = [" ".join(words), "\n".join(words), "\n".join(words).replace(" ", "\n")]
    fits = [_fit_text(text, vertical, room, largest) for vertical in (False, True) for text in texts]
    points, text, vertical = max(fits, key=lambda fit: fit.points * (_VERTICAL_PENALTY if fit.vertical else 1))
    if points < _MIN_FONT_SIZE:
        raise DrawingError(f"the words {' '.join(words)!r} do not fit their box: ask for a larger image")
    across, down = (room.height, room.width) if vertical else (room.width, room.height)
    mask = Image.new("L", (across, down), 0)
    pen = ImageDraw.Draw(mask)
    pen.multiline_text((across / 2, down / 2), text, fill=255, font=_font(points), anchor="mm", align="center")
    if vertical:
        mask = mask.transpose(Image.Transpose.ROTATE_90)
    image.paste(_TEXT, (room.left, room.top), mask)


def _fit_text(text: str, vertical: bool, room: PixelFrame, largest: int) -> _TextFit:
    """Fit the text into the room with the largest possible font; font size 0 if nothing fits."""
    from PIL import Image, ImageDraw

    across, down = (room.height, room.width) if vertical else (room.width, room.height)
    pen = ImageDraw.Draw(Image.new("L", (1, 1)))
    for points in range(largest, _MIN_FONT_SIZE - 1, -1):
        x_min, y_min, x_max, y_max = pen.multiline_textbbox((0, 0), text, font=_font(points), anchor="mm")
        # Both halves must fit: letters do not always extend as far above the middle as below.
        if 2 * max(-x_min, x_max) <= across and 2 * max(-y_min, y_max) <= down:
            return _TextFit(points, text, vertical)
    return _TextFit(0, text, vertical)


@cache
def _font(points: int) -> FreeTypeFont | ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(points)


_CHUNK = "formalimg-layout"  # The key of the PNG text chunk that contains the layout, in the published grounding format


class FailedLayoutError(SceneError):
    """A layout that its planner produced incorrectly: unreadable, or outside the canvas."""


def layout_png(scene: Scene, size: int = 512) -> bytes:
    """Return a PNG file that shows a layout as labelled boxes and stores it in a text chunk."""
    return _layout_file(scene, scene.to_json(), size)


def written_layout_png(objects: object, size: int = 512) -> bytes:
    """Return a PNG file that stores layout objects exactly as written by a model, and shows them if they are valid.

    A layout without any displayable box is shown as a frame, because a blank image would count as failed.
    """
    layout = {"objects": objects}
    try:
        scene = Scene.from_json(layout)
    except SceneError:
        scene = Scene(())
    return _layout_file(scene, layout, size) if scene.objects else _with_layout(_frame_of(size), layout)


def _layout_file(scene: Scene, layout: object, size: int) -> bytes:
    try:
        image = layout_image(scene, size)
    except DrawingError:  # a planner may put anything anywhere: what cannot be labelled is outlined
        image = _outlines(scene, size)
    return _with_layout(image, layout)


def layout_error_png(problem: str, size: int = 512) -> bytes:
    """Return a PNG file for an unreadable layout: a crossed-out canvas with the problem in its metadata.

    As in the published format, its `objects` are null.
    """
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (size, size), "white")
    pen = ImageDraw.Draw(image)
    pen.line((0, 0, size, size), fill="grey", width=max(1, size // 128))
    pen.line((0, size, size, 0), fill="grey", width=max(1, size // 128))
    return _with_layout(image, {"objects": None, "problem": problem})


def _with_layout(image: Image, layout: object) -> bytes:
    from PIL.PngImagePlugin import PngInfo

    text = PngInfo()
    text.add_text(_CHUNK, json.dumps(layout, ensure_ascii=True))
    file = io.BytesIO()
    image.save(file, "PNG", pnginfo=text)
    return file.getvalue()


def _frame_of(size: int) -> Image:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (size, size), "white")
    ImageDraw.Draw(image).rectangle((4, 4, size - 5, size - 5), outline="black", width=2)
    return image


def read_layout(image: Image) -> Scene:
    """Read the layout that `layout_png` stored in an image."""
    layout = read_written_layout(image)
    problem = layout.get("problem") if isinstance(layout, dict) else None
    if isinstance(problem, str):
        raise FailedLayoutError([problem])
    try:
        return Scene.from_json(layout)
    except SceneError as error:
        raise FailedLayoutError(error.problems) from error


def read_written_layout(image: Image) -> object:
    """Return the layout stored in an image exactly as it was written: an object with `objects`."""
    written = image.info.get(_CHUNK)
    if not isinstance(written, str):
        raise SceneError(["this image holds no layout"])
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:  # not JSON
        raise FailedLayoutError([f"the layout in this image cannot be read: {error}"]) from error


def _outlines(scene: Scene, size: int) -> Image:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (size, size), "white")
    pen = ImageDraw.Draw(image)
    for obj in scene.objects:
        left, top, right, bottom = (round(edge * size / CANVAS) for edge in obj.box)
        pen.rectangle((min(left, right), min(top, bottom), max(left, right), max(top, bottom)), outline="black")
    return image
