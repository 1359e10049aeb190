"""Images of scenes: drawn objects that fill their boxes exactly, labelled boxes, and a sheet of all drawings."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.logic import closest_match
from formalimg.scenes.box import CANVAS
from formalimg.scenes.icon import Frame, Icon, icons
from formalimg.scenes.palette import palette
from formalimg.scenes.scene import Scene
from formalimg.scenes.scene_object import NO_WORD, SceneObject

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont, ImageFont

_OUTLINE = 450
"""The outline of objects is this part of the image's width."""
_SLIMMEST = 32
"""The outline is at most this part of the smaller side of its object, so that small objects stay readable."""
_SMALLEST, _LARGEST = 64, 8192
_SMALLEST_LETTERS = 6
_UPWARDS = 0.6
"""Words run upwards only where words that run across would be smaller than this part of them."""
_TEXT = "#26272b"


class DrawingError(FormalimgError):
    """A scene that cannot be drawn."""


def drawable_classes() -> tuple[str, ...]:
    """The classes that have a drawing, in alphabetical order."""
    return tuple(icons())


def natural_aspect(label: str) -> float:
    """Width by height at which a class looks natural; upright boxes may have it the other way round."""
    return _icon(label).aspect


def draw(scene: Scene, size: int = 1024) -> Image:
    """The scene as a square image of `size` pixels: each object drawn in its colour, filling its box exactly.

    Objects are stretched to their boxes, and turned a quarter where that distorts them less. Nothing is painted
    outside a box. Objects of no colour, or of colour "other", get a tint that is none of the colours. Where boxes
    overlap, later objects lie on top.

    Raises:
        DrawingError: if a class has no drawing, a colour is unknown, or a box is too small to be painted.
    """
    objects = [(_icon(obj.label), _known_color(obj), _frame(obj, size)) for obj in scene.objects]
    drawn = [_element(icon, color, frame, size) for icon, color, frame in objects]
    return _render(drawn, [frame for *_, frame in objects], size, size)


def layout_image(scene: Scene, size: int = 1024) -> Image:
    """The scene as labelled boxes on white, each outlined in its object's colour: a layout to be shown to a model.

    Raises:
        DrawingError: if a colour is unknown, or a box is too small for its words.
    """
    from PIL import Image, ImageDraw

    boxes = [(obj, _known_color(obj), _frame(obj, size)) for obj in scene.objects]
    image = Image.new("RGB", (size, size), "#ffffff")
    pen = ImageDraw.Draw(image)
    width = max(2, round(size / 200))
    for obj, color, (left, top, across, down) in boxes:
        band = min(width, across // 3, down // 3)
        corners = (left, top, left + across - 1, top + down - 1)
        if color is None:
            pen.rectangle(corners, outline=_TEXT, width=max(1, band // 2))
        else:
            # A hairline around the band of colour keeps white and yellow visible on white.
            tones = palette().colors[color]
            pen.rectangle(corners, outline=tones.line, width=band)
            if band > 2:
                pen.rectangle((left + 1, top + 1, corners[2] - 1, corners[3] - 1), outline=tones.body, width=band - 2)
        words = ([] if color is None else [color]) + [_spoken(obj.label)]
        room = Frame(left + band + 1, top + band + 1, across - 2 * band - 2, down - 2 * band - 2)
        _write_into(image, words, room, largest=max(8, round(size / 32)))
    return image


def contact_sheet() -> Image:
    """All drawings with their names, in varied colours, and one drawing in every colour."""
    from PIL import ImageDraw

    columns, cell, title = 10, 150, 26
    colors: list[str | None] = list(palette().colors)
    entries = [(label, colors[number * 4 % 9]) for number, label in enumerate(icons())]
    last = math.ceil(len(entries) / columns) * columns
    row = [("backpack", color) for color in [*colors, None]]
    places: list[tuple[Icon, str | None, Frame, str]] = []
    for number, (label, color) in [*enumerate(entries), *enumerate(row, start=last)]:
        icon, room = icons()[label], cell - 34
        scale = room / max(icon.width, icon.height)
        width, height = round(icon.width * scale), round(icon.height * scale)
        left = number % columns * cell + (cell - width) // 2
        top = number // columns * (cell + title) + (cell - height) // 2
        places.append((icon, color, Frame(left, top, width, height), label if number < last else color or NO_WORD))
    rows = math.ceil((last + len(row)) / columns)
    drawn = [_element(icon, color, frame, 800) for icon, color, frame, _ in places]
    sheet = _render(drawn, [frame for _, _, frame, _ in places], columns * cell, rows * (cell + title))
    pen = ImageDraw.Draw(sheet)
    for number, (*_, name) in enumerate(places):
        x, y = number % columns * cell + cell / 2, number // columns * (cell + title) + cell
        pen.text((x, y), _spoken(name), fill=_TEXT, font=_font(16), anchor="ma")
    return sheet


# --- objects


def _icon(label: str) -> Icon:
    icon = icons().get(label)
    if icon is None:
        near = closest_match(label, tuple(icons()))
        advice = f"did you mean {near}? " if near else ""
        raise DrawingError(f"there is no drawing of {label!r}: {advice}these can be drawn: {', '.join(icons())}")
    return icon


def _known_color(obj: SceneObject) -> str | None:
    """The object's colour, None if it has none of the vocabulary's."""
    if obj.color is None or obj.color == NO_WORD:
        return None
    if obj.color not in palette().colors:
        known = ", ".join(palette().colors)
        raise DrawingError(f"a {obj.label} cannot be {obj.color!r}: the colours are {known}, or {NO_WORD}")
    return obj.color


def _frame(obj: SceneObject, size: int) -> Frame:
    """The whole pixels inside the object's box."""
    if not _SMALLEST <= size <= _LARGEST:
        raise DrawingError(f"an image of {size} pixels cannot be made: ask for {_SMALLEST} to {_LARGEST}")
    # Hundredths, so that the edge of a pixel is not missed by an error of the arithmetic.
    left, top, right, bottom = (round(edge * size / CANVAS, 2) for edge in obj.box)
    x, y = math.ceil(left), math.ceil(top)
    frame = Frame(x, y, math.floor(right) - x, math.floor(bottom) - y)
    if frame.width < 3 or frame.height < 3:
        raise DrawingError(f"the box {obj.box} of a {obj.label} is too small for an image of {size} pixels")
    return frame


def _spoken(label: str) -> str:
    return label.replace("_", " ")


# --- painting


def _element(icon: Icon, color: str | None, frame: Frame, size: int) -> str:
    pen = min(size / _OUTLINE, min(frame.width, frame.height) / _SLIMMEST)
    return icon.svg(frame, palette().paints(color, icon.other), pen)


def _render(elements: Sequence[str], frames: Sequence[Frame], width: int, height: int) -> Image:
    import resvg_py
    from PIL import Image

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' fill-rule="evenodd" stroke-linecap="round" stroke-linejoin="round">'
        f'<rect width="{width}" height="{height}" fill="{palette().background}"/>{"".join(elements)}</svg>'
    )
    image = Image.new("RGB", (width, height), palette().background)
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))) as painted:
        # Drawings keep to their frames, but in a frame of a few pixels the lines inside are thick enough to leave it.
        for left, top, across, down in frames:
            image.paste(painted.crop((left, top, left + across, top + down)).convert("RGB"), (left, top))
    return image


