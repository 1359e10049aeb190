"""The bootstrap: how numbers would have varied had other items been drawn.

Items are drawn anew within their level, each with all its images. Of what was never seen, resampling knows nothing:
if all items fail, so do all resamples, and the interval would have no width. So each resample also has one unseen item
to draw, at one of its levels: one that fails for the lower end of an interval, one that passes for the upper end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.generalizing import NOISE
from formalimg.stats.summary import Interval
from formalimg.stats.tallying import Outcome, Outcomes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Draws: TypeAlias = NDArray[np.float64]


class Resampling(NamedTuple):
    """How to resample."""

    confidence: float
    resamples: int
    seed: int


class LevelDraws(NamedTuple):
    """The rates of a level in each resample: as seen, with an unseen item that fails, and with one that passes."""

    seen: Draws
    with_failure: Draws
    with_pass: Draws


def checked_resampling(confidence: float, resamples: int, seed: int) -> Resampling:
    """How to resample, if it can be done so."""
    if resamples * (1 - confidence) < 2 - NOISE:
        raise FormalimgError(f"{resamples} resamples are too few for a confidence of {confidence}: use 2000")
    if seed < 0:
        raise FormalimgError(f"the seed {seed} is negative: use 0 or more")
    return Resampling(confidence, resamples, seed)


def draw_level(level: int, kinds: Outcomes, how: Resampling) -> LevelDraws:
    """The rates of one level in each resample. They depend on nothing but the level's own items and the seed."""
    import numpy as np

    generator = np.random.default_rng((how.seed, level))
    images = max(kind.counted for kind in kinds)

    def rates(unseen: Sequence[Outcome]) -> Draws:
        shown = [*kinds, *unseen]
        weights = np.array([*kinds.values(), *(1 for _ in unseen)])
        drawn = generator.multinomial(weights.sum(), weights / weights.sum(), size=how.resamples)
        passed, counted = np.array(shown).T
        share: Draws = (drawn @ passed) / (drawn @ counted)
        return share

    return LevelDraws(rates([]), rates([Outcome(0, images)]), rates([Outcome(images, images)]))


def mean_interval(levels: Mapping[int, LevelDraws], how: Resampling) -> Interval:
    """The bootstrap interval of the mean of the rates of these levels."""
    lower, upper = _with_unseen_items(levels, how)
    return Interval(*_ends(lower.mean(axis=0), upper.mean(axis=0), how.confidence))


def difference_interval(differences: Mapping[float, int], how: Resampling) -> Interval:
    """The bootstrap interval of the mean of differences between −1 and 1, given how many items have each."""
    import numpy as np

    generator = np.random.default_rng(how.seed)

    def means(unseen: float) -> Draws:
        values = np.array([*differences, unseen])
        weights = np.array([*differences.values(), 1])
        drawn = generator.multinomial(weights.sum(), weights / weights.sum(), size=how.resamples)
        mean: Draws = drawn @ values / weights.sum()
        return mean

    return Interval(*_ends(means(-1.0), means(1.0), how.confidence))


def _with_unseen_items(levels: Mapping[int, LevelDraws], how: Resampling) -> tuple[Draws, Draws]:
    """For the lower and the upper end: the rates, one row per level, where one level has an unseen item to draw."""
    import numpy as np

    chosen = np.random.default_rng((how.seed, *levels)).integers(len(levels), size=how.resamples)
    here = np.arange(len(levels))[:, None] == chosen
    seen = np.array([draws.seen for draws in levels.values()])
    return (
        np.where(here, np.array([draws.with_failure for draws in levels.values()]), seen),
        np.where(here, np.array([draws.with_pass for draws in levels.values()]), seen),
    )


def _ends(lower: Draws, upper: Draws, confidence: float) -> tuple[float, float]:
    import numpy as np

    outside = (1 - confidence) / 2
    return (
        float(np.quantile(lower, outside, method="lower")),
        float(np.quantile(upper, 1 - outside, method="higher")),
    )
