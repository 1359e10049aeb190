"""Whether several who rate the same objects rate them alike: Cronbach's alpha."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.binomial import checked_confidence
from formalimg.stats.redrawing import estimated, item_of_each, kinds_of_items
from formalimg.stats.resampling import checked_resampling
from formalimg.stats.summary import Interval

if TYPE_CHECKING:
    from formalimg.stats.redrawing import Draws, Figure

_ROUNDING = 1e-12
"""A variance that is smaller than this share of another is none but for rounding."""


class Reliability(NamedTuple):
    """How alike ratings are.

    Attributes:
        value: alpha: 1 if all rate alike, about 0 if they might as well have thrown dice, and below 0 if they
            contradict each other; None where it is not defined.
        interval: by the bootstrap over items (BCa); None for fewer than twenty items, where all resamples give the same
            (such as perfect agreement), and where too many of them have no alpha.
        n: how many rated objects entered.
        left_out: how many did not, because ratings are missing.
    """

    value: float | None
    interval: Interval | None
    n: int
    left_out: int


def cronbach_alpha(
    ratings: Iterable[Sequence[float | None]],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Reliability:
    """Cronbach's alpha: how much of what the sums of ratings vary is common to all raters.

    It forgives a rater who is stricter than others throughout. Every column should be one rater; where the five ratings
    of each image come from other people each time, alpha depends on who is put into which column, and
    `krippendorff_alpha` does not.

    Args:
        ratings: for each rated object the ratings, one for each rater in the same order; None where one is missing.
            Objects with a missing rating are left out and counted.
        items: for each object the item it belongs to, where items have several; items are resampled whole.
        confidence: of the interval.
        resamples: how often items are drawn anew for the interval.
        seed: of the resampling.

    Returns:
        Alpha with its interval. It is None for fewer than two raters or complete objects, and where the sums do not
        vary.

    Raises:
        FormalimgError: if a rating is no number, objects have different numbers of raters, or this is no confidence.
    """
    how = checked_resampling(checked_confidence(confidence), resamples, seed)
    rows = [tuple(row) for row in ratings]
    if len({len(row) for row in rows}) > 1:
        raise FormalimgError("some are rated by more people than others: give None where a rating is missing")
    complete: list[tuple[Hashable, tuple[float, ...]]] = []
    for name, row in zip(item_of_each(len(rows), items), rows, strict=True):
        numbers = tuple(checked_number(rating) for rating in row if rating is not None)
        if len(numbers) == len(row):
            complete.append((name, numbers))
    n, left_out = len(complete), len(rows) - len(complete)
    if n < 2 or len(complete[0][1]) < 2:
        return Reliability(None, None, n, left_out)
    kinds = kinds_of_items(complete)
    found = estimated(list(kinds.values()), _alpha_of_sums(list(kinds)), how)
    return Reliability(found.value, found.interval, n, left_out)


def checked_number(rating: object) -> float:
    """The rating, if it can be counted with.

    Raises:
        FormalimgError: if it is no finite number.
    """
    if isinstance(rating, Real) and isfinite(rating):
        return float(rating)
    raise FormalimgError(f"{rating!r} is no rating on a scale: give a number, or None where it is missing")


def _alpha_of_sums(kinds: Sequence[Sequence[tuple[float, ...]]]) -> Figure:
    """Alpha from how often each kind of item was drawn, given the complete ratings of each kind."""
    import numpy as np

    first = np.array(kinds[0][0])  # ratings count from here: it changes no variance, and saves digits
    apart = [np.array(kind) - first for kind in kinds]
    sizes = np.array([len(rows) for rows in apart])
    of_raters = np.array([rows.sum(axis=0) for rows in apart])
    squares = np.array([(rows**2).sum() for rows in apart])
    squares_of_sums = np.array([(rows.sum(axis=1) ** 2).sum() for rows in apart])
    raters = len(first)

    def alpha(drawn: Draws) -> Draws:
        n, sums, sum_squares = drawn @ sizes, drawn @ of_raters, drawn @ squares_of_sums
        within = n * (drawn @ squares) - (sums**2).sum(axis=1)
        whole = n * sum_squares - sums.sum(axis=1) ** 2
        varies = whole > _ROUNDING * np.maximum(within, n * sum_squares)
        unshared = np.divide(within, whole, out=np.full_like(whole, np.nan), where=varies)
        return np.asarray(raters / (raters - 1) * (1 - unshared))

    return alpha
