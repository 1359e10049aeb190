"""The painter baseline: an image model that draws the layout in its request, and understands nothing else.

It is the other half of `builtin/solver`: with it the layout conditions can be tried from end to end without any model.
A layout as text is parsed from the prompt; of a layout as an image, it reads the metadata of the file, because it
cannot read labels.
"""

from __future__ import annotations

import io
import json
import re
from itertools import islice

from formalimg.drawing.icon_scene import read_layout
from formalimg.models.base import Failed, ImageRequest
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene

_MAX_BRACKETS = 100
"""So many places that look like a layout are tried; each takes time, and a prompt has one."""


def compose_layout(request: ImageRequest) -> Scene | Failed:
    """Return the layout that comes with a request."""
    try:
        if request.reference is not None:
            return _layout_from_image(request.reference)
        return _layout_from_prompt(request.prompt)
    except SceneError as error:
        return Failed(f"builtin/painter draws layouts only ({error}): use --condition text-layout or image-layout")


def _layout_from_image(reference: bytes) -> Scene:
    from PIL import Image

    with Image.open(io.BytesIO(reference)) as image:
        return read_layout(image)


def _layout_from_prompt(prompt: str) -> Scene:
    """Return the first JSON list of objects in the prompt; other brackets are skipped."""
    decoder = json.JSONDecoder()
    for bracket in islice(re.finditer(r"\[\s*\{", prompt), _MAX_BRACKETS):
        try:
            objects, _ = decoder.raw_decode(prompt, bracket.start())
        except (ValueError, RecursionError):
            continue
        return Scene.from_json({"objects": objects})
    raise SceneError(["there is no layout in the prompt"])
