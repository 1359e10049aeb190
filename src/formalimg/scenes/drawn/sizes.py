"""Tiny and huge: which objects of a scene are, judged by the areas of their boxes against the others'.

One rule for the solver and for the truth about a drawing. Someone who looks at an image compares a thing with the things
around it, but a cat is not huge because a tiny car stands next to it: so what the others count for has limits, and an
object alone is compared with an ordinary one.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from formalimg.scenes.objects import CANVAS, Box

TINY_SHARE = 1 / 6
"""A tiny object has at most this part of the typical area."""
HUGE_TIMES = 4.0
"""A huge object has at least this many times the typical area."""

ORDINARY_AREA = (0.30 * CANVAS) ** 2
"""The area that an object without others is compared with."""
LEAST_TYPICAL_AREA = (0.20 * CANVAS) ** 2
MOST_TYPICAL_AREA = (0.35 * CANVAS) ** 2


class SizeLimits(NamedTuple):
    """The areas, on the canvas, up to which an object is tiny and from which it is huge."""

    tiny_at_most: float
    huge_at_least: float


def size_limits(others: Sequence[Box]) -> SizeLimits:
    """Return the limits for an object among these others.

    The typical area is the median of the others', but never less than that of a square of 200 or more than that of one
    of 350 on the canvas of 1000; without others it is that of one of 300.
    """
    typical = median(box.area for box in others) if others else ORDINARY_AREA
    typical = min(max(typical, LEAST_TYPICAL_AREA), MOST_TYPICAL_AREA)
    return SizeLimits(typical * TINY_SHARE, typical * HUGE_TIMES)


def size_words(boxes: Sequence[Box], labels: Sequence[str] | None = None) -> tuple[str | None, ...]:
    """Return for each box whether its object is "tiny", "huge", or neither.

    Args:
        boxes: the boxes of all objects of a scene.
        labels: their classes. Objects are compared with those of other classes where there are any, so that three tiny
            bees are tiny beside a cat.
    """
    found: list[str | None] = []
    for number, box in enumerate(boxes):
        rest = [other for other in range(len(boxes)) if other != number]
        unlike = [other for other in rest if labels is not None and labels[other] != labels[number]]
        limits = size_limits([boxes[other] for other in unlike or rest])
        size = box.area
        found.append("tiny" if size <= limits.tiny_at_most else "huge" if size >= limits.huge_at_least else None)
    return tuple(found)
