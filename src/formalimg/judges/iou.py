"""Which of the objects that were found are which of those that are there."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.scenes import Box, Scene, SceneObject

MIN_OVERLAP = 0.9
"""How far boxes have to overlap (intersection over union), as FormalImg measures its parser (appendix)."""


class Match(NamedTuple):
    """An object that is there, and the one that was found in its place."""

    truth: SceneObject
    found: SceneObject


def match(truth: Scene, found: Scene, least_overlap: float = MIN_OVERLAP) -> list[Match]:
    """Pairs of the same class whose boxes overlap far enough, the closest first; no object is in two of them.

    Args:
        truth: what is there.
        found: what was found.
        least_overlap: the least intersection over union; more than 0, 1 at most.

    Raises:
        FormalimgError: if this is no overlap.
    """
    if not 0 < least_overlap <= 1:  # also refuses what is no number
        raise FormalimgError(f"boxes cannot be asked to overlap by {least_overlap:g}: take more than 0, and 1 at most")
    pairs = [
        (overlap(one.box, other.box), number, place)
        for number, one in enumerate(truth.objects)
        for place, other in enumerate(found.objects)
        if one.label == other.label
    ]
    taken: set[int] = set()
    seen: set[int] = set()
    matches = []
    for share, number, place in sorted(pairs, reverse=True):
        if share >= least_overlap and number not in taken and place not in seen:
            taken.add(number)
            seen.add(place)
            matches.append(Match(truth.objects[number], found.objects[place]))
    return matches


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    across = min(one.xmax, other.xmax) - max(one.xmin, other.xmin)
    down = min(one.ymax, other.ymax) - max(one.ymin, other.ymin)
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / (one.area + other.area - across * down)
