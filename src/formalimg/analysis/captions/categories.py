"""The categories of visual concepts that captions are searched for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from formalimg.suites import CATEGORIES, Category

__all__ = ["BITS", "CATEGORIES", "Category", "categories_to_mask", "mask_to_categories"]

BITS: dict[Category, int] = {category: 1 << place for place, category in enumerate(CATEGORIES)}
"""A set of categories as a whole number: one bit for each."""


def categories_to_mask(categories: Iterable[Category]) -> int:
    """The whole number that stands for a set of categories."""
    number = 0
    for category in categories:
        number |= BITS[category]
    return number


def mask_to_categories(number: int) -> tuple[Category, ...]:
    """The categories that a whole number stands for, in their order."""
    return tuple(category for category, bit in BITS.items() if number & bit)


SETS = 1 << len(CATEGORIES)
"""How many different sets of categories there are."""


@dataclass(frozen=True)
class CategoryCounts:
    """How many captions speak of exactly which categories.

    Attributes:
        by_set: for each set of categories, as a whole number with one bit for each, how many captions have just these.
    """

    by_set: tuple[int, ...]

    @property
    def captions(self) -> int:
        """How many captions there are."""
        return sum(self.by_set)

    @property
    def histogram(self) -> tuple[int, ...]:
        """How many captions speak of no category, of one, and so on up to all eight."""
        found = [0] * (len(CATEGORIES) + 1)
        for number, count in enumerate(self.by_set):
            found[number.bit_count()] += count
        return tuple(found)

    @property
    def captions_with(self) -> Mapping[Category, int]:
        """How many captions speak of each category."""
        return {category: self.together(category, category) for category in CATEGORIES}

    def together(self, one: Category, other: Category) -> int:
        """How many captions speak of both categories."""
        both = BITS[one] | BITS[other]
        return sum(count for number, count in enumerate(self.by_set) if number & both == both)

    def share(self, count: int) -> float | None:
        """A count as a share of all captions; None if there are none."""
        return count / self.captions if self.captions else None

    @property
    def mean(self) -> float | None:
        """How many categories a caption speaks of, on average; None without captions."""
        total = sum(size * count for size, count in enumerate(self.histogram))
        return total / self.captions if self.captions else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of that number from caption to caption; None with less than two captions."""
        if self.captions < 2 or self.mean is None:
            return None
        squares = sum(count * (size - self.mean) ** 2 for size, count in enumerate(self.histogram))
        return math.sqrt(squares / (self.captions - 1))

    @property
    def most(self) -> int | None:
        """The largest number of categories in one caption; None without captions."""
        return max((size for size, count in enumerate(self.histogram) if count), default=None)

    def having(self, category: Category) -> CategoryCounts:
        """The same for the captions alone that speak of a category."""
        bit = BITS[category]
        return CategoryCounts(tuple(count if number & bit else 0 for number, count in enumerate(self.by_set)))
