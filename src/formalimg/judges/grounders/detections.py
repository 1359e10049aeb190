"""Conversion of detected boxes to a scene: clipping, non-maximum suppression (NMS) and pixel colours."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.judges.base import Grounding
from formalimg.judges.boxes import KeptBoxes, box_overlap
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from PIL.Image import Image

RULES = 2  # The version of the rules from boxes to scenes: raise it whenever a scene may come out differently
MIN_SIDE = 1.0  # Boxes with a smaller side on the canvas of 1000, after clipping, hold no object
SAME_PLACE = 0.7
"""A box with this IoU or more is of the object that another network has found already, under another name."""


class DetectedBox(NamedTuple):
    """A box as returned by the detector, in canvas units, possibly extending beyond the canvas."""

    label: str  # the class that was queried
    score: float  # the confidence of the detector, 0 to 1
    box: Box  # the bounding box

    def to_json(self) -> dict[str, object]:
        """Convert the detection to JSON-compatible data."""
        return {"label": self.label, "score": round(self.score, 4), "box_2d": [round(number, 2) for number in self.box]}


def box_on_canvas(box: Sequence[float], image: Image) -> Box:
    """Convert a box from pixels to canvas units."""
    across, down = CANVAS / image.width, CANVAS / image.height
    return Box(box[0] * across, box[1] * down, box[2] * across, box[3] * down)


class SuppressionResult(NamedTuple):
    """The detections retained and dropped by non-maximum suppression."""

    kept: tuple[DetectedBox, ...]
    dropped: tuple[DetectedBox, ...]


def suppress_overlaps(detections: Iterable[DetectedBox], max_overlap: float) -> SuppressionResult:
    """Apply non-maximum suppression across classes, the highest score first.

    1. Boxes are clipped to the image; what is then less than 1 of 1000 wide or high is dropped.
    2. Of boxes with an IoU of `max_overlap` or more, only the one with the highest score is kept, whatever their
       classes: an object is of one class. Of equal scores, the class that was queried first is kept.
    """
    kept: list[DetectedBox] = []
    dropped: list[DetectedBox] = []
    boxes = KeptBoxes()
    for box in sorted(detections, key=lambda box: -box.score):
        if not all(map(math.isfinite, (box.score, *box.box))):
            raise ValueError(f"the detector gave a {box.label} with the box {box.box} and the score {box.score}")
        clipped = box._replace(box=Box(*(round(min(max(edge, 0.0), float(CANVAS)), 2) for edge in box.box)))
        too_small = min(clipped.box.xmax - clipped.box.xmin, clipped.box.ymax - clipped.box.ymin) < MIN_SIDE
        if too_small or boxes.overlapping(clipped.box, max_overlap):
            dropped.append(box)
        else:
            boxes.add(clipped.box)
            kept.append(clipped)
    return SuppressionResult(tuple(kept), tuple(dropped))


def drop_uncertain(result: SuppressionResult, threshold: float) -> SuppressionResult:
    """Drop boxes below the threshold, except the best box of each class."""
    best: dict[str, DetectedBox] = {}
    for box in result.kept:  # the highest score first
        best.setdefault(box.label, box)
    boxes = tuple(box for box in result.kept if box.score >= threshold or best[box.label] is box)
    dropped = tuple(box for box in result.kept if box not in boxes)
    return SuppressionResult(boxes, (*result.dropped, *dropped))


def add_missing_classes(
    result: SuppressionResult, addition: SuppressionResult, classes: Collection[str]
) -> SuppressionResult:
    """Add boxes from another detector for requested classes that are still missing."""
    requested = [box for box in result.kept if box.label in classes]
    missing = set(classes) - {box.label for box in requested}
    added = [box for box in addition.kept if box.label in missing]
    apart = [box for box in added if all(box_overlap(box.box, rival.box) < SAME_PLACE for rival in requested)]
    return SuppressionResult((*result.kept, *apart), (*result.dropped, *(box for box in added if box not in apart)))


def ground_detections(
    image: Image, result: SuppressionResult, served: Mapping[str, object], classes: Collection[str] | None = None
) -> Grounding:
    """Build a grounding from detections, with the colour of each object taken from its pixels."""
    from formalimg.judges.grounders.colors import color_in

    boxes = [box for box in result.kept if classes is None or box.label in classes]
    colors = [color_in(image, box.box) for box in boxes]
    objects = [SceneObject(box.label, box.box, color.name) for box, color in zip(boxes, colors, strict=True)]
    evidence: dict[str, object] = {
        "found": [
            {**box.to_json(), "color": color.name, "color_share": color.share}
            for box, color in zip(boxes, colors, strict=True)
        ],
        "served": dict(served),
    }
    if len(boxes) < len(result.kept):
        evidence["others"] = [box.to_json() for box in result.kept if box not in boxes]
    if result.dropped:
        evidence["dropped"] = [box.to_json() for box in result.dropped]
    return Grounding(Scene.of(objects), evidence=evidence)
