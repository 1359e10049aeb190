"""Bounding boxes: conventions of model families (`boxes.toml`), overlap (IoU), free space, and detections."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

MIN_BOX_SIDE = 1.0  # Boxes with a smaller side, on the canvas of 1000, hold no object
_EDGES = ("xmin", "ymin", "xmax", "ymax")
_SHOWN = 20  # So many numbers of a wrong box are shown


@dataclass(frozen=True)
class BoxConvention:
    """The coordinate convention in which a model writes boxes."""

    name: str  # how users write it, such as `xyxy-1000`
    order: tuple[str, ...]  # the order of the numbers: xmin, ymin, xmax, ymax, or ymin, xmin, ymax, xmax
    # the coordinate of the right and the bottom edge; None if that is the size of the image in pixels
    span: float | None
    text: str  # the instruction for the model, with `{width}` and `{height}` of the image

    @property
    def in_pixels(self) -> bool:
        """Whether coordinates are pixels of the image that was sent."""
        return self.span is None

    def instruction(self, width: int, height: int) -> str:
        """Return the prompt text that requests boxes for an image of the given size."""
        return self.text.format(width=width, height=height)

    def on_canvas(self, numbers: Sequence[float], width: int, height: int) -> Box | str:
        """Convert coordinates to a box on the canvas, or return an error message if they are invalid.

        A box in the very corner, with no number above 1, is written in unit coordinates: the model did not do as asked.
        """
        form = f"[{', '.join(self.order)}]"
        limits = f"{width} across and {height} down" if self.span is None else f"{self.span:g}"
        in_range = f"{form} goes from 0 to {limits}"
        if len(numbers) != 4:
            problem = f"is not {form}"
        elif self.span != 1 and min(numbers) >= 0 and max(numbers) <= 1:
            problem = f"looks like unit coordinates: {in_range}"
        else:
            left, top, right, bottom = (numbers[index] for index in map(self.order.index, _EDGES))
            across, down = self.span or width, self.span or height
            if not (0 <= left <= across and 0 <= right <= across and 0 <= top <= down and 0 <= bottom <= down):
                problem = f"leaves the image: {in_range}"
            elif left > right or top > bottom:
                problem = f"has its corners swapped: it must be {form}"
            else:
                shares = (left / across, top / down, right / across, bottom / down)
                box = Box(*(round(share * CANVAS, 2) for share in shares))
                if min(box.xmax - box.xmin, box.ymax - box.ymin) >= MIN_BOX_SIDE:
                    return box
                problem = f"is too small to hold an object: {in_range}"
        more = ", …" if len(numbers) > _SHOWN else ""
        return f"the box [{', '.join(f'{number:g}' for number in numbers[:_SHOWN])}{more}] {problem}"

    def write(self, box: Box, width: int, height: int) -> tuple[float, ...]:
        """Convert a box on the canvas to the model's coordinates, the inverse of `on_canvas`."""
        across, down = (self.span or width) / CANVAS, (self.span or height) / CANVAS
        return tuple(getattr(box, edge) * (across if edge[0] == "x" else down) for edge in self.order)


def box_convention(model: str, convention: str = "auto") -> BoxConvention:
    """Return the box convention of a model: the named one, or with `auto`, that of the family by the model's name."""
    table = _read_table()
    name = convention
    if convention == "auto":
        name = next(
            family["boxes"] for family in table["families"] if re.search(family["pattern"], model, re.IGNORECASE)
        )
    entry = table["conventions"].get(name)
    if entry is None:
        raise FormalimgError(f"unknown boxes {convention!r}: choose from auto, {', '.join(table['conventions'])}")
    return BoxConvention(name, tuple(entry["order"]), entry.get("span"), entry["words"])


def box_conventions() -> tuple[BoxConvention, ...]:
    """Return all box conventions accepted by `-J boxes=`."""
    return tuple(box_convention("", name) for name in _read_table()["conventions"])


@cache
def _read_table() -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / "boxes.toml").read_text(encoding="utf-8"))


# --- overlap

MIN_OVERLAP = 0.9  # The minimum IoU of a match, as FormalImg measures its parser (appendix)


class Match(NamedTuple):
    """A ground-truth object and the detected object matched to it."""

    truth: SceneObject
    found: SceneObject


def match_objects(truth: Scene, detections: Scene, min_overlap: float = MIN_OVERLAP) -> list[Match]:
    """Match true and found objects of the same class one to one, in descending order of IoU."""
    if not 0 < min_overlap <= 1:  # also refuses NaN
        raise FormalimgError(f"invalid overlap {min_overlap:g}: give more than 0 and at most 1")
    pairs = [
        (box_overlap(obj.box, detected.box), true_index, found_index)
        for true_index, obj in enumerate(truth.objects)
        for found_index, detected in enumerate(detections.objects)
        if obj.label == detected.label
    ]
    matched_truth: set[int] = set()
    matched_found: set[int] = set()
    matches = []
    for share, true_index, found_index in sorted(pairs, reverse=True):
        if share >= min_overlap and true_index not in matched_truth and found_index not in matched_found:
            matched_truth.add(true_index)
            matched_found.add(found_index)
            matches.append(Match(truth.objects[true_index], detections.objects[found_index]))
    return matches


