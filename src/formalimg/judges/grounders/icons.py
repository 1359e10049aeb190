"""The icon grounder `builtin/icons`: read the drawings of formalimg back from their pixels."""

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
    from formalimg.judges.grounders.icon_recognition import Recognition
    from formalimg.judges.grounders.icon_segmentation import PixelBox


MIN_CONFIDENCE = 0.6
"""If the confidence in an object is lower, its image is unscored."""

_MAX_SIDE, _REDUCED_SIDE = 1600, 1024
"""Images larger than the first in a direction are scaled down to the second, which loses nothing that is drawn."""

_HALF_A_PIXEL = 0.5
"""Drawings fill the whole pixels inside a box, so that a box extends, on average, half a pixel of 1000 farther."""


class IconGrounder:
    """Read drawings by formalimg back: classes, colours and boxes, from pixels alone.

    It is for images of the baselines, for tests of everything that comes after grounding, and for offline use.
    Photographs and images by other models are `Unscored`: it does not guess.
    """

    name = "builtin/icons"
    # Raised when it reads an image otherwise than before; images of 128 pixels it did not read at all.
    settings: Mapping[str, Setting] = {"version": 1, "least_confidence": MIN_CONFIDENCE}
    concurrency = os.cpu_count() or 1

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        """Find the objects in a drawing, of all classes, whichever are requested."""
        return await asyncio.to_thread(ground_icons, image.pil)


def ground_icons(image: Image, predicted: Floats | None = None) -> Grounding | Unscored:
    """Find the objects in a drawing by formalimg; `Unscored` for any other image, or if some object is not clear.

    Args:
        image: the image, of any size and shape; it is taken to show the whole canvas.
        predicted: what the network for small images predicts for this one (`small_icons.predict_icons`), if that is
            known already, because a GPU computed it for many images at once.
    """
    # Lazily, for a quick start of what does not need numpy.
    from formalimg.judges.grounders.icon_recognition import recognize
    from formalimg.judges.grounders.icon_segmentation import NotADrawing, find_objects, reduce_blocks

    image = _reduce(image)
    small = reduce_blocks(image)
    found = find_objects(image if small is None else small)
    if isinstance(found, NotADrawing):
        return _not_understood(found.why)
    if small is not None:
        return _ground_small(small, [boxes[0] for boxes in found], predicted)
    recognitions = recognize(image, found)
    objects = [SceneObject(seen.look.label, _box(seen.edges, image), seen.look.color) for seen in recognitions]
    evidence = {"things": [_describe(obj, seen) for obj, seen in zip(objects, recognitions, strict=True)]}
    return _grounding(objects, [seen.confidence for seen in recognitions], evidence)


def _ground_small(image: Image, components: Sequence[PixelBox], predicted: Floats | None) -> Grounding | Unscored:
    """Find the objects in a small drawing, given what stands out from its background."""
    from formalimg.judges.grounders.small_icons import decode_icons, has_drawn_background, predict_icons, unexplained

    if not has_drawn_background(image):
        return _not_understood("the background of this image is another")
    icons = decode_icons(predict_icons(image) if predicted is None else predicted)
    objects = [SceneObject(icon.label, _box(icon.edges, image), icon.color) for icon in icons]
    evidence = {
        "things": [
            {"looks": f"{icon.color} {icon.label}", "confidence": round(icon.confidence, 3), "rival": icon.rival}
            for icon in icons
        ]
    }
    found = _grounding(objects, [icon.confidence for icon in icons], evidence)
    rest = unexplained(components, icons) if isinstance(found, Grounding) else None
    return found if rest is None else _not_understood(f"something at {_box(rest, image)} is no drawing", evidence)


def _grounding(
    objects: Sequence[SceneObject], confidences: Sequence[float], evidence: Mapping[str, object]
) -> Grounding | Unscored:
    """Return the scene, or `Unscored` if the confidence in an object is too low."""
    confidence = min(confidences, default=1.0)
    if confidence < MIN_CONFIDENCE:
        worst = confidences.index(confidence)
        return _not_understood(f"what is at {objects[worst].box} looks like none of the drawings", evidence)
    return Grounding(Scene.of(objects), round(confidence, 3), evidence)


def _reduce(image: Image) -> Image:
    image = image if image.mode == "RGB" else image.convert("RGB")
    if max(image.size) <= _MAX_SIDE:
        return image
    from PIL.Image import Resampling

    return image.resize((min(image.width, _REDUCED_SIDE), min(image.height, _REDUCED_SIDE)), Resampling.BOX)


def _box(edges: PixelBox, image: Image) -> Box:
    """Return the box on the canvas, in whole coordinates."""
    across, down = CANVAS / image.width, CANVAS / image.height
    return Box(
        max(round(edges.left * across - _HALF_A_PIXEL), 0),
        max(round(edges.top * down - _HALF_A_PIXEL), 0),
        min(round(edges.right * across + _HALF_A_PIXEL), CANVAS),
        min(round(edges.bottom * down + _HALF_A_PIXEL), CANVAS),
    )


def _describe(obj: SceneObject, seen: Recognition) -> dict[str, object]:
    return {
        "looks": f"{seen.look.color} {obj.label}",
        "confidence": round(seen.confidence, 3),
        "distance": round(seen.distance, 2),
        "rival": f"{seen.rival.color} {seen.rival.label}",
        "rival_distance": round(seen.rival_distance, 2),
    }


def _not_understood(why: str, evidence: Mapping[str, object] | None = None) -> Unscored:
    detail = (
        f"builtin/icons reads only drawings by formalimg's own models, and {why}: "
        "judge other images with a vision-language model"
    )
    return Unscored("not understood", detail, evidence or {})
