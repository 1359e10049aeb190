"""The painter: an image model that draws a layout it is given, and understands nothing else.

It is the other half of `builtin/solver`: with it the layout conditions can be tried from end to end without any model.
A layout as text is read from the words; of a layout as an image, it reads what is written into the file, because it
cannot read labels.
"""

from __future__ import annotations

import io
import json
import re

from formalimg.models import Failed, ImageRequest
from formalimg.scenes import Scene, SceneError, read_layout


def imagine(request: ImageRequest) -> Scene | Failed:
    """The layout that comes with a request."""
    try:
        if request.reference is not None:
            return _from_image(request.reference)
        return _from_words(request.prompt)
    except SceneError as error:
        return Failed(f"builtin/painter draws layouts only ({error}): use --condition text-layout or image-layout")


def _from_image(reference: bytes) -> Scene:
    from PIL import Image

    with Image.open(io.BytesIO(reference)) as image:
        return read_layout(image)


def _from_words(prompt: str) -> Scene:
    """The first list of objects in the words; other brackets are passed over."""
    decoder = json.JSONDecoder()
    for opening in re.finditer(r"\[\s*\{", prompt):
        try:
            objects, _ = decoder.raw_decode(prompt, opening.start())
        except ValueError:
            continue
        return Scene.from_json({"objects": objects})
    raise SceneError(["there is no layout in the words"])
