"""The icon grounder `builtin/icons`, which recognizes objects in formalimg drawings from their pixels."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from formalimg.judges.base import Grounding, LoadedImage
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Setting, Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg._util.transformer import Floats
    from formalimg.judges.grounders.icon_segmentation import PixelBox


MIN_CONFIDENCE = 0.6  # If the confidence in an object is lower, its image is unscored
_MAX_SIDE, _REDUCED_SIDE = 1600, 1024
"""Images larger than the first in a direction are scaled down to the second, which loses nothing that is drawn."""

_HALF_A_PIXEL = 0.5
"""Drawings fill the whole pixels inside a box, so that a box extends, on average, half a pixel of 1000 farther."""


class IconGrounder:
    """A grounder that recognizes classes, colours and boxes in formalimg drawings from pixels alone.

    It is meant for images of the baselines, for tests of the steps after grounding, and for offline use. Photographs
    and images by other models are `Unscored`: it does not guess.
    """

    name = "builtin/icons"
    # Raised when it reads an image otherwise than before; images of 128 pixels it did not read at all.
    settings: Mapping[str, Setting] = {"version": 1, "least_confidence": MIN_CONFIDENCE}
    concurrency = os.cpu_count() or 1

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        return await asyncio.to_thread(ground_icons, image.pil)


def ground_icons(image: Image, predicted: Floats | None = None) -> Grounding | Unscored:
    """Find the objects in a formalimg drawing, or return `Unscored` if the image cannot be read reliably.

    Args:
        image: the image, of any size and shape; it is taken to show the whole canvas.
        predicted: what the network for small images predicts for this one (`small_icons.predict_icons`), if that is
            known already, because a GPU computed it for many images at once.
    """
    # Lazily, for a quick start of what does not need numpy.
    from formalimg.judges.grounders.icon_recognition import recognize_icons
    from formalimg.judges.grounders.icon_segmentation import NotADrawing, find_objects, reduce_blocks

    image = image.convert("RGB") if image.mode != "RGB" else image
    if max(image.size) > _MAX_SIDE:
        from PIL.Image import Resampling

        image = image.resize((min(image.width, _REDUCED_SIDE), min(image.height, _REDUCED_SIDE)), Resampling.BOX)
    small = reduce_blocks(image)
    parts = find_objects(image if small is None else small)
    if isinstance(parts, NotADrawing):
        return _not_understood(parts.why)
    if small is not None:
        return _ground_small(small, [boxes[0] for boxes in parts], predicted)
    recognitions = recognize_icons(image, parts)
    objects = [
        SceneObject(recognition.look.label, _box_on_canvas(recognition.edges, image), recognition.look.color)
        for recognition in recognitions
    ]
    entries = [
        {
            "looks": f"{match.look.color} {match.look.label}",
            "confidence": round(match.confidence, 3),
            "distance": round(match.distance, 2),
            "rival": f"{match.rival.color} {match.rival.label}",
            "rival_distance": round(match.rival_distance, 2),
        }
        for match in recognitions
    ]
    return _build_grounding(objects, [recognition.confidence for recognition in recognitions], {"things": entries})


def _ground_small(image: Image, components: Sequence[PixelBox], predicted: Floats | None) -> Grounding | Unscored:
    """Find the objects in a small drawing, and check that they account for all connected components."""
    from formalimg.judges.grounders.icon_segmentation import (
        decode_icons,
        find_unexplained,
        has_drawn_background,
        predict_icons,
    )

    if not has_drawn_background(image):
        return _not_understood("the background of this image is another")
    icons = decode_icons(predict_icons(image) if predicted is None else predicted)
    objects = [SceneObject(icon.label, _box_on_canvas(icon.edges, image), icon.color) for icon in icons]
    evidence = {
        "things": [
            {"looks": f"{icon.color} {icon.label}", "confidence": round(icon.confidence, 3), "rival": icon.rival}
            for icon in icons
        ]
    }
    grounding = _build_grounding(objects, [icon.confidence for icon in icons], evidence)
    rest = find_unexplained(components, icons) if isinstance(grounding, Grounding) else None
    return (
        grounding
        if rest is None
        else _not_understood(f"something at {_box_on_canvas(rest, image)} is no drawing", evidence)
    )


def _build_grounding(
    objects: Sequence[SceneObject], confidences: Sequence[float], evidence: Mapping[str, object]
) -> Grounding | Unscored:
    confidence = min(confidences, default=1.0)
    if confidence < MIN_CONFIDENCE:
        worst = confidences.index(confidence)
        return _not_understood(f"what is at {objects[worst].box} looks like none of the drawings", evidence)
    return Grounding(Scene.of(objects), round(confidence, 3), evidence)


def _box_on_canvas(edges: PixelBox, image: Image) -> Box:
    across, down = CANVAS / image.width, CANVAS / image.height
    return Box(
        max(round(edges.left * across - _HALF_A_PIXEL), 0),
        max(round(edges.top * down - _HALF_A_PIXEL), 0),
        min(round(edges.right * across + _HALF_A_PIXEL), CANVAS),
        min(round(edges.bottom * down + _HALF_A_PIXEL), CANVAS),
    )


def _not_understood(problem: str, evidence: Mapping[str, object] | None = None) -> Unscored:
    detail = (
        f"builtin/icons reads only drawings by formalimg's own models, and {problem}: "
        "judge other images with a vision-language model"
    )
    return Unscored("not understood", detail, evidence or {})
