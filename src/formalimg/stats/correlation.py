"""Correlation of scores: Pearson's r, and pooled r within levels, which is 0 for a judge without skill.

Intervals are the jackknife's over items, here and for kappa and ranks: an item is left out with all its cases, so that
the interval is as wide as clustering demands. Limits are taken on Fisher's scale, where a correlation varies about as
much near 1 as near 0, with Student's t for few items. Where answers are yes or no, perfect agreement varies nowhere;
half an unseen item of each kind that speaks against the value is then added for each limit (`unseen_limits`), as the
bootstrap of rates draws an unseen item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import atanh, fsum, inf, isfinite, sqrt, tanh
from typing import NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import item_ids
from formalimg.stats.intervals import normal_quantile, student_quantile, validate_confidence
from formalimg.stats.observations import Interval

_LINE = 1e-12  # Correlations nearer to 1 than this are 1 up to rounding, and so is a spread below this share of another
ScorePairs: TypeAlias = Iterable[tuple[float | None, float | None]]  # The two scores of each case


class Correlation(NamedTuple):
    """A correlation coefficient with its confidence interval."""

    # the coefficient, from −1 to 1; None for fewer than three pairs, and where all scores of one side are the same
    value: float | None
    # None for fewer than four pairs or items, and where the coefficient of scores is 1 or −1: it has no finite width
    # there
    interval: Interval | None
    n: int  # number of pairs that entered
    left_out: int  # number of pairs left out because a score is missing


def keep_known_pairs(
    pairs: ScorePairs, names: Sequence[Hashable] | None
) -> tuple[list[tuple[float, float]], list[Hashable], int]:
    """Return the pairs without missing scores, their names, and the number of dropped pairs."""
    given_pairs = list(pairs)
    known_pairs: list[tuple[float, float]] = []
    known_names: list[Hashable] = []
    for name, (first, second) in zip(item_ids(len(given_pairs), names), given_pairs, strict=True):
        if first is not None and second is not None:
            known_pairs.append((float(first), float(second)))
            known_names.append(name)
    if not all(isfinite(score) for pair in known_pairs for score in pair):
        raise FormalimgError("a correlation can be taken of numbers only: give None where a score is missing")
    return known_pairs, known_names, len(given_pairs) - len(known_pairs)


def pearson(pairs: ScorePairs, confidence: float = 0.95, *, items: Sequence[Hashable] | None = None) -> Correlation:
    """Compute Pearson's correlation of paired scores.

    Args:
        pairs: the two scores of each case; None where one is missing.
        confidence: of the interval.
        items: for each case the item it belongs to. The interval is then the jackknife's over items, which holds for
            several cases of an item and for scores that are not normal. None if each case is independent, with
            Fisher's interval, which is for scores that are about normal.
    """
    validate_confidence(confidence)
    both, names, left_out = keep_known_pairs(pairs, items)
    n = len(both)
    r = _pearson_r(both)
    if r is None:
        return Correlation(None, None, n, left_out)
    if items is not None:
        return within_level_correlation(both, [None] * n, items=names, confidence=confidence)._replace(
            value=r, left_out=left_out
        )
    return Correlation(r, fisher_interval(r, n, confidence), n, left_out)


def fisher_interval(r: float, n: int, confidence: float, variance: float = 1.0) -> Interval | None:
    """Return the Fisher interval of a correlation, or None for fewer than four pairs or a correlation of ±1."""
    if n < MIN_ITEMS or 1 - abs(r) < _LINE:
        return None
    reach = normal_quantile(confidence) * sqrt(variance / (n - 3))
    return Interval(tanh(atanh(r) - reach), tanh(atanh(r) + reach))


def _pearson_r(known_pairs: list[tuple[float, float]]) -> float | None:
    if len(known_pairs) < 3 or any(len(set(side)) < 2 for side in zip(*known_pairs, strict=True)):
        return None
    middle, other_middle = (fsum(side) / len(side) for side in zip(*known_pairs, strict=True))
    apart = [(first - middle, second - other_middle) for first, second in known_pairs]
    spread = sqrt(fsum(first * first for first, _ in apart)) * sqrt(fsum(second * second for _, second in apart))
    if not 0 < spread < inf:  # differences that are too small or too large for floats
        return None
    return max(-1.0, min(1.0, fsum(first * second for first, second in apart) / spread))


class _Sums(NamedTuple):
    """The number of cases in a level, and the sums of scores, squares and products."""

    n: float = 0.0
    first: float = 0.0
    second: float = 0.0
    first_squares: float = 0.0
    second_squares: float = 0.0
    products: float = 0.0

    @classmethod
    def of(cls, first: float, second: float) -> _Sums:
        return cls(1.0, first, second, first * first, second * second, first * second)

    def plus(self, addend: _Sums, weight: float = 1.0) -> _Sums:
        return _Sums(*(mine + weight * theirs for mine, theirs in zip(self, addend, strict=True)))

    def spread(self) -> tuple[float, float, float]:
        """Return the sums of squared deviations of both scores and of their cross products."""
        if self.n <= _LINE:
            return 0.0, 0.0, 0.0
        return (
            self.first_squares - self.first**2 / self.n,
            self.second_squares - self.second**2 / self.n,
            self.products - self.first * self.second / self.n,
        )


_Levels: TypeAlias = dict[Hashable, _Sums]


def within_level_correlation(
    pairs: ScorePairs,
    levels: Sequence[Hashable],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Correlation:
    """Compute the correlation within levels, which measures how well a judge distinguishes equally hard images.

    Every score is taken relative to the mean of its level, and the levels are pooled. A judge that knows only the level
    has a correlation of 0, although its mean scores rise and fall with the levels like those of people. For yes/no
    answers (1 and 0), it is the mean of the phi coefficients of the levels, weighted by how much their answers vary.

    Args:
        pairs: the two scores of each case, such as those of people and judge; None where one is missing.
        levels: the level of each case, or any other group within which to compare, such as a run and a level.
        items: for each case the item it belongs to, where items have several; items are left out whole.
        confidence: of the interval, which is the jackknife's over items.
    """
    validate_confidence(confidence)
    given_pairs = list(pairs)
    names = item_ids(len(given_pairs), items)
    if len(levels) != len(given_pairs):
        raise FormalimgError(f"{len(given_pairs)} cases have {len(levels)} levels: name a level for each case")
    both, places, left_out = keep_known_pairs(given_pairs, list(zip(names, levels, strict=True)))
    kept_names = [name for name in places if isinstance(name, tuple)]
    by_level: dict[Hashable, list[tuple[float, float]]] = {}
    for (_, level), pair in zip(kept_names, both, strict=True):
        by_level.setdefault(level, []).append(pair)
    means = {
        level: [fsum(side) / len(level_pairs) for side in zip(*level_pairs, strict=True)]
        for level, level_pairs in by_level.items()
    }
    centred = [
        (first - means[level][0], second - means[level][1])
        for (first, second), (_, level) in zip(both, kept_names, strict=True)
    ]
    yes_no = all(score in (0.0, 1.0) for pair in both for score in pair)
    sums: _Levels = {}
    sums_of_item: dict[Hashable, _Levels] = {}
    # Yes and no as they are, because unseen cases are added to them; scores around the mean, which saves digits.
    for (name, level), pair in zip(kept_names, both if yes_no else centred, strict=True):
        for totals in (sums, sums_of_item.setdefault(name, {})):
            totals[level] = totals.get(level, _Sums()).plus(_Sums.of(*pair))
    value = _pooled_r(sums) if len(both) > 2 else None
    if value is None or len(sums_of_item) < MIN_ITEMS:
        return Correlation(value, None, len(both), left_out)
    # How many levels an item could be of, where it has several.
    groups = len(sums) * len(sums_of_item) / sum(map(len, sums_of_item.values()))
    degrees = round(len(sums_of_item) - groups)
    if yes_no:

        def limit(upper: bool) -> float:
            more, unseen = dict(sums), _unseen_cases(sums, sums_of_item, upper)
            for item in unseen:
                more = {level: level_sums.plus(item[level]) for level, level_sums in more.items()}
            without = _without_each(more, [*sums_of_item.values(), *unseen])
            return jackknife_limit(_pooled_r(more) or 0.0, without, degrees, confidence, upper=upper)

        return Correlation(value, unseen_limits(value, limit), len(both), left_out)
    without = _without_each(sums, sums_of_item.values())
    return Correlation(value, jackknife_interval(value, without, degrees, confidence), len(both), left_out)


def _pooled_r(sums: _Levels) -> float | None:
    """Return the pooled correlation, or None if one score does not vary within any level."""
    return _correlation_of_sums(
        *(fsum(side) for side in zip(*(level.spread() for level in sums.values()), strict=True))
    )


def _correlation_of_sums(first: float, second: float, products: float) -> float | None:
    if not min(first, second) > _LINE * max(first, second, 1e-280):
        return None
    return max(-1.0, min(1.0, products / sqrt(first) / sqrt(second)))


def _without_each(sums: _Levels, items: Iterable[_Levels]) -> Iterable[WithoutItem]:
    """Yield the pooled correlation without each item, computing identical items only once."""
    spreads = {level: level_sums.spread() for level, level_sums in sums.items()}
    whole = [fsum(side) for side in zip(*spreads.values(), strict=True)]
    for kind, times in Counter(tuple(item_sums.items()) for item_sums in items).items():
        change = [0.0, 0.0, 0.0]
        for level, mine in kind:
            after = sums[level].plus(mine, -1.0).spread()
            change = [total + new - old for total, new, old in zip(change, after, spreads[level], strict=True)]
        yield WithoutItem(
            _correlation_of_sums(*(first + second for first, second in zip(whole, change, strict=True))), times
        )


def _unseen_cases(sums: _Levels, sums_of_item: dict[Hashable, _Levels], upper: bool) -> list[_Levels]:
    """Return two unseen items spread over the levels, with agreeing scores for the upper limit."""
    cases = fsum(level.n for level in sums.values())
    weight = UNSEEN * cases / len(sums_of_item)
    answers = ((0.0, 0.0), (1.0, 1.0)) if upper else ((0.0, 1.0), (1.0, 0.0))
    return [
        {level: _Sums().plus(_Sums.of(*pair), weight * level_sums.n / cases) for level, level_sums in sums.items()}
        for pair in answers
    ]


MIN_ITEMS = 4  # Fewer items give no interval of a correlation: three points are nearly always on some line
UNSEEN = 0.5  # The weight of an unseen item; with it, simulated intervals held the truth from twenty items on
_LAST_BELOW_ONE = 1 - 1e-6  # Nearer to 1 than this, Fisher's scale would make one item out of few decide everything


class WithoutItem(NamedTuple):
    """A leave-one-out statistic (None if undefined) and the number of items it represents."""

    value: float | None
    items: int


def jackknife_limit(
    value: float, without: Iterable[WithoutItem], degrees: int, confidence: float, *, upper: bool
) -> float:
    """Return one jackknife limit of a correlation."""
    transformed = [(_fisher_z(estimate.value or 0.0), estimate.items) for estimate in without]
    items = sum(times for _, times in transformed)
    middle = fsum(z * times for z, times in transformed) / items
    spread = fsum(times * (z - middle) ** 2 for z, times in transformed)
    reach = student_quantile(confidence, max(1, degrees)) * sqrt(spread * (items - 1) / items)
    return tanh(_fisher_z(value) + (reach if upper else -reach))


def jackknife_interval(
    value: float, without: Iterable[WithoutItem], degrees: int, confidence: float
) -> Interval | None:
    """Return the jackknife interval of a correlation, or None if it does not vary or is ±1."""
    estimates = list(without)
    low, high = (jackknife_limit(value, estimates, degrees, confidence, upper=upper) for upper in (False, True))
    return Interval(min(low, value), max(high, value)) if low < high and 1 - abs(value) >= _LINE else None


def unseen_limits(value: float, limit: Callable[[bool], float]) -> Interval:
    """Return the interval for a statistic of binary answers from its two limits."""
    return Interval(max(-1.0, min(limit(False), value)), min(1.0, max(limit(True), value)))


def _fisher_z(value: float) -> float:
    return atanh(max(-_LAST_BELOW_ONE, min(_LAST_BELOW_ONE, value)))
