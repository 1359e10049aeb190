"""Sizes of drawn objects: tiny and huge against the other classes of the image."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from formalimg.scenes.objects import Box

TINY, HUGE = 1 / 6, 4.0
"""The area of an object, as a multiple of the typical area of the others, up to which and from which on it counts."""


def size_words(objects: Sequence[tuple[str, Box]]) -> list[str | None]:
    """Return for each object, given by class and box, whether it is "tiny", "huge" or neither (None).

    What is typical is a median over the other classes of their mean areas: for tiny the upper one, so that several
    small things do not make each other normal; for huge the lower one of those that are not tiny themselves, so that
    several large things do not either. With nothing to compare with, nothing is tiny or huge.
    """
    areas: dict[str, list[float]] = {}
    for label, box in objects:
        areas.setdefault(label, []).append(box.area)
    means = {label: fmean(found) for label, found in areas.items()}
    words: list[str | None] = []
    for label, box in objects:
        others = sorted(mean for other, mean in means.items() if other != label)
        words.append(_size_word(box.area, others) if others else None)
    return words


def _size_word(area: float, others: list[float]) -> str | None:
    typical = others[len(others) // 2]
    if area <= TINY * typical:
        return "tiny"
    normal = [other for other in others if other > TINY * typical]
    return "huge" if area >= HUGE * normal[(len(normal) - 1) // 2] else None
