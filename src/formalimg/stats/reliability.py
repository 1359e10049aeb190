"""Inter-rater reliability of ratings: Cronbach's alpha and Krippendorff's alpha, with bootstrap intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.bootstrap import bootstrap_estimate, group_items, item_ids
from formalimg.stats.intervals import MIN_ITEMS_TO_RESAMPLE, BootstrapConfig, bootstrap_config
from formalimg.stats.observations import Interval

if TYPE_CHECKING:
    from formalimg.stats.bootstrap import Draws, Statistic


# Distance of two ratings: 0 or 1 (nominal), by ranks (ordinal), or the squared difference (interval)
RatingScale: TypeAlias = Literal["nominal", "ordinal", "interval"]
_Unit: TypeAlias = tuple[float, ...] | tuple[str, ...]
_Items: TypeAlias = tuple[tuple[Any, ...], ...]
# With this weight, 95 % intervals of ratings and scores held the truth in 94 to 99 % of simulated studies
_UNSEEN_ON_SCALE = 0.25
_ROUNDING = 1e-12  # A variance below this share of another is rounding


class Reliability(NamedTuple):
    """An alpha with its confidence interval."""

    # alpha: 1 for perfect agreement, about 0 for chance agreement, below 0 for systematic disagreement; None where it
    # is not defined
    value: float | None
    # by the bootstrap over items, in which unseen items can be drawn, on which all raters agree or none do; None for
    # fewer than five items, and where too many resamples have no alpha
    interval: Interval | None
    n: int  # number of objects that entered
    left_out: int  # number of objects left out because ratings are missing


def cronbach_alpha(
    ratings: Iterable[Sequence[float | None]],
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Reliability:
    """Compute Cronbach's alpha, the share of the variance of rating sums that raters have in common.

    It ignores constant differences between raters, such as one stricter throughout. Every column should be one rater;
    where the ratings of each image come from different people, alpha depends on who is put into which column, and
    `krippendorff_alpha` does not.

    Args:
        ratings: for each rated object the ratings, one for each rater in the same order; None where one is missing.
            Objects with a missing rating are left out and counted.
        items: for each object the item it belongs to, where items have several; items are resampled whole.
        confidence: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
    """
    config = bootstrap_config(confidence, resamples, seed)
    rows = [tuple(row) for row in ratings]
    if len({len(row) for row in rows}) > 1:
        raise FormalimgError("the rows have different numbers of ratings: use None where a rating is missing")
    complete: list[tuple[Hashable, tuple[float, ...]]] = []
    for name, row in zip(item_ids(len(rows), items), rows, strict=True):
        numbers = tuple(validate_rating(rating) for rating in row if rating is not None)
        if len(numbers) == len(row):
            complete.append((name, numbers))
    n, left_out = len(complete), len(rows) - len(complete)
    if n < 2 or len(complete[0][1]) < 2:
        return Reliability(None, None, n, left_out)
    kinds = group_items(complete)
    raters, scores = len(complete[0][1]), [rating for _, row in complete for rating in row]
    low, high = min(scores), max(scores)
    split = [tuple(high if column % 2 == odd else low for column in range(raters)) for odd in (0, 1)]
    alike = [(low,) * raters, (high,) * raters]
    return _reliability(kinds, n, left_out, _alpha_of_sums, split, alike, _unseen_weight(scores), config)


def _reliability(
    kinds: Mapping[_Items, int],
    n: int,
    left_out: int,
    statistic_of: Callable[[Sequence[Any]], Statistic],
    split: Sequence[_Unit],
    alike: Sequence[_Unit],
    weight: float,
    config: BootstrapConfig,
) -> Reliability:
    """Compute an alpha with its bootstrap interval, adding unseen items of `split` or `alike` objects."""
    items = sum(kinds.values())
    copies = max(1, round(n / items))
    worst, best = ([(unit,) * copies for unit in units] for units in (split, alike))
    value, interval = bootstrap_estimate(kinds, statistic_of, worst, best, config, weight)
    return Reliability(value, interval if items >= MIN_ITEMS_TO_RESAMPLE else None, n, left_out)


def _unseen_weight(ratings: Iterable[float | str]) -> float:
    """Return the weight of an unseen item at the ends of a rating scale, reduced for more than two values."""
    return 1.0 if len(set(ratings)) <= 2 else _UNSEEN_ON_SCALE


def validate_rating(rating: object) -> float:
    """Return the rating as a float."""
    if isinstance(rating, Real) and isfinite(rating):
        return float(rating)
    raise FormalimgError(f"{rating!r} is not a rating on a scale: use a number, or None where it is missing")


def _alpha_of_sums(kinds: Sequence[Sequence[tuple[float, ...]]]) -> Statistic:
    """Return Cronbach's alpha as a function of the resampled counts of each kind of item."""
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


