"""From what a detector found to the boxes of objects: what is kept, cut and dropped, by rule and on record."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from formalimg.judges.certification.matching import overlap
from formalimg.scenes import CANVAS, Box

MIN_SIDE = 1.0
"""What is less wide or high than this on the canvas of 1000, after cutting, is no object."""


class Found(NamedTuple):
    """A box as the detector gave it, on the canvas, which it may leave.

    Attributes:
        label: the class that was asked for.
        score: how sure the detector is, 0 to 1.
        box: where.
    """

    label: str
    score: float
    box: Box

    def to_json(self) -> dict[str, object]:
        """The same as plain data."""
        return {"label": self.label, "score": round(self.score, 4), "box_2d": [round(number, 2) for number in self.box]}


class Sifted(NamedTuple):
    """What is there, and what was dropped for it."""

    kept: tuple[Found, ...]
    dropped: tuple[Found, ...]


def sift(found: Iterable[Found], most_overlap: float) -> Sifted:
    """The objects among what was found, the surest first, by these rules.

    1. Boxes are cut at the edges of the image; what is then less than 1 of 1000 wide or high is dropped.
    2. Of boxes that overlap by `most_overlap` or more (intersection over union), only the surest is kept, whatever
       their classes: an object is of one class. If two are equally sure, the one asked for first is.

    Raises:
        ValueError: if a box or a score is not a finite number: the detector is broken.
    """
    kept: list[Found] = []
    dropped: list[Found] = []
    for one in sorted(found, key=lambda one: -one.score):
        if not all(map(math.isfinite, (one.score, *one.box))):
            raise ValueError(f"the detector gave a {one.label} with the box {one.box} and the score {one.score}")
        cut = one._replace(box=Box(*(round(min(max(number, 0.0), float(CANVAS)), 2) for number in one.box)))
        too_small = min(cut.box.xmax - cut.box.xmin, cut.box.ymax - cut.box.ymin) < MIN_SIDE
        if too_small or any(overlap(cut.box, other.box) >= most_overlap for other in kept):
            dropped.append(one)
        else:
            kept.append(cut)
    return Sifted(tuple(kept), tuple(dropped))
