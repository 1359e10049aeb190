"""Sizes of drawn objects: tiny and huge against the usual size of a class, by what else is drawn at its usual size.

The lengths are those of the catalog. A drawing has no scale of its own, so a size is seen only beside a reference: an
object of another class that has a usual size and of which no other size is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from formalimg.drawing.catalog import DrawnCatalog
from formalimg.scenes.objects import Box

SIZES = ("tiny", "huge")

SIZE_FACTOR = 2.5
"""How many times shorter or longer than usual an object is at least that is tiny or huge."""

COMPARABLE = 4.0
"""A size is compared with something that is at most so many times shorter: beside a bee, a hen is not tiny."""

MOST_APART = 12.0
"""How many times longer than another an object of one drawing is at most: both have to be seen."""

ORDINARY_FACTOR = 1.5
"""How many times shorter or longer than usual an object is at most that nobody calls tiny or huge."""

_FARTHEST = 1.8
"""Where usual lengths differ by more than this factor, so much is asked for: people look at which of two is larger."""


def size_limit(word: str, length: float, reference: float, factor: float = SIZE_FACTOR) -> float:
    """Return up to which side, as a multiple of a reference's, an object is tiny, or from which on it is huge.

    A house is not tiny that is twice as long as the cat beside it, and a ring is not huge at a tenth of the height of a
    man: what is tiny is smaller than its references, and what is huge is larger, whatever their usual lengths.
    """
    ratio = length / reference
    return min(ratio, _FARTHEST) / factor if word == "tiny" else max(ratio, 1 / _FARTHEST) * factor


class _SizeMeasures(NamedTuple):
    """The longest sides of the objects of a class, and for each reference its longest side and the usual ratio."""

    sides: list[float]
    references: list[tuple[float, float, float]]


def has_size(
    word: str, objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> bool:
    """Return whether all objects of a class are tiny or huge beside every reference.

    Args:
        word: "tiny" or "huge".
        objects: the class and box of every object.
        item: the class in question.
        references: other classes; those that have no usual size do not count.
        catalog: what knows the lengths.
    """
    sides, measures = _measure(objects, item, references, catalog)
    limits = [size_limit(word, length, reference) * side for side, length, reference in measures]
    if not sides or not limits:
        return False
    return max(sides) <= min(limits) if word == "tiny" else min(sides) >= max(limits)


def is_ordinary(
    word: str, objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> bool:
    """Return whether nobody would call the objects of a class so; between this and `has_size` opinions differ."""
    sides, measures = _measure(objects, item, references, catalog)
    usual = [side * length / reference for side, length, reference in measures]
    if not sides or not usual:
        return True
    if word == "tiny":
        return max(sides) >= max(usual) / ORDINARY_FACTOR
    return min(sides) <= min(usual) * ORDINARY_FACTOR


def _measure(
    objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> _SizeMeasures:
    sides: dict[str, list[float]] = {}
    for label, box in objects:
        sides.setdefault(label, []).append(longest_side(box))
    length = _usual_length(item, catalog)
    measures = []
    for label in references:
        reference = _usual_length(label, catalog)
        if length and reference and label in sides and label != item:
            measures.append((fmean(sides[label]), length, reference))
    return _SizeMeasures(sides.get(item, []), measures)


def _usual_length(label: str, catalog: DrawnCatalog) -> float | None:
    entry = catalog.classes.get(label)
    return None if entry is None else entry.usual_length


def longest_side(box: Box) -> float:
    """Return the longer side of a box."""
    return max(box.xmax - box.xmin, box.ymax - box.ymin)