def krippendorff_alpha(
    ratings: Iterable[Iterable[float | str | None]],
    scale: RatingScale = "nominal",
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Reliability:
    """Compute Krippendorff's alpha, one minus the ratio of observed to expected disagreement.

    Raters are interchangeable, and need not all rate the same objects.

    Args:
        ratings: the ratings of each object; None where one is missing. Objects with fewer than two ratings are left
            out and counted.
        scale: nominal for yes and no or for names, ordinal for ranks such as five points of compliance, interval for
            scores.
        items: for each object the item it belongs to, where items have several; items are resampled whole.
        confidence: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
    """
    config = bootstrap_config(confidence, resamples, seed)
    if scale not in ("nominal", "ordinal", "interval"):
        raise FormalimgError(f"the scale {scale!r} is unknown: use nominal, ordinal or interval")
    rows = [[rating for rating in row if rating is not None] for row in ratings]
    names = item_ids(len(rows), items)
    has_names = scale == "nominal" and rows and all(isinstance(rating, str) for row in rows for rating in row)
    sorted_rows: list[_Unit] = [
        tuple(sorted(map(str, row))) if has_names else tuple(sorted(map(validate_rating, row))) for row in rows
    ]
    units = [(name, unit) for name, unit in zip(names, sorted_rows, strict=True) if len(unit) > 1]
    n, left_out = len(units), len(rows) - len(units)
    if not units:
        return Reliability(None, None, n, left_out)
    kinds = group_items(units)
    split, alike = _unseen_units([unit for _, unit in units], scale)
    weight = 1.0 if scale == "nominal" else _unseen_weight(rating for _, unit in units for rating in unit)
    return _reliability(kinds, n, left_out, lambda draws: _alpha_of_pairs(draws, scale), [split], alike, weight, config)


def _unseen_units(units: Sequence[_Unit], scale: RatingScale) -> tuple[_Unit, list[_Unit]]:
    """Return an object with maximal disagreement, and two with full agreement at the low and high end.

    Names have no distance: theirs are the rarest and the most frequent one.
    """
    counts = Counter[float | str](rating for unit in units for rating in unit)
    sizes = Counter(map(len, units))
    size = min(sizes, key=lambda length: (-sizes[length], length))  # the most frequent one, and the smallest of these
    order = sorted(counts, key=lambda value: (counts[value] if scale == "nominal" else 0, value))
    low, high = order[0], order[-1]

    def unit(ratings: list[float | str]) -> _Unit:
        return tuple(sorted(ratings))  # type: ignore[return-value]  # all are numbers, or all are names

    return unit([low] * (size // 2) + [high] * (size - size // 2)), [unit([low] * size), unit([high] * size)]


def _alpha_of_pairs(kinds: Sequence[Sequence[_Unit]], scale: RatingScale) -> Statistic:
    """Return Krippendorff's alpha as a function of the resampled counts of each kind of item.

    The disagreement of an object's ratings is summed over all pairs of them and divided by their number less one. On
    ordered scales, two ratings differ by the squared distance of their places, which are the ratings themselves
    or the middles of their ranks among all ratings; so sums over pairs are sums of squares.
    """
    import numpy as np

    units = [unit for kind in kinds for unit in kind]
    values = sorted({value for unit in units for value in unit})
    column = {value: number for number, value in enumerate(values)}
    counts = np.zeros((len(units), len(values)))
    for number, unit in enumerate(units):
        for value, times in Counter[float | str](unit).items():
            counts[number, column[value]] = times
    kind_of = np.repeat(np.arange(len(kinds)), [len(kind) for kind in kinds])
    counts_of_kinds = np.zeros((len(kinds), len(values)))
    np.add.at(counts_of_kinds, kind_of, counts)
    split = (counts > 0).sum(axis=1) > 1  # only these disagree, and no rounding shall make others do so
    counts, kind_of = counts[split], kind_of[split]
    sizes = counts.sum(axis=1)

    def alpha(drawn: Draws) -> Draws:
        ratings = drawn @ counts_of_kinds
        n = ratings.sum(axis=1)
        if scale == "nominal":
            apart = sizes**2 - (counts**2).sum(axis=1)
            by_chance = n**2 - (ratings**2).sum(axis=1)
        else:
            # The ratings, or their mid-ranks in each resample, centred
            places = (
                np.array(values, dtype=np.float64) - np.mean(np.array(values, dtype=np.float64))
                if scale == "interval"
                else np.cumsum(ratings, axis=1) - ratings / 2 - ratings.sum(axis=1, keepdims=True) / 2
            )
            apart = sizes * (places**2 @ counts.T) - (places @ counts.T) ** 2
            by_chance = n * (ratings * places**2).sum(axis=1) - (ratings * places).sum(axis=1) ** 2
        disagreement = (drawn[:, kind_of] * (apart / (sizes - 1))).sum(axis=1)
        varies = (ratings > 0).sum(axis=1) > 1
        share = np.divide(disagreement * (n - 1), by_chance, out=np.full_like(disagreement, np.nan), where=varies)
        return np.asarray(1 - share)

    return alpha
