"""Bounding boxes: coordinate conventions of model families (`boxes.toml`), overlap, and search for free space.

Overlap is intersection over union (IoU).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_BOX_SIDE = 1.0  # Boxes with a smaller side, on the canvas of 1000, hold no object
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
        if len(numbers) != 4:
            return self._objection(numbers, f"is not {self._form}")
        if self.span != 1 and min(numbers) >= 0 and max(numbers) <= 1:
            return self._objection(numbers, f"looks like unit coordinates: {self._range(width, height)}")
        left, top, right, bottom = numbers if self.order[0] == "xmin" else (numbers[index] for index in (1, 0, 3, 2))
        across, down = self.span or width, self.span or height
        if not (0 <= left <= across and 0 <= right <= across and 0 <= top <= down and 0 <= bottom <= down):
            return self._objection(numbers, f"leaves the image: {self._range(width, height)}")
        if left > right or top > bottom:
            return self._objection(numbers, f"has its corners swapped: it must be {self._form}")
        box = Box(
            round(left / across * CANVAS, 2),
            round(top / down * CANVAS, 2),
            round(right / across * CANVAS, 2),
            round(bottom / down * CANVAS, 2),
        )
        if box.xmax - box.xmin < MIN_BOX_SIDE or box.ymax - box.ymin < MIN_BOX_SIDE:
            return self._objection(numbers, f"is too small to hold an object: {self._range(width, height)}")
        return box

    def write(self, box: Box, width: int, height: int) -> tuple[float, ...]:
        """Convert a box on the canvas to the model's coordinates, the inverse of `on_canvas`."""
        across, down = (self.span or width) / CANVAS, (self.span or height) / CANVAS
        left, top, right, bottom = box.xmin * across, box.ymin * down, box.xmax * across, box.ymax * down
        return (left, top, right, bottom) if self.order[0] == "xmin" else (top, left, bottom, right)

    @property
    def _form(self) -> str:
        return f"[{', '.join(self.order)}]"

    def _range(self, width: int, height: int) -> str:
        limits = f"{width} across and {height} down" if self.span is None else f"{self.span:g}"
        return f"{self._form} goes from 0 to {limits}"

    def _objection(self, numbers: Sequence[float], problem: str) -> str:
        more = ", …" if len(numbers) > _SHOWN else ""
        return f"the box [{', '.join(f'{number:g}' for number in numbers[:_SHOWN])}{more}] {problem}"


def box_convention(model: str, convention: str = "auto") -> BoxConvention:
    """Return the box convention of a model.

    Args:
        model: its name; with `auto`, the family it belongs to decides.
        convention: `auto`, or the name of a convention.

    Raises:
        FormalimgError: if there is no such convention.
    """
    table = _read_table()
    name = convention
    if convention == "auto":
        name = next(
            family["boxes"] for family in table["families"] if re.search(family["pattern"], model, re.IGNORECASE)
        )
    entry = table["conventions"].get(name)
    if entry is None:
        raise FormalimgError(f"unknown boxes {convention!r}: known are auto, {', '.join(table['conventions'])}")
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


def match_objects(truth: Scene, found: Scene, min_overlap: float = MIN_OVERLAP) -> list[Match]:
    """Match true and found objects of the same class one to one, in descending order of IoU."""
    if not 0 < min_overlap <= 1:  # also refuses NaN
        raise FormalimgError(f"boxes cannot be asked to overlap by {min_overlap:g}: take more than 0, and 1 at most")
    pairs = [
        (box_overlap(obj.box, detected.box), true_index, found_index)
        for true_index, obj in enumerate(truth.objects)
        for found_index, detected in enumerate(found.objects)
        if obj.label == detected.label
    ]
    matched_truth: set[int] = set()
    matched_found: set[int] = set()
    matches = []
    for share, true_index, found_index in sorted(pairs, reverse=True):
        if share >= min_overlap and true_index not in matched_truth and found_index not in matched_found:
            matched_truth.add(true_index)
            matched_found.add(found_index)
            matches.append(Match(truth.objects[true_index], found.objects[found_index]))
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
