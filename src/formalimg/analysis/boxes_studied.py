"""A grounder measured by boxes that people corrected: what `study_boxes` gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.analysis.conduct import Conduct
from formalimg.stats import Estimate, Share


class Boxes(NamedTuple):
    """How well objects are found.

    Shares have the exact interval, clustered by image; F1 has that of the bootstrap over images, from 20 images
    on and if there is any mistake.

    Attributes:
        objects: how many objects are there, by the people who corrected.
        found: how many the grounder found.
        matched: how many of these are right: of the same class, and with boxes that overlap far enough.
        precision: the share of what was found that is there.
        recall: the share of what is there that was found.
        f1: the harmonic mean of both.
        attributes: by kind (color, material, shape, state), the share of matched objects that have the same words.
            Kinds that nothing has a word for are missing, but color is always there.
    """

    objects: int
    found: int
    matched: int
    precision: Share
    recall: Share
    f1: Estimate
    attributes: Mapping[str, Share]

    @property
    def color(self) -> Share:
        """The colour accuracy: the share of matched objects that have the same colour."""
        return self.attributes["color"]


class RatersBoxes(NamedTuple):
    """How far two people draw the same boxes.

    Attributes:
        images: how many images both corrected.
        one, other: how many objects each of them has there.
        matched: how many objects both have.
        f1: twice the matched, as a share of all; None if neither has any.
    """

    images: int
    one: int
    other: int
    matched: int
    f1: float | None


@dataclass(frozen=True)
class BoxesStudied:
    """A grounder, measured by what people made of its boxes.

    Attributes:
        suite: the benchmark.
        judges: who found the boxes, by run, as far as it is known.
        iou: how far boxes have to overlap: intersection over union.
        raters: the people.
        images: how many images were corrected.
        corrections: how many corrections there are; an image that three people corrected has three, and each of them
            is taken for true in turn.
        refused: how many of these are of images in which the grounder could not tell what it saw. What is there
            counts as not found.
        unchanged: how many leave what the grounder found as it was.
        overall, by_level, by_run: how well objects were found.
        by_class: the same class by class, the lowest F1 first.
        between: how far any two people draw the same boxes.
        between_mean: the mean of that over all pairs of people, each pair weighing the same; None if no two corrected
            the same image.
        confidence: of all intervals.
        conduct: how the raters did, as far as that is known.
    """

    suite: str
    judges: Mapping[str, str]
    iou: float
    raters: tuple[str, ...]
    images: int
    corrections: int
    refused: int
    unchanged: int
    overall: Boxes
    by_level: Mapping[int, Boxes]
    by_run: Mapping[str, Boxes]
    by_class: Mapping[str, Boxes]
    between: Mapping[str, Mapping[str, RatersBoxes]]
    between_mean: float | None
    confidence: float
    conduct: Conduct | None = None
