"""Agreement of rankings: Spearman's rho and Kendall's tau-b of scores, and rank correlation of models by level."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import fsum, sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.stats.correlation import (
    MIN_ITEMS,
    Correlation,
    ScorePairs,
    WithoutItem,
    fisher_interval,
    jackknife_interval,
    keep_known_pairs,
    pearson,
)
from formalimg.stats.intervals import validate_confidence
from formalimg.stats.observations import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    WithoutItems: TypeAlias = Callable[[Floats, Floats, Ints], Iterable[float | None]]


class RankAgreement(NamedTuple):
    """Rank correlation of two scorings of the same models, level by level."""

    by_level: Mapping[int, Correlation]  # Spearman's correlation at each level
    mean: float | None  # the mean of those that are defined, each level weighing the same; None if none is
    levels: int  # how many levels the mean is of
    # at how many levels there is none, because there are fewer than three models or all are scored the same
    left_out: int
    # of the mean, for other models: as wide as that of a single level, because all levels rank the same models. None
    # for fewer than four models, and where the mean is 1 or −1
    interval: Interval | None = None


def average_ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value in ascending order, averaging the ranks of ties."""
    order = sorted(values)
    below: dict[float, int] = {}
    for number, value in enumerate(order):
        below.setdefault(value, number)
    up_to = {value: number for number, value in enumerate(order, 1)}
    return [(below[value] + 1 + up_to[value]) / 2 for value in values]


def spearman(pairs: ScorePairs, confidence: float = 0.95, *, items: Sequence[Hashable] | None = None) -> Correlation:
    """Compute Spearman's rank correlation, averaging the ranks of ties.

    The interval of independent cases is that of Fisher's transformation with the variance (1 + ρ²/2) / (n − 3) of
    Bonett and Wright; that of cases with items is the jackknife's. It is None for fewer than four pairs or items, and
    where the rankings are the same or opposite; the correlation itself is None for fewer than three pairs, and where
    all scores of one side are the same. Cases with a missing score are left out before ranking, and counted.
    """
    validate_confidence(confidence)
    both, names, left_out = keep_known_pairs(pairs, items)
    ranked = [average_ranks(side) for side in zip(*both, strict=True)]
    value = pearson(list(zip(*ranked, strict=True)), confidence).value
    if value is None:
        return Correlation(None, None, len(both), left_out)
    if items is None:
        return Correlation(value, fisher_interval(value, len(both), confidence, 1 + value**2 / 2), len(both), left_out)
    return Correlation(value, _item_interval(value, both, names, confidence, _rhos_without), len(both), left_out)


def kendall(pairs: ScorePairs, confidence: float = 0.95, *, items: Sequence[Hashable] | None = None) -> Correlation:
    """Compute Kendall's tau-b, the probability of concordant minus that of discordant pairs.

    Ties count for neither, and the range is that of rankings with so many ties (tau-b). It is None for fewer than
    three pairs, and where all scores of one side are the same. The interval is the jackknife's over items, from four
    items on.
    """
    validate_confidence(confidence)
    both, names, left_out = keep_known_pairs(pairs, items)
    value = None
    if len(both) > 2:
        import numpy as np

        first, second = np.array(both).T
        value = _tau_b(sum((_pair_orders(first, second, case) for case in range(len(both))), np.zeros(3)))
    if value is None:
        return Correlation(None, None, len(both), left_out)
    return Correlation(value, _item_interval(value, both, names, confidence, _taus_without), len(both), left_out)


class RankCorrelations(NamedTuple):
    """Spearman's rho and Kendall's tau-b of the same pairs."""

    spearman: Correlation
    kendall: Correlation


def rank_correlations(pairs: ScorePairs, *, items: Sequence[Hashable], confidence: float = 0.95) -> RankCorrelations:
    """Compute both rank correlations of image scores, with intervals clustered by item."""
    cases = list(pairs)
    return RankCorrelations(spearman(cases, confidence, items=items), kendall(cases, confidence, items=items))


def _item_interval(
    value: float,
    known_pairs: Sequence[tuple[float, float]],
    names: Sequence[Hashable],
    confidence: float,
    without: WithoutItems,
) -> Interval | None:
    """Return the jackknife interval of a rank correlation over items."""
    import numpy as np

    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(numbers) < MIN_ITEMS:
        return None
    item_of = np.array([numbers[name] for name in names])
    first, second = np.array(known_pairs).T
    estimates = (WithoutItem(estimate, 1) for estimate in without(first, second, item_of))
    return jackknife_interval(value, estimates, len(numbers) - 1, confidence)


def _rhos_without(first: Floats, second: Floats, item_of: Ints) -> Iterator[float | None]:
    """Yield Spearman's correlation without each item, updating the remaining ranks."""
    import numpy as np

    ranks = [np.array(average_ranks(side.tolist())) for side in (first, second)]
    for item in range(int(item_of.max()) + 1):
        is_other_item = item_of != item
        apart = []
        for side, whole in zip((first, second), ranks, strict=True):
            gone = side[~is_other_item][:, None]
            fewer = (whole - (gone < side).sum(axis=0) - (gone == side).sum(axis=0) / 2)[is_other_item]
            apart.append(fewer - fewer.mean() if fewer.size else fewer)
        spread = float((apart[0] @ apart[0]) * (apart[1] @ apart[1]))
        yield float(apart[0] @ apart[1]) / sqrt(spread) if spread > 0 else None


def _taus_without(first: Floats, second: Floats, item_of: Ints) -> Iterator[float | None]:
    """Yield tau-b without each item, correcting for pairs within the item that are subtracted twice."""
    import numpy as np

    orders = np.array([_pair_orders(first, second, case) for case in range(len(first))])
    whole = orders.sum(axis=0)
    for item in range(int(item_of.max()) + 1):
        mine = np.flatnonzero(item_of == item)
        among = sum((_pair_orders(first[mine], second[mine], case) for case in range(len(mine))), np.zeros(3))
        yield _tau_b(whole - 2 * orders[mine].sum(axis=0) + among)


def _pair_orders(first: Floats, second: Floats, case: int) -> Floats:
    """Compare a case with all others, counting concordant minus discordant pairs and untied pairs on each side."""
    import numpy as np

    first, second = np.sign(first - first[case]), np.sign(second - second[case])
    return np.array([first @ second, np.count_nonzero(first), np.count_nonzero(second)], dtype=np.float64)


def _tau_b(orders: Floats) -> float | None:
    alike, first, second = map(float, orders)
    return max(-1.0, min(1.0, alike / sqrt(first) / sqrt(second))) if first and second else None


def rank_agreement(levels: Mapping[int, ScorePairs], confidence: float = 0.95) -> RankAgreement:
    """Measure the agreement of two model rankings, per level and on average, as in FormalImg (3.3).

    `levels` has for each level the two scores of each model, such as its rate by people and by the judge.
    """
    by_level = {level: spearman(pairs, confidence) for level, pairs in sorted(levels.items())}
    known_levels = [(rho.value, rho.n) for rho in by_level.values() if rho.value is not None]
    if not known_levels:
        return RankAgreement(by_level, None, 0, len(by_level))
    mean = fsum(value for value, _ in known_levels) / len(known_levels)
    interval = fisher_interval(mean, min(n for _, n in known_levels), confidence, 1 + mean**2 / 2)
    return RankAgreement(by_level, mean, len(known_levels), len(by_level) - len(known_levels), interval)
