"""Sizes of drawn objects: tiny or huge for their class, judged against other objects of usual size.

The lengths are those of the catalog. A drawing has no scale of its own, so a size is seen only beside references:
objects of at least two other classes of a usual size, of which no size is asked, and which are drawn at one scale.
Beside one alone, it is open which of the two has the wrong size.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, geometric_mean
from typing import NamedTuple

from formalimg.drawing.catalog import DrawnCatalog
from formalimg.scenes.objects import Box

SIZES = ("tiny", "huge")

SIZE_FACTOR = 3.0  # How many times shorter or longer than usual an object is at least that is tiny or huge
FEWEST_REFERENCES = 2  # So many other classes of a usual size set the scale at least
SCALES_APART = 1.5  # The scales at which references are drawn differ by this factor at most: otherwise there is none
COMPARABLE = 4.0
"""A size is compared with something that is at most so many times shorter: beside a bee, a hen is not tiny."""

MOST_APART = 12.0  # How many times longer than another an object of one drawing is at most: both have to be seen
ORDINARY_FACTOR = 1.4  # How many times shorter or longer than usual an object is at most that nobody calls tiny or huge
_FARTHEST = 1.8
"""Where usual lengths differ by more than this factor, so much is asked for: people look at which of two is larger."""


def size_limit(word: str, length: float, reference: float, factor: float = SIZE_FACTOR) -> float:
    """Return the side length, relative to a reference, at which an object becomes tiny or huge.

    A house is not tiny that is twice as long as the cat beside it, and a ring is not huge at a tenth of the height of a
    man: what is tiny is smaller than its references, and what is huge is larger, whatever their usual lengths.
    """
    ratio = length / reference
    return min(ratio, _FARTHEST) / factor if word == "tiny" else max(ratio, 1 / _FARTHEST) * factor


class _SizeMeasures(NamedTuple):
    """The measured sides and usual length of a class, and the usual length and measured side of each reference.

    There are no references where they do not set one scale.
    """

    sides: list[float]
    length: float
    references: list[tuple[float, float]]


def has_size(
    word: str, objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> bool:
    """Return whether all objects of a class are tiny or huge relative to every reference."""
    sides, length, measures = _measure(objects, item, references, catalog)
    limits = [size_limit(word, length, reference) * side for reference, side in measures]
    if not sides or not limits:
        return False
    return max(sides) <= min(limits) if word == "tiny" else min(sides) >= max(limits)


def is_ordinary(
    word: str, objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> bool:
    """Return whether a class is clearly not tiny or huge; cases between this and `has_size` are ambiguous.

    Cases without references that set the scale are ambiguous too.
    """
    sides, length, measures = _measure(objects, item, references, catalog)
    if not sides:
        return True
    if not measures:
        return False
    usual = length * geometric_mean(side / reference for reference, side in measures)
    return min(sides) >= usual / ORDINARY_FACTOR if word == "tiny" else max(sides) <= usual * ORDINARY_FACTOR


def _measure(
    objects: Sequence[tuple[str, Box]], item: str, references: Sequence[str], catalog: DrawnCatalog
) -> _SizeMeasures:
    sides: dict[str, list[float]] = {}
    for label, box in objects:
        sides.setdefault(label, []).append(longest_side(box))
    length = _usual_length(item, catalog)
    measures = []
    for label in dict.fromkeys(references):
        reference = _usual_length(label, catalog)
        if reference and label in sides and label != item:
            measures.append((reference, fmean(sides[label])))
    scales = [side / reference for reference, side in measures]
    if length is None or len(scales) < FEWEST_REFERENCES or max(scales) > SCALES_APART * min(scales):
        measures = []
    return _SizeMeasures(sides.get(item, []), length or 0.0, measures)


def _usual_length(label: str, catalog: DrawnCatalog) -> float | None:
    entry = catalog.classes.get(label)
    return None if entry is None else entry.usual_length


def longest_side(box: Box) -> float:
    """Return the longer side of a box."""
    return max(box.xmax - box.xmin, box.ymax - box.ymin)
