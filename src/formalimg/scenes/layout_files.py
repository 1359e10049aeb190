"""Layouts as files: an image for people, with the layout written into it for programs."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from formalimg.scenes.box import CANVAS
from formalimg.scenes.drawing import DrawingError, layout_image
from formalimg.scenes.grounding import SceneError
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from PIL.Image import Image

_CHUNK = "formalimg-layout"
"""The name of the text in the PNG file that holds the layout, in the published grounding format."""


def layout_file(scene: Scene, size: int = 512) -> bytes:
    """The bytes of a PNG file that shows a layout as labelled boxes, and holds it as text."""
    from PIL.PngImagePlugin import PngInfo

    try:
        image = layout_image(scene, size)
    except DrawingError:  # a planner may put anything anywhere: what cannot be labelled is outlined
        image = _outlines(scene, size)
    text = PngInfo()
    text.add_text(_CHUNK, json.dumps(scene.to_json(), ensure_ascii=True))
    file = io.BytesIO()
    image.save(file, "PNG", pnginfo=text)
    return file.getvalue()


def read_layout(image: Image) -> Scene:
    """The layout that `layout_file` wrote into an image.

    Raises:
        SceneError: if the image holds none, or one that cannot be read.
    """
    written = image.info.get(_CHUNK)
    if not isinstance(written, str):
        raise SceneError(["this image holds no layout"])
    try:
        return Scene.from_json(json.loads(written))
    except SceneError:
        raise
    except ValueError as error:  # no JSON
        raise SceneError([f"the layout in this image cannot be read: {error}"]) from error


def _outlines(scene: Scene, size: int) -> Image:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (size, size), "white")
    pen = ImageDraw.Draw(image)
    for obj in scene.objects:
        left, top, right, bottom = (round(edge * size / CANVAS) for edge in obj.box)
        pen.rectangle((min(left, right), min(top, bottom), max(left, right), max(top, bottom)), outline="black")
    return image
