"""Intersection over union (IoU) of boxes, and the matching of detected objects with true ones."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.scenes import Box, Scene, SceneObject

MIN_OVERLAP = 0.9
"""The minimum IoU of a match, as FormalImg measures its parser (appendix)."""


class Match(NamedTuple):
    """A true object, and the object that was found in its place."""

    truth: SceneObject
    found: SceneObject


def match(truth: Scene, found: Scene, min_overlap: float = MIN_OVERLAP) -> list[Match]:
    """Return pairs of the same class with a high enough IoU, the closest first; no object is in two of them.

    Args:
        truth: the true scene.
        found: the detected scene.
        min_overlap: the minimum IoU; more than 0, at most 1.

    Raises:
        FormalimgError: if the minimum is out of range.
    """
    if not 0 < min_overlap <= 1:  # also refuses NaN
        raise FormalimgError(f"boxes cannot be asked to overlap by {min_overlap:g}: take more than 0, and 1 at most")
    pairs = [
        (overlap(one.box, other.box), true_index, found_index)
        for true_index, one in enumerate(truth.objects)
        for found_index, other in enumerate(found.objects)
        if one.label == other.label
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


def overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes."""
    across = min(one.xmax, other.xmax) - max(one.xmin, other.xmin)
    down = min(one.ymax, other.ymax) - max(one.ymin, other.ymin)
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / (one.area + other.area - across * down)
