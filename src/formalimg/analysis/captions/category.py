"""The categories of visual concepts that captions are searched for."""

from __future__ import annotations

from collections.abc import Iterable

from formalimg.suites import CATEGORIES, Category

__all__ = ["BITS", "CATEGORIES", "Category", "number_of", "set_of"]

BITS: dict[Category, int] = {category: 1 << place for place, category in enumerate(CATEGORIES)}
"""A set of categories as a whole number: one bit for each."""


def number_of(categories: Iterable[Category]) -> int:
    """The whole number that stands for a set of categories."""
    number = 0
    for category in categories:
        number |= BITS[category]
    return number


def set_of(number: int) -> tuple[Category, ...]:
    """The categories that a whole number stands for, in their order."""
    return tuple(category for category, bit in BITS.items() if number & bit)
