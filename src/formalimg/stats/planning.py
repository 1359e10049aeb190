"""Planning: how many images and human labels a wanted half width of an interval needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import binomial_interval, normal_quantile, validate_confidence
from formalimg.stats.label_allocation import allocate_labels

_MOST = 1_000_000_000
"""A number of images that nobody will make."""


def images_for_width(width: float, *, rate: float = 0.5, confidence: float = 0.95) -> int:
    """Return how many images the exact interval of a pass rate needs to be at most so wide to its larger side."""
    validate_confidence(confidence)
    require_width(width)
    if not 0 <= rate <= 1:
        raise FormalimgError(f"a rate of {rate!r} cannot be expected: give one between 0 and 1")

    def is_enough(images: int) -> bool:
        low, high = binomial_interval(rate * images, images, confidence)
        return max(rate - low, high - rate) <= width

    return find_smallest(is_enough, 1, _MOST)


def items_for_difference(width: float, *, discordant: float, confidence: float = 0.95) -> int:
    """Return about how many items the difference of two models on the same items needs for this half width."""
    require_width(width)
    if not 0 < discordant <= 1:
        raise FormalimgError(f"a share of {discordant!r} cannot differ: give one above 0 and up to 1")
    # At no difference the variance of a pair is the share that differs; a difference makes it smaller.
    return ceil(discordant * (normal_quantile(confidence) / width) ** 2 - 1e-9)


def labels_for_width(cells: Mapping[tuple[int, bool], int], width: float, *, confidence: float = 0.95) -> int | None:
    """Return how many human labels the corrected Overall rate of a run needs for this half width."""
    require_width(width)

    def is_enough(labels: int) -> bool:
        return allocate_labels(cells, labels, confidence=confidence).half_width <= width

    least, upper = 2 * len(cells), sum(cells.values())
    return find_smallest(is_enough, min(least, upper), upper) if is_enough(upper) else None


def require_width(width: float) -> None:
    """Refuse a half width that no interval has."""
    if not 0 < width < 1:
        raise FormalimgError(
            f"a half width of {width!r} cannot be planned: give one between 0 and 1; 5 points are 0.05"
        )


def find_smallest(is_enough: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest number from low to high that is enough, if all above one that is enough are; else high."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low
