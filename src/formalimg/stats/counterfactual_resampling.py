"""How the means of CF-World, and what is made of them, would vary with other groups.

Groups are drawn anew with all their levels and images, because levels of one group rise and fall together. As for
rates, each resample has one group more to draw that was never seen: the worst there could be for the lower end of an
interval, the best for the upper end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.stats.binomial import binomial_interval
from formalimg.stats.few_items import ENOUGH
from formalimg.stats.resampling import Resampling
from formalimg.stats.summary import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


class Counted(NamedTuple):
    """What a group adds to the mean of a level: the sum of so many scores."""

    total: float
    images: int


GroupScores: TypeAlias = Mapping[str, Mapping[int, Counted]]
"""By group and level; a level of which nothing counts is not there."""


class ResampledMeans:
    """The means of all levels in each resample, with room for the group that was never seen."""

    def __init__(self, groups: GroupScores, levels: Sequence[int], how: Resampling) -> None:
        """Draw the groups; they are drawn in the order of their names, so that no other order matters."""
        import numpy as np

        self._how, self._column = how, {level: number for number, level in enumerate(levels)}
        nothing = Counted(0.0, 0)
        table = np.array(
            [[groups[name].get(level, nothing) for level in levels] for name in sorted(groups)], dtype=np.float64
        ).reshape(len(groups), len(levels), 2)
        self._groups = (table[:, :, 1] > 0).sum(axis=0)
        self._worth = _worth(table)
        self._most = table[:, :, 1].max(axis=0, initial=0.0)
        chances = np.full(len(groups) + 1, 1 / (len(groups) + 1))
        drawn = np.random.default_rng(how.seed).multinomial(len(groups) + 1, chances, size=how.resamples)
        seen = drawn[:, :-1].astype(np.float64)
        self._totals, self._images, self._unseen = seen @ table[:, :, 0], seen @ table[:, :, 1], drawn[:, -1]

    def mean_interval(self, level: int, value: float) -> Interval:
        """The interval of the mean of a level; an exact one, and wider, where few groups tell of it."""
        import numpy as np

        column = self._column[level]
        if self._groups[column] < ENOUGH:
            worth = float(self._worth[column])
            return binomial_interval(min(value, 1.0) * worth, worth, self._how.confidence)
        low, high = (np.nan_to_num(self._means(level, unseen), nan=unseen) for unseen in (0.0, 1.0))
        return _ends(low, high, value, self._how.confidence)

    def ratio_interval(self, before: int, after: int, value: float, least_before: float) -> Interval | None:
        """The interval of the mean of one level over the root of that of another; None if it has no end.

        Where fewer than five groups tell of a level, there is none: a resampled root says too little then.

        Args:
            before: the level to be divided by.
            after: the level that is divided.
            value: the figure itself.
            least_before: the lowest that a group can have before if it has anything after.
        """
        import numpy as np

        if min(self._groups[self._column[level]] for level in (before, after)) < ENOUGH:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            low = self._means(after, 0.0) / np.sqrt(self._means(before, 1.0))
            high = self._means(after, 1.0) / np.sqrt(self._means(before, least_before))
        interval = _ends(
            np.nan_to_num(low, nan=0.0), np.where(np.isnan(high), np.inf, high), value, self._how.confidence
        )
        return interval if isfinite(interval.high) else None

    def _means(self, level: int, unseen: float) -> Array:
        import numpy as np

        column = self._column[level]
        more = self._unseen * self._most[column]
        with np.errstate(invalid="ignore"):
            means: Array = (self._totals[:, column] + more * unseen) / (self._images[:, column] + more)
        return means


def _worth(table: Array) -> Array:
    """For each level how many groups of equally many images its groups are worth."""
    import numpy as np

    images = table[:, :, 1]
    squares = (images**2).sum(axis=0)
    worth: Array = np.divide(images.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    return worth


def _ends(low: Array, high: Array, value: float, confidence: float) -> Interval:
    import numpy as np

    outside = (1 - confidence) / 2
    return Interval(
        min(float(np.quantile(low, outside, method="lower")), value),
        max(float(np.quantile(high, 1 - outside, method="higher")), value),
    )
