"""Sizes of drawn objects: tiny and huge against the other classes of the image."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from formalimg.scenes.objects import Box

TINY, HUGE = 1 / 6, 4.0
"""The area of an object, as a multiple of the typical area of the others, up to which and from which on it counts."""


def size_words(objects: Sequence[tuple[str, Box]]) -> list[str | None]:
    """Return for each object, given by class and box, whether it is "tiny", "huge" or neither (None).

    The typical area is the upper median over the other classes of their mean areas, so that several small things do not
    make each other normal. With nothing to compare with, nothing is tiny or huge.
    """
    areas: dict[str, list[float]] = {}
    for label, box in objects:
        areas.setdefault(label, []).append(box.area)
    means = {label: fmean(found) for label, found in areas.items()}
    words: list[str | None] = []
    for label, box in objects:
        others = sorted(mean for other, mean in means.items() if other != label)
        typical = others[len(others) // 2] if others else None
        if typical is None or TINY * typical < box.area < HUGE * typical:
            words.append(None)
        else:
            words.append("tiny" if box.area <= TINY * typical else "huge")
    return words
