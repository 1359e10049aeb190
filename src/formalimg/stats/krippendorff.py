"""Whether ratings of the same objects agree beyond chance, whoever gave them: Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.binomial import checked_confidence
from formalimg.stats.redrawing import estimated, item_of_each, kinds_of_items
from formalimg.stats.reliability import Reliability, checked_number
from formalimg.stats.resampling import checked_resampling

if TYPE_CHECKING:
    from formalimg.stats.redrawing import Draws, Figure

RatingScale: TypeAlias = Literal["nominal", "ordinal", "interval"]
"""What differences between ratings mean: only that they differ; how many ratings lie between; their square."""

_Unit: TypeAlias = tuple[float, ...] | tuple[str, ...]


def krippendorff_alpha(
    ratings: Iterable[Iterable[float | str | None]],
    scale: RatingScale = "nominal",
    *,
    items: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Reliability:
    """Krippendorff's alpha: one minus the disagreement seen, as a share of that expected by chance.

    It does not matter who gave which rating, nor that people rated different objects.

    Args:
        ratings: for each rated object its ratings; None where one is missing. Objects with fewer than two ratings have
            nobody to agree with: they are left out and counted.
        scale: nominal for yes and no or for names, ordinal for ranks such as five points of compliance, interval for
            scores.
        items: for each object the item it belongs to, where items have several; items are resampled whole.
        confidence: of the interval.
        resamples: how often items are drawn anew for the interval.
        seed: of the resampling.

    Returns:
        Alpha with its interval. It is None where nothing has two ratings, and where all ratings are the same: chance
        alone would then agree everywhere.

    Raises:
        FormalimgError: if a rating is not on the scale, or this is no scale or no confidence.
    """
    how = checked_resampling(checked_confidence(confidence), resamples, seed)
    if scale not in ("nominal", "ordinal", "interval"):
        raise FormalimgError(f"the scale {scale!r} is unknown: use nominal, ordinal or interval")
    rows = [[rating for rating in row if rating is not None] for row in ratings]
    names = item_of_each(len(rows), items)
    units = [(name, unit) for name, unit in zip(names, _on_scale(rows, scale), strict=True) if len(unit) > 1]
    n, left_out = len(units), len(rows) - len(units)
    if not units:
        return Reliability(None, None, n, left_out)
    kinds = kinds_of_items(units)
    found = estimated(list(kinds.values()), _alpha_of_pairs(list(kinds), scale), how)
    return Reliability(found.value, found.interval, n, left_out)


def _on_scale(rows: Sequence[Sequence[float | str]], scale: RatingScale) -> list[_Unit]:
    """The ratings of each object, in order; who gave them is forgotten."""
    if scale == "nominal" and rows and all(isinstance(rating, str) for row in rows for rating in row):
        return [tuple(sorted(map(str, row))) for row in rows]
    return [tuple(sorted(map(checked_number, row))) for row in rows]


def _alpha_of_pairs(kinds: Sequence[Sequence[_Unit]], scale: RatingScale) -> Figure:
    """Alpha from how often each kind of item was drawn, given the ratings of the objects of each kind.

    The disagreement of an object's ratings is summed over all pairs of them and divided by their number less one. On the
    scales with an order, two ratings differ by the squared distance of their places, which are the ratings themselves
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
            places = _interval_places(values) if scale == "interval" else _rank_places(ratings)
            apart = sizes * (places**2 @ counts.T) - (places @ counts.T) ** 2
            by_chance = n * (ratings * places**2).sum(axis=1) - (ratings * places).sum(axis=1) ** 2
        seen = (drawn[:, kind_of] * (apart / (sizes - 1))).sum(axis=1)
        varies = (ratings > 0).sum(axis=1) > 1
        share = np.divide(seen * (n - 1), by_chance, out=np.full_like(seen, np.nan), where=varies)
        return np.asarray(1 - share)

    return alpha


def _interval_places(values: Sequence[float | str]) -> Draws:
    import numpy as np

    numbers = np.array(values, dtype=np.float64)
    return np.asarray(numbers - numbers.mean())


def _rank_places(ratings: Draws) -> Draws:
    """The middles of the ranks of each value in each resample, counted from the middle of all."""
    import numpy as np

    return np.asarray(np.cumsum(ratings, axis=1) - ratings / 2 - ratings.sum(axis=1, keepdims=True) / 2)
