"""Non-inferiority tests of a new run against a baseline, using one-sided bounds of the paired difference.

The run passes if the lower bound lies above minus the margin, and is worse if the upper bound lies below it. Each bound
has an error probability of its own, so a loss as large as the margin passes at most that often, and a loss within the
margin is called worse at most that often.

Whoever decides again after each batch spends the error probability over the planned looks (`spent_by`). The boundaries
follow from a random walk with as many steps between two looks as there were new items (`bounds_of_trials`): a mean over
growing data moves like one, so they hold for rates and scores, weighted or corrected by labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, sqrt
from typing import Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.comparison import PairedDifference
from formalimg.stats.intervals import normal_quantile, student_quantile
from formalimg.stats.sequential import bounds_of_trials

GateOutcome: TypeAlias = Literal["pass", "worse", "cannot tell"]

ALPHA = 0.05  # The error probability of each bound, over all looks
POWER = 0.8  # How likely a decision is with the further items that `GateDecision` names
MAX_LOOKS = 40
_WALK_STEPS = 4_000  # Steps of the random walk up to the present look: more would make its steps finer
_MAX_ITEMS = 100_000  # A decision that takes more items than this is out of reach
_MAX_SAMPLES = 100  # The same for images of an item


class GateDecision(NamedTuple):
    """The decision of a gate, with differences (new run minus baseline) from -1 to 1."""

    outcome: GateOutcome  # the decision
    difference: float  # the estimate
    low: float  # its one-sided bounds, each with the error probability `alpha`, whatever missing verdicts are
    high: float
    margin: float  # the loss that is tolerated
    alpha: float  # the error probability of each bound at this look
    items: int  # the number of items that decide: those compared, or those with labels in both runs
    # how many times as much data would tell, if the difference is as observed; None where no data would
    growth: float | None = None
    is_open: bool = False  # whether the missing verdicts alone can decide

    @property
    def more_items(self) -> int | None:
        """The number of additional items needed for a decision with a power of `POWER`."""
        return None if self.growth is None else max(1, ceil(self.items * (self.growth - 1)))

    def samples(self, present: int, noise_share: float) -> int | None:
        """Return the number of images per item needed for a decision, or None if more images cannot help."""
        noise_left = 0.0 if self.growth is None else 1 / self.growth - (1 - noise_share)
        needed = ceil(present * noise_share / noise_left) if noise_left > 0 else 0
        return max(needed, present + 1) if 0 < needed <= _MAX_SAMPLES else None


def decide_gate(
    difference: PairedDifference,
    margin: float,
    *,
    worst: PairedDifference | None = None,
    best: PairedDifference | None = None,
    alpha: float = ALPHA,
) -> GateDecision:
    """Test whether a new run is no worse than a baseline by more than a margin."""
    if not 0 < margin < 1:
        raise FormalimgError(f"a margin of {100 * margin:g} points cannot be tested: give one above 0 and below 100")
    worst, best = (_with_least_error(bound or difference, margin) for bound in (worst, best))
    if difference.estimate is None or worst.estimate is None or best.estimate is None:
        raise FormalimgError("the runs have no item in common with verdicts in both: finish and judge both runs")
    low, high = _confidence_bound(worst, alpha, -1), _confidence_bound(best, alpha, 1)
    outcome: GateOutcome = "pass" if low > -margin else "worse" if high < -margin else "cannot tell"
    growth, is_open = None, False
    if outcome == "cannot tell":
        is_open = worst.estimate <= -margin <= best.estimate and worst.estimate < best.estimate
        growth = _growth_factor(worst, worst.estimate + margin) or _growth_factor(best, -margin - best.estimate)
    return GateDecision(outcome, difference.estimate, low, high, margin, alpha, difference.items, growth, is_open)


def look_alpha(items: Sequence[int], looks: int, alpha: float = ALPHA) -> float:
    """Return the significance level for a bound at the last of the looks."""
    from statistics import NormalDist  # here, because it takes long to load

    if not 1 <= len(items) <= looks <= MAX_LOOKS:
        raise FormalimgError(f"{len(items)} of {looks} looks cannot be: plan 1 to {MAX_LOOKS} of them")
    if any(later <= earlier for earlier, later in zip((0, *items), items, strict=False)):
        raise FormalimgError(f"the items of the looks {list(items)} do not rise: look again when there are more")
    steps = [round(_WALK_STEPS * count / items[-1]) for count in items]
    bounds = bounds_of_trials(steps, [number / looks for number in range(1, len(items) + 1)], 0.5, alpha)
    # The chance to reach the bound is that of a normal value half a step lower.
    return min(alpha, NormalDist().cdf((_WALK_STEPS + 1 - 2 * bounds[-1]) / sqrt(_WALK_STEPS)))


def _with_least_error(difference: PairedDifference, margin: float) -> PairedDifference:
    """Return the difference with its error raised to at least that of single losses totalling the margin.

    Where hardly any items differ, the few that were seen do not show the spread of a loss that large.
    """
    if difference.error is None:
        return difference
    least = sqrt(margin * (1 - margin) / difference.items)
    return difference._replace(error=difference.error._replace(value=max(difference.error.value, least)))


def _confidence_bound(difference: PairedDifference, alpha: float, side: int) -> float:
    if difference.estimate is None or difference.error is None or difference.error.value == inf:
        return float(side)
    width = student_quantile(1 - 2 * alpha, difference.error.freedom) * difference.error.value
    return max(-1.0, min(1.0, difference.estimate + side * width))


def _growth_factor(difference: PairedDifference, distance: float) -> float | None:
    """Return the factor by which the sample must grow to detect a distance from the margin."""
    if distance <= 0 or difference.error is None or difference.error.value == inf:
        return None
    needed = distance / (normal_quantile(1 - 2 * ALPHA) + normal_quantile(2 * POWER - 1))
    growth = (difference.error.value / needed) ** 2
    return max(1.0, growth) if growth * difference.items <= _MAX_ITEMS else None
