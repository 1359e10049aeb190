"""Sequential comparison of two models on the same items, which stops on separation or futility.

Only items that one model passes and the other fails tell models apart. If neither is better, each of these discordant
items is a win or a loss with equal chance (McNemar's test), whatever their number. So the wins at each look are
compared with exact boundaries for a chance of a half, given the discordant items of each look; the spending function
counts items, whose number is planned. Bets on the next item (e-processes) need no plan at all; they see a large
difference sooner, and miss a small one twice as often (`benchmarks/adaptive.py` compares the two).

The test also ends when the chance to separate the models with the items that are left has become small, even if the
truth is as far from a tie as can still be believed. That can only miss a difference, never see one that is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.comparison import PairedDifference
from formalimg.stats.intervals import (
    binomial_interval,
    find_smallest,
    log_binomial_tail,
    normal_quantile,
    student_quantile,
    validate_confidence,
)
from formalimg.stats.observations import Interval
from formalimg.stats.sequential import bounds_of_trials, interval_after_looks, look_sizes, smallest_kept

# What a look decides about the new model: better or worse than the other, not to be told apart with the items that are
# left, out of items, or more items are needed
PairedDecision: TypeAlias = Literal["better", "worse", "hopeless", "undecided", "going on"]
_LOOKS = 40  # At most; fewer than the adaptive test of a level has, because a comparison takes more images
_SMALL_CHANCE = 0.05
_TINY = 1e-6
_STILL_BELIEVED = 0.8  # The confidence of the interval whose ends are as far from a tie as can still be believed


class PairedLook(NamedTuple):
    """A look at a comparison, with the items scored for both models, and the wins and losses."""

    counted: int
    wins: int
    losses: int
    decision: PairedDecision


class PairedResult(NamedTuple):
    """The result of a sequential comparison so far."""

    # the rate of the new model minus that of the other one, over the items so far; None before a look
    difference: float | None
    interval: Interval | None  # its interval, which is valid at every look; it leaves out 0 if the models are separated
    decision: PairedDecision  # the decision of the last look
    counted: int  # the counts of the last look
    wins: int
    losses: int
    total: int  # the number of items that both could be compared on

    @property
    def finished(self) -> bool:
        """Whether the comparison has ended."""
        return self.decision != "going on"


@dataclass(frozen=True)
class PairedDesign:
    """The design of a sequential comparison, fixed before the first image."""

    items: int  # the number of items that both models can be compared on
    confidence: float = 0.95  # of the interval; the error probability of separating equal models is the rest

    def __post_init__(self) -> None:
        validate_confidence(self.confidence)
        if self.items < 1:
            raise FormalimgError("there are no items to compare two models on: name a run with verdicts")

    def __str__(self) -> str:
        """Return the design on one line, equal for equal designs."""
        return f"difference, {100 * self.confidence:g} %, a look every {self.every}, {self.items} items"

    @property
    def every(self) -> int:
        """The number of items between looks."""
        return max(10, ceil(self.items / _LOOKS / 10) * 10)

    @property
    def looks(self) -> tuple[int, ...]:
        """The number of items at each look."""
        return look_sizes(self.items, self.every)


class PairedTest:
    """A sequential comparison in progress that requests items, records looks and makes decisions."""

    def __init__(self, design: PairedDesign) -> None:
        """Start the comparison without any looks."""
        self.design = design
        self._looks: list[PairedLook] = []

    @property
    def looks(self) -> tuple[PairedLook, ...]:
        """The looks so far, in order."""
        return tuple(self._looks)

    @property
    def needs(self) -> int | None:
        """The number of items to score for both models before the next look, or None if the test has ended."""
        if self._looks and self._looks[-1].decision != "going on":
            return None
        counted = self._looks[-1].counted if self._looks else 0
        return next(size for size in self.design.looks if size > counted)

    def look(self, wins: int, losses: int, counted: int, *, exhausted: bool = False) -> PairedLook:
        """Record a look at the comparison."""
        needs, last = self.needs, self._looks[-1] if self._looks else PairedLook(0, 0, 0, "going on")
        if needs is None:
            raise FormalimgError("the comparison has ended: start a new run to compare again")
        if not (counted == needs or (exhausted and last.counted <= counted < needs)):
            raise FormalimgError(f"the interim analysis needs {needs} items scored for both models")
        new = counted - last.counted
        if wins < last.wins or losses < last.losses or wins + losses - last.wins - last.losses > new:
            raise FormalimgError(f"{wins} wins and {losses} losses on {counted} items cannot be: count them again")
        look = PairedLook(
            counted, wins, losses, "undecided" if exhausted or counted == self.design.items else "going on"
        )
        if new:
            look = look._replace(decision=self._decide(look))
        self._looks.append(look)
        return look

    def result(self) -> PairedResult:
        """Return the result so far."""
        if not self._looks or not self._looks[-1].counted:
            decision = self._looks[-1].decision if self._looks else "going on"
            return PairedResult(None, None, decision, 0, 0, 0, self.design.items)
        counted, wins, losses, decision = self._looks[-1]
        difference = (wins - losses) / counted
        return PairedResult(difference, self._interval(difference), decision, counted, wins, losses, self.design.items)

    def is_certain(self, missing: int) -> bool:
        """Return whether the models remain separated if the loser wins all items with missing verdicts."""
        if not self._looks or self._looks[-1].decision not in ("better", "worse"):
            return False
        *before, last = self._looks
        fewest, more = sorted((last.wins, last.losses))
        worst = last._replace(wins=more, losses=fewest + missing)
        return more >= self._bounds([*before, worst], 0.5, (1 - self.design.confidence) / 2)[-1]

    def _decide(self, look: PairedLook) -> PairedDecision:
        looks = [*self._looks, look]
        alpha = (1 - self.design.confidence) / 2
        bound = self._bounds(looks, 0.5, alpha)[-1]
        if look.wins >= bound or look.losses >= bound:
            return "better" if look.wins >= bound else "worse"
        if look.decision == "going on" and self._chance_left(look, alpha) < _SMALL_CHANCE:
            return "hopeless"
        return look.decision

    def _chance_left(self, look: PairedLook, alpha: float) -> float:
        """Estimate the probability that the remaining items separate the models, in the likelier direction."""
        discordant = look.wins + look.losses
        often = binomial_interval(discordant, look.counted, _STILL_BELIEVED).high
        remaining = ceil(often * (self.design.items - look.counted))
        trials = discordant + remaining
        # The number of wins whose probability is at most `alpha` if there is no difference.
        needed = find_smallest(lambda wins: _at_least(wins, trials, 0.5) <= alpha, trials // 2, trials + 1)
        chances = []
        for successes in (look.wins, look.losses):
            share = binomial_interval(successes, discordant, _STILL_BELIEVED).high if discordant else 1.0
            chances.append(_at_least(needed - successes, remaining, share))
        return max(chances)

    def _interval(self, difference: float) -> Interval:
        """Return the interval of the difference, combining the intervals of the discordant share and of the wins.

        The two are independent of each other. Their distances from the estimate are added as squares, as logarithms
        towards 0, so that the interval leaves out 0 just when the models are separated.
        """
        looks = list({look.counted: look for look in self._looks if look.counted}.values())
        alpha = (1 - self.design.confidence) / 2
        last = looks[-1]
        discordant = last.wins + last.losses
        often = interval_after_looks(
            tuple(look.counted for look in looks),
            tuple(look.wins + look.losses for look in looks),
            self.design.items,
            self.design.confidence,
        )
        share = discordant / last.counted
        if not discordant:
            return Interval(-often.high, often.high)

        def fewest_share(of_wins: bool) -> float:
            counts = [look.wins if of_wins else look.losses for look in looks]
            return smallest_kept(lambda rate: any(map(int.__ge__, counts, self._bounds(looks, rate, alpha))))

        lean = (last.wins - last.losses) / discordant
        low, high = 2 * fewest_share(True) - 1, 1 - 2 * fewest_share(False)
        return Interval(
            -_outer_end(-difference, share, -lean, -low, often), _outer_end(difference, share, lean, high, often)
        )

    def _bounds(self, looks: list[PairedLook], rate: float, alpha: float) -> tuple[int, ...]:
        return bounds_of_trials(
            [look.wins + look.losses for look in looks],
            [look.counted / self.design.items for look in looks],
            rate,
            alpha,
        )


def _outer_end(difference: float, share: float, lean: float, lean_end: float, often: Interval) -> float:
    """Return the upper limit of the product of share and lean, given the upper limit of the lean."""
    if lean_end < 0:  # towards 0, and all of it below
        return difference * exp(-sqrt(log(lean / lean_end) ** 2 + log(share / max(often.low, _TINY)) ** 2))
    share_end = often.high if lean > 0 else often.low
    return min(1.0, difference + sqrt((share * (lean_end - lean)) ** 2 + (lean * (share_end - share)) ** 2))


def _at_least(successes: int, trials: int, rate: float) -> float:
    if successes <= 0 or successes > trials or rate >= 1:
        return float(successes <= trials)
    if rate * trials <= successes:
        return exp(log_binomial_tail(successes, trials, log(rate))) if rate else 0.0
    return 1 - exp(log_binomial_tail(trials - successes + 1, trials, log1p(-rate)))


# --- non-inferiority of a new run: one-sided bounds of the paired difference
#
# The run passes if the lower bound lies above minus the margin, and is worse if the upper bound lies below it. Each
# bound has an error probability of its own, so a loss as large as the margin passes at most that often, and a loss
# within the margin is called worse at most that often.
#
# Whoever decides again after each batch spends the error probability over the planned looks (`spent_by`). The
# boundaries follow from a random walk with as many steps between two looks as there were new items
# (`bounds_of_trials`): a mean over growing data moves like one, so they hold for rates and scores, weighted or
# corrected by labels.

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
