"""The interval of a band whose levels have too few items to be resampled.

From two items a bootstrap learns next to nothing about items it has not seen. But it is known how much the mean of
several rates can vary: no more than the rate of as many tries that all had the same chance (Hoeffding, 1956). So the
exact interval of the pooled tries is safe, and rather too wide where the levels differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.stats.binomial import binomial_interval
from formalimg.stats.summary import Interval
from formalimg.stats.tallying import Outcomes, total

ENOUGH = 5
"""From so many items at each level on, resampling covers what it should."""


def worth_in_items(kinds: Outcomes) -> float:
    """How many items of equally many images these are worth; their number, if all have equally many."""
    _, counted = total(kinds)
    return counted**2 / sum(items * kind.counted**2 for kind, items in kinds.items())


def pooled_interval(mean: float, levels: Sequence[Outcomes], confidence: float) -> Interval:
    """The exact interval of the mean of the rates of these levels, as if each had as few items as the poorest.

    All images of an item count as one: few items cannot tell how alike their images are.
    """
    tries = len(levels) * min(map(worth_in_items, levels))
    return binomial_interval(mean * tries, tries, confidence)
