"""Rank correlation of the scores of single images by two parties: Spearman's rho and Kendall's tau-b, by item.

Images of the same item are not independent, so intervals do not go by the number of images: they are those of a
jackknife that leaves out one group of items at a time, on Fisher's scale.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import atanh, isfinite, sqrt, tanh
from typing import NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.correlation import Correlation, spearman
from formalimg.stats.intervals import normal_quantile
from formalimg.stats.observations import Interval

_GROUPS = 40
"""The most groups of items that are left out in turn: each takes as long as the correlation itself."""
_MIN_GROUPS = 10
"""With fewer items, the jackknife says nothing."""
_LINE = 1e-12

_Pair: TypeAlias = tuple[float, float]


class RankCorrelations(NamedTuple):
    """Spearman's rho and Kendall's tau-b of the same pairs."""

    spearman: Correlation
    kendall: Correlation


def kendall(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Kendall's tau-b: the excess of concordant over discordant pairs of cases, corrected for ties on each side.

    None for fewer than two cases, and where all scores of one side are the same. Takes n log n comparisons.
    """
    ordered = sorted(pairs)
    total = _pairs_among([len(ordered)])
    tied = _pairs_among(Counter(one for one, _ in ordered).values())
    other_tied = _pairs_among(Counter(other for _, other in ordered).values())
    if total in (tied, other_tied):
        return None
    both_tied = _pairs_among(Counter(ordered).values())
    discordant, seen = 0, list[float]()
    for _, other in ordered:  # those before it have smaller first scores, or the same and smaller second ones
        discordant += len(seen) - bisect_right(seen, other)
        insort(seen, other)
    excess = total - tied - other_tied + both_tied - 2 * discordant
    return max(-1.0, min(1.0, excess / sqrt((total - tied) * (total - other_tied))))


def rank_correlations(
    pairs: Iterable[tuple[float | None, float | None]], *, items: Sequence[Hashable], confidence: float = 0.95
) -> RankCorrelations:
    """Return the rank correlations of paired scores of images, with intervals clustered by item.

    Args:
        pairs: the two scores of each image; None where one is missing. Such images are left out, and counted.
        items: for each image the item it belongs to.
        confidence: of the intervals, which are None for fewer than ten items.

    Raises:
        FormalimgError: if a score is not a number, or the confidence is invalid.
    """
    width = normal_quantile(confidence)
    given = list(zip(pairs, items, strict=True))
    known = [((float(a), float(b)), item) for (a, b), item in given if a is not None and b is not None]
    if not all(isfinite(score) for pair, _ in known for score in pair):
        raise FormalimgError("only numbers can be ranked: give None where a score is missing")
    numbers = {item: number for number, item in enumerate(dict.fromkeys(item for _, item in known))}
    count = min(_GROUPS, len(numbers))
    grouped = [(pair, numbers[item] % count) for pair, item in known]
    left_out = len(given) - len(known)

    def correlation(statistic: Callable[[Sequence[_Pair]], float | None]) -> Correlation:
        value = statistic([pair for pair, _ in grouped])
        interval = None
        if value is not None and count >= _MIN_GROUPS and 1 - abs(value) > _LINE:
            without = [statistic([pair for pair, of in grouped if of != group]) for group in range(count)]
            interval = _jackknife_interval(value, without, width)
        return Correlation(value, interval, len(known), left_out)

    return RankCorrelations(correlation(lambda chosen: spearman(chosen).value), correlation(kendall))


def _jackknife_interval(value: float, without: Sequence[float | None], width: float) -> Interval | None:
    known = [atanh(one) for one in without if one is not None and 1 - abs(one) > _LINE]
    if len(known) < len(without):
        return None
    mean = sum(known) / len(known)
    error = sqrt((len(known) - 1) / len(known) * sum((one - mean) ** 2 for one in known))
    return Interval(tanh(atanh(value) - width * error), tanh(atanh(value) + width * error))


def _pairs_among(counts: Iterable[int]) -> int:
    """Return how many pairs of cases are inside groups of these sizes."""
    return sum(count * (count - 1) // 2 for count in counts)
