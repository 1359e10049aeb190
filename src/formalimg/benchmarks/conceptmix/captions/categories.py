"""Categories of visual concepts as bit masks, and counts of the captions that mention them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category

__all__ = ["BITS", "CATEGORIES", "MASKS", "Category", "CategoryCounts", "categories_to_mask", "mask_to_categories"]

BITS: dict[Category, int] = {category: 1 << index for index, category in enumerate(CATEGORIES)}
"""The bit of each category in a mask, which stands for a set of categories."""

MASKS = 1 << len(CATEGORIES)
"""The number of different sets of categories."""


def categories_to_mask(categories: Iterable[Category]) -> int:
    """Return the mask of a set of categories."""
    mask = 0
    for category in categories:
        mask |= BITS[category]
    return mask


def mask_to_categories(mask: int) -> tuple[Category, ...]:
    """Return the categories of a mask, in their order."""
    return tuple(category for category, bit in BITS.items() if mask & bit)


@dataclass(frozen=True)
class CategoryCounts:
    """How many captions mention exactly which categories."""

    by_set: tuple[int, ...]  # for each mask, how many captions mention just these categories

    @property
    def captions(self) -> int:
        """The number of captions."""
        return sum(self.by_set)

    @property
    def histogram(self) -> tuple[int, ...]:
        """The number of captions that mention no category, one, and so on up to all eight."""
        found = [0] * (len(CATEGORIES) + 1)
        for mask, count in enumerate(self.by_set):
            found[mask.bit_count()] += count
        return tuple(found)

    @property
    def captions_with(self) -> Mapping[Category, int]:
        """The number of captions that mention each category."""
        return {category: self.together(category, category) for category in CATEGORIES}

    def together(self, one: Category, other: Category) -> int:
        """Return how many captions mention both categories."""
        both = BITS[one] | BITS[other]
        return sum(count for mask, count in enumerate(self.by_set) if mask & both == both)

    def share(self, count: int) -> float | None:
        """Return a count as a share of all captions; None if there are none."""
        return count / self.captions if self.captions else None

    @property
    def mean(self) -> float | None:
        """The mean number of categories per caption; None without captions."""
        total = sum(size * count for size, count in enumerate(self.histogram))
        return total / self.captions if self.captions else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of that number; None with less than two captions."""
        if self.captions < 2 or self.mean is None:
            return None
        squares = sum(count * (size - self.mean) ** 2 for size, count in enumerate(self.histogram))
        return math.sqrt(squares / (self.captions - 1))

    @property
    def maximum(self) -> int | None:
        """The largest number of categories in one caption; None without captions."""
        return max((size for size, count in enumerate(self.histogram) if count), default=None)

    def having(self, category: Category) -> CategoryCounts:
        """Return the counts of the captions alone that mention a category."""
        bit = BITS[category]
        return CategoryCounts(tuple(count if mask & bit else 0 for mask, count in enumerate(self.by_set)))