def box_overlap(first: Box, second: Box) -> float:
    """Return the intersection over union of two boxes."""
    across = min(first.xmax, second.xmax) - max(first.xmin, second.xmin)
    down = min(first.ymax, second.ymax) - max(first.ymin, second.ymin)
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / (first.area + second.area - across * down)


def are_apart(first: Box, second: Box, gap: float) -> bool:
    """Return whether two boxes are at least `gap` apart, horizontally or vertically."""
    across = max(first.xmin, second.xmin) - min(first.xmax, second.xmax)
    down = max(first.ymin, second.ymin) - min(first.ymax, second.ymax)
    return max(across, down) >= gap


def find_free_box(
    width: int, height: int, boxes: Sequence[Box], rng: Random, *, border: int, gap: int, tries: int
) -> Box | None:
    """Return a randomly positioned box that keeps `gap` from all others, or None after `tries` attempts."""
    for _ in range(tries):
        left, top = rng.randint(border, CANVAS - border - width), rng.randint(border, CANVAS - border - height)
        free = Box(left, top, left + width, top + height)
        if all(are_apart(free, box, gap) for box in boxes):
            return free
    return None


_FEW = 16  # Up to so many boxes are compared one by one, which is faster than a vector
_SLACK = 1 - 1e-9  # A product may be rounded otherwise than the quotient, which decides


class KeptBoxes:
    """A growing collection of boxes that computes the overlap with a new box efficiently."""

    def __init__(self) -> None:
        self._boxes: list[Box] = []
        self._columns: NDArray[np.float64] | None = None

    def add(self, box: Box) -> None:
        self._boxes.append(box)
        count = len(self._boxes)
        if count <= _FEW:
            return
        import numpy as np  # heavy, and few images have so many boxes

        if self._columns is None or count > self._columns.shape[1]:
            grown = np.empty((5, 2 * count))
            grown[:, :count] = np.array([(*earlier, earlier.area) for earlier in self._boxes], dtype=np.float64).T
            self._columns = grown
        else:
            self._columns[:, count - 1] = (*box, box.area)

    def overlapping(self, box: Box, min_overlap: float) -> list[int]:
        """Return the indices of boxes whose IoU with `box` is at least `min_overlap`, in insertion order."""
        if self._columns is None:
            return [number for number, earlier in enumerate(self._boxes) if box_overlap(box, earlier) >= min_overlap]
        import numpy as np

        xmin, ymin, xmax, ymax, area = self._columns[:, : len(self._boxes)]
        across = np.minimum(xmax, box.xmax) - np.maximum(xmin, box.xmin)
        down = np.minimum(ymax, box.ymax) - np.maximum(ymin, box.ymin)
        intersection = np.maximum(across, 0) * down
        enough = (area + box.area) * (min_overlap * _SLACK / (1 + min_overlap))
        near: list[int] = np.flatnonzero(intersection >= enough).tolist()
        return [number for number in near if box_overlap(box, self._boxes[number]) >= min_overlap]


# --- detections

RULES = 2  # The version of the rules from boxes to scenes: raise it whenever a scene may come out differently
SAME_PLACE = 0.7
"""A box with this IoU or more is of the object that another network has found already, under another name."""


class ScoredBox(NamedTuple):
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

    kept: tuple[ScoredBox, ...]
    dropped: tuple[ScoredBox, ...]


def suppress_overlaps(detections: Iterable[ScoredBox], max_overlap: float) -> SuppressionResult:
    """Apply non-maximum suppression across classes, the highest score first.

    1. Boxes are clipped to the image, and those then less than 1 of 1000 wide or high are dropped.
    2. Of boxes with an IoU of `max_overlap` or more, only the one with the highest score is kept, even across classes,
       because an object has one class. Ties go to the class that was queried first.
    """
    kept: list[ScoredBox] = []
    dropped: list[ScoredBox] = []
    boxes = KeptBoxes()
    for box in sorted(detections, key=lambda box: -box.score):
        if not all(map(math.isfinite, (box.score, *box.box))):
            raise ValueError(f"the detector gave a {box.label} with the box {box.box} and the score {box.score}")
        clipped = box._replace(box=Box(*(round(min(max(edge, 0.0), float(CANVAS)), 2) for edge in box.box)))
        too_small = min(clipped.box.xmax - clipped.box.xmin, clipped.box.ymax - clipped.box.ymin) < MIN_BOX_SIDE
        if too_small or boxes.overlapping(clipped.box, max_overlap):
            dropped.append(box)
        else:
            boxes.add(clipped.box)
            kept.append(clipped)
    return SuppressionResult(tuple(kept), tuple(dropped))


def drop_uncertain(result: SuppressionResult, threshold: float) -> SuppressionResult:
    """Drop boxes below the threshold, except the best box of each class."""
    best: dict[str, ScoredBox] = {}
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