# --- words


class _Setting(NamedTuple):
    """One way of setting words into a room: in which lines, running upwards or not, and how large."""

    points: int
    text: str
    upwards: bool


def _write_into(image: Image, words: Sequence[str], room: Frame, largest: int) -> None:
    """Write the words into the middle of the room, in whichever setting lets them be largest."""
    from PIL import Image, ImageDraw

    texts = [" ".join(words), "\n".join(words), "\n".join(words).replace(" ", "\n")]
    settings = [_largest_setting(text, upwards, room, largest) for upwards in (False, True) for text in texts]
    points, text, upwards = max(settings, key=lambda setting: setting.points * (_UPWARDS if setting.upwards else 1))
    if points < _SMALLEST_LETTERS:
        raise DrawingError(f"the words {' '.join(words)!r} do not fit their box: ask for a larger image")
    across, down = (room.height, room.width) if upwards else (room.width, room.height)
    mask = Image.new("L", (across, down), 0)
    pen = ImageDraw.Draw(mask)
    pen.multiline_text((across / 2, down / 2), text, fill=255, font=_font(points), anchor="mm", align="center")
    if upwards:
        mask = mask.transpose(Image.Transpose.ROTATE_90)
    image.paste(_TEXT, (room.left, room.top), mask)


def _largest_setting(text: str, upwards: bool, room: Frame, largest: int) -> _Setting:
    """The text in the largest letters that fit the room, in letters of size 0 if none do."""
    from PIL import Image, ImageDraw

    across, down = (room.height, room.width) if upwards else (room.width, room.height)
    pen = ImageDraw.Draw(Image.new("L", (1, 1)))
    for points in range(largest, _SMALLEST_LETTERS - 1, -1):
        left, top, right, bottom = pen.multiline_textbbox((0, 0), text, font=_font(points), anchor="mm")
        # Both sides of the middle must fit: letters are not always as high above it as below.
        if 2 * max(-left, right) <= across and 2 * max(-top, bottom) <= down:
            return _Setting(points, text, upwards)
    return _Setting(0, text, upwards)


@cache
def _font(points: int) -> FreeTypeFont | ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(points)
