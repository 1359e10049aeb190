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

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, log, log1p, sqrt
from typing import Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import binomial_interval, log_binomial_tail, validate_confidence
from formalimg.stats.observations import Interval
from formalimg.stats.sequential import bounds_of_trials, interval_after_looks, look_sizes, smallest_kept

PairedDecision: TypeAlias = Literal["better", "worse", "hopeless", "undecided", "going on"]
"""What a look decides about the new model: better or worse than the other, not to be told apart with the items that are
left, out of items, or more items are needed."""

_LOOKS = 40
"""The number of looks at most; fewer than the adaptive test of a level has, because a comparison takes more images."""

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
            raise FormalimgError(f"it is not time to look: {needs} items scored for both models are needed")
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
        needed = _wins_needed(discordant + remaining, alpha)
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


@lru_cache(maxsize=4096)
def _wins_needed(trials: int, alpha: float) -> int:
    """Return the number of wins whose probability is at most `alpha` if there is no difference."""
    low, high = trials // 2, trials + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _at_least(middle, trials, 0.5) <= alpha else (middle + 1, high)
    return low


def _at_least(successes: int, trials: int, rate: float) -> float:
    if successes <= 0 or successes > trials or rate >= 1:
        return float(successes <= trials)
    if rate * trials <= successes:
        return exp(log_binomial_tail(successes, trials, log(rate))) if rate else 0.0
    return 1 - exp(log_binomial_tail(trials - successes + 1, trials, log1p(-rate)))
