"""Bootstrap confidence intervals by resampling items, for mean rates, differences, and statistics such as F1.

Items are resampled within their level, each with all its images. Resamples never contain an unseen outcome: if all
items fail, so do all resamples, and the interval would have no width. So each resample may also draw one unseen item,
at one of its levels: one that fails for the lower end of an interval, one that passes for the upper end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import BootstrapConfig
from formalimg.stats.observations import Interval, PassCount, PassCounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Draws: TypeAlias = NDArray[np.float64]
    Statistic: TypeAlias = Callable[[Draws], Draws]

_Case = TypeVar("_Case", bound=tuple[Any, ...])
_Kind = TypeVar("_Kind")

_CHUNK = 500_000  # How many numbers are drawn at once, to bound memory


class LevelDraws(NamedTuple):
    """Resampled rates of a level: as observed, with an unseen failing item, and with an unseen passing item."""

    seen: Draws
    with_failure: Draws
    with_pass: Draws


def resample_level(level: int, kinds: PassCounts, config: BootstrapConfig) -> LevelDraws:
    """Resample the rates of one level, depending only on its items and the seed."""
    import numpy as np

    generator = np.random.default_rng((config.seed, level))
    images = max(kind.counted for kind in kinds)

    def rates(unseen: Sequence[PassCount]) -> Draws:
        sampled = [*kinds, *unseen]
        weights = np.array([*kinds.values(), *(1 for _ in unseen)])
        drawn = generator.multinomial(weights.sum(), weights / weights.sum(), size=config.resamples)
        passed, counted = np.array(sampled).T
        share: Draws = (drawn @ passed) / (drawn @ counted)
        return share

    return LevelDraws(rates([]), rates([PassCount(0, images)]), rates([PassCount(images, images)]))


def band_interval(levels: Mapping[int, LevelDraws], value: float, config: BootstrapConfig) -> Interval:
    """Return the bootstrap interval of `value`, the mean rate of the levels, one of which has an unseen item."""
    import numpy as np

    chosen = np.random.default_rng((config.seed, *levels)).integers(len(levels), size=config.resamples)
    is_at_level = np.arange(len(levels))[:, None] == chosen
    drawn = np.array([draws.seen for draws in levels.values()])
    with_failure, with_pass = (np.array([draws[end] for draws in levels.values()]) for end in (1, 2))
    lower, upper = (np.where(is_at_level, unseen, drawn).mean(axis=0) for unseen in (with_failure, with_pass))
    return quantile_interval(lower, upper, value, config)


def quantile_interval(lower: Draws, upper: Draws, value: float, config: BootstrapConfig) -> Interval:
    """Return the interval from a lower quantile of `lower` to an upper quantile of `upper`, including `value`."""
    import numpy as np

    outside = (1 - config.confidence) / 2
    return Interval(
        min(float(np.quantile(lower, outside, method="lower")), value),
        max(float(np.quantile(upper, 1 - outside, method="higher")), value),
    )


class Estimate(NamedTuple):
    """A statistic and its bootstrap confidence interval, each None if undefined."""

    value: float | None
    interval: Interval | None


def item_ids(cases: int, items: Sequence[Hashable] | None) -> Sequence[Hashable]:
    """Return the item of each case, treating each case as a separate item if `items` is None."""
    if items is not None and len(items) != cases:
        raise FormalimgError(f"{cases} cases belong to {len(items)} items: name an item for each case")
    return range(cases) if items is None else items


def group_items(named: Sequence[tuple[Hashable, _Case]]) -> dict[tuple[_Case, ...], int]:
    """Count the items with identical cases, in an order independent of the input order."""
    cases: dict[Hashable, list[_Case]] = {}
    for name, case in named:
        cases.setdefault(name, []).append(case)
    return dict(sorted(Counter(tuple(sorted(weighted_kinds)) for weighted_kinds in cases.values()).items()))


def bootstrap_estimate(
    kinds: Mapping[_Kind, int],
    statistic_of: Callable[[Sequence[_Kind]], Statistic],
    worst: Sequence[_Kind],
    best: Sequence[_Kind],
    config: BootstrapConfig,
    weight: float = 1.0,
) -> Estimate:
    """Estimate a statistic with a maximum of 1 and its bootstrap interval.

    Resamples never contain an unseen outcome: if all items agree, so do all resamples, and a rare yes that did not
    occur is in none of them. So unseen items can be drawn as well.
    """
    import numpy as np

    value = float(statistic_of(list(kinds))(np.array([list(kinds.values())], dtype=np.float64))[0])
    if isnan(value):
        return Estimate(None, None)

    def draws(unseen: Sequence[_Kind]) -> Draws:
        counts = [*kinds.values(), *(weight for _ in unseen)]
        statistic = statistic_of([*kinds, *unseen])
        generator = np.random.default_rng(config.seed)
        total, shares = round(sum(counts)), np.array(counts) / sum(counts)
        rows = max(1, _CHUNK // len(counts))
        blocks = []
        for start in range(0, config.resamples, rows):
            drawn = generator.multinomial(total, shares, size=min(rows, config.resamples - start))
            blocks.append(statistic(drawn.astype(np.float64)))
        return np.concatenate(blocks)

    # A resample without a value might have had any: it counts as the worst for the lower end and as 1 for the upper
    # one. There is no interval if such resamples leave no lower end.
    lower, upper = draws(worst), draws(best)
    tails = (1 - config.confidence) / 2, (1 + config.confidence) / 2
    low = float(np.quantile(np.where(np.isnan(lower), -np.inf, lower), tails[0], method="lower"))
    high = float(np.quantile(np.where(np.isnan(upper), 1.0, upper), tails[1], method="higher"))
    return Estimate(value, None if low == -np.inf else Interval(low, high))
