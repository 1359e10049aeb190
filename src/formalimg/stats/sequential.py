"""Group-sequential tests of a rate with repeated looks at a growing sample, and the adaptive test of G.

Looking after every ten images, and stopping as soon as a rate seems clear, is wrong far more often than a single look.
A spending function (Hwang, Shih and DeCani, 1990) shares the error probability out over the looks instead: little of it
early, most of it late. The boundaries follow from the binomial distribution of the images that have not been decided on
before, computed number by number; no normal approximation is involved, so the error probability is never exceeded,
however few images there are. A bound on passes is crossed more often the higher the rate is. So a test of "the rate is
below ε" errs at most as often as at ε itself, which is where the boundaries are computed. Bounds on failures are the
same thing for the rate 1 - ε.

The adaptive test finds G with few images: it climbs from the lowest level, and looks at images in steps. As soon as
passes are too many for a rate below ε the level is held, and the next one begins; as soon as the failures are too many
for a rate of ε or more it is lost, and the test ends. A level that runs out of images is undecided, and the next one
begins. The interval of G follows from the decisions. Its lower end is too high only if the first level that the model
does not hold was declared held: one test, with half of the error probability. Its upper end is too low only if one of
the levels that it does hold was declared lost: as many tests as there are levels, which share the other half. So the
interval covers G with its confidence whatever the curve is; rates need not fall from level to level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import expm1
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import validate_confidence
from formalimg.stats.observations import Generalizability, Interval
from formalimg.stats.summary import held_level, validate_epsilon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


GAMMA = -4.0  # Of the spending function: 0 spends evenly, negative values late, much as O'Brien and Fleming
_STEPS = 15  # Bisections of a repeated interval: its ends are known to about 0.00002


def spent_by(share: float, alpha: float) -> float:
    """Return the error probability available after a share of all images."""
    return alpha * expm1(-GAMMA * min(1.0, share)) / expm1(-GAMMA)


def look_sizes(total: int, step: int) -> tuple[int, ...]:
    """Return the number of images at each look: every `step` images and finally `total`."""
    if total < 1 or step < 1:
        raise FormalimgError(f"{total} images cannot be looked at every {step}: give 1 or more of both")
    return (*range(step, total, step), total)


@lru_cache(maxsize=4096)
def passes_to_cross(looks: tuple[int, ...], total: int, rate: float, alpha: float) -> tuple[int, ...]:
    """Return the number of passes at each look that is sufficient to conclude that the rate exceeds `rate`.

    If the true rate is `rate` or less, the chance that the passes reach the bound at any of the looks is at most
    `alpha`; by each look it is at most what the spending function allows by then. Looks must not be chosen by what was
    seen, but they need not be the planned ones: fewer images than planned just leave a part of `alpha` unspent.
    """
    _require_rising(looks, total)
    return bounds_of_trials(looks, [look / total for look in looks], rate, alpha)


def bounds_of_trials(trials: Sequence[int], shares: Sequence[float], rate: float, alpha: float) -> tuple[int, ...]:
    """Return the upper bounds of successes for looks after the numbers of trials in `trials`."""
    import numpy as np

    undecided: NDArray[np.float64] = np.ones(1)  # the chance of so many successes with no bound crossed before
    bounds: list[int] = []
    spent, looked_at = 0.0, 0
    for count, share in zip(trials, shares, strict=True):
        undecided = np.convolve(undecided, _binomial_pmf(count - looked_at, rate))
        tails = np.cumsum(undecided[::-1])
        crossing = int(np.searchsorted(tails, spent_by(share, alpha) - spent, side="right"))
        bound = len(undecided) - crossing
        if crossing:
            spent += float(tails[crossing - 1])
            undecided = undecided[:bound]
        # Where nothing can cross, the bound is out of reach for all that is still undecided.
        bounds.append(bound)
        looked_at = count
        if not len(undecided):
            return (*bounds, *(0 for _ in trials[len(bounds) :]))
    return tuple(bounds)


@lru_cache(maxsize=4096)
def interval_after_looks(
    looks: tuple[int, ...], passed: tuple[int, ...], total: int, confidence: float = 0.95
) -> Interval:
    """Return the confidence interval of a rate that is valid at every look.

    It covers the true rate at all looks at once with this confidence, so it is valid for any stopping rule.
    """
    _require_rising(looks, total)
    if not looks or len(passed) != len(looks) or not all(0 <= n <= look for n, look in zip(passed, looks, strict=True)):
        raise FormalimgError("a repeated interval needs the passes of each look: give as many as there are images")
    alpha = (1 - validate_confidence(confidence)) / 2
    failed = tuple(look - n for look, n in zip(looks, passed, strict=True))

    def refutes(successes: tuple[int, ...], rate: float) -> bool:
        return any(map(int.__ge__, successes, passes_to_cross(looks, total, rate, alpha)))

    return Interval(
        smallest_kept(lambda rate: refutes(passed, rate)), 1 - smallest_kept(lambda rate: refutes(failed, rate))
    )


def smallest_kept(is_refuted: Callable[[float], bool], low: float = 0.0, high: float = 1.0) -> float:
    """Return the smallest value that is not refuted, by bisection to about 0.00002 of the range."""
    if not is_refuted(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return (low + high) / 2


def _require_rising(looks: tuple[int, ...], total: int) -> None:
    if any(later <= earlier for earlier, later in zip((0, *looks), looks, strict=False)) or (
        looks and looks[-1] > total
    ):
        raise FormalimgError(f"the looks {list(looks)} do not rise to at most {total} images: give them in order")


@lru_cache(maxsize=4096)
def _binomial_pmf(n: int, rate: float) -> NDArray[np.float64]:
    """Return the probabilities of 0 to n successes, convolved one trial at a time for precision."""
    import numpy as np

    chances: NDArray[np.float64] = np.ones(1)
    for _ in range(n):
        chances = np.convolve(chances, (1 - rate, rate))
    return chances


LOOK_EVERY = 10  # After so many scored images of a level its rate is looked at, and again after as many more
# What a look decides: the level is held, lost, out of images without either, or needs more images
LevelDecision: TypeAlias = Literal["held", "lost", "undecided", "going on"]


class LevelLook(NamedTuple):
    """A look at a level, with the scored and passed images so far and the decision."""

    level: int
    counted: int
    passed: int
    decision: LevelDecision


class NextImages(NamedTuple):
    """The level to test next and the total number of scored images required for the look."""

    level: int
    counted: int


@dataclass(frozen=True)
class AdaptiveDesign:
    """The design of an adaptive test, fixed before the first image."""

    images: Mapping[int, int]  # the number of images that each level has, by level; the lowest comes first
    epsilon: float  # the rate that a held level reaches, 0 to 1
    every: int = LOOK_EVERY  # after how many scored images of a level to look
    confidence: float = 0.95  # of the interval of G

    def __post_init__(self) -> None:
        validate_epsilon(self.epsilon)
        validate_confidence(self.confidence)
        if not self.images or min(self.images) < 1:
            raise FormalimgError("an adaptive test climbs levels: give the number of images of each, from level 1 on")
        levels = range(min(self.images), max(self.images) + 1)
        if set(levels) != set(self.images):
            raise FormalimgError(
                "an adaptive test climbs level by level: give all levels from the lowest to the highest"
            )
        for total in self.images.values():
            look_sizes(total, self.every)

    def __str__(self) -> str:
        """Return the design on one line, equal for equal designs."""
        counts = " ".join(f"{level}:{self.images[level]}" for level in sorted(self.images))
        return f"G at {self.epsilon:g}, {100 * self.confidence:g} %, a look every {self.every}, images {counts}"

    @property
    def total(self) -> int:
        """The total number of images of all levels."""
        return sum(self.images.values())

    def decide(self, level: int, looks: tuple[int, ...], passed: int) -> LevelDecision:
        """Return the decision at the last look, assuming that earlier looks were inconclusive."""
        total, counted, last = self.images[level], looks[-1], len(looks) - 1
        planned = look_sizes(total, self.every)
        # The bound of a look does not depend on later ones, so those of all planned looks are computed once.
        at = planned if planned[: len(looks)] == looks else looks
        alpha = (1 - self.confidence) / 2  # of declaring a level held, and of declaring any of the levels lost
        if passed >= passes_to_cross(at, total, self.epsilon, alpha)[last]:
            return "held"
        if counted - passed >= passes_to_cross(at, total, 1 - self.epsilon, alpha / len(self.images))[last]:
            return "lost"
        return "undecided" if counted == total else "going on"


class AdaptiveResult(NamedTuple):
    """The result of an adaptive test so far."""

    # G with its interval, which is valid at every moment; the value is None while it is open
    generalizability: Generalizability
    decisions: Mapping[int, LevelDecision]  # the decision of each level that was looked at
    # the interval of the rate of each level that was looked at; it takes all looks into account
    intervals: Mapping[int, Interval]
    counted: Mapping[int, int]  # how many images were scored, by level
    finished: bool  # whether the test has ended
    total: int  # the number of images of the whole suite


class AdaptiveTest:
    """An adaptive test in progress that requests images, records looks and makes decisions."""

    def __init__(self, design: AdaptiveDesign) -> None:
        """Start the test at the lowest level."""
        self.design = design
        self._levels = sorted(design.images)
        self._looks: list[LevelLook] = []
        self._closed: dict[int, LevelDecision] = {}

    @property
    def looks(self) -> tuple[LevelLook, ...]:
        """The looks so far, in order."""
        return tuple(self._looks)

    @property
    def needs(self) -> NextImages | None:
        """The images to generate next, or None if the test has ended."""
        level = next((level for level in self._levels if level not in self._closed), None)
        if level is None or "lost" in self._closed.values():
            return None
        counts = self._counts(level)
        sizes = look_sizes(self.design.images[level], self.design.every)
        return NextImages(level, next(size for size in sizes if not counts or size > counts[-1]))

    def look(self, passed: int, counted: int, *, exhausted: bool = False) -> LevelLook:
        """Record a look at the current level: how many of its scored images passed, and how many are scored.

        These are as many as `needs` says, or fewer if the level is exhausted, because some cannot be scored.
        """
        needs = self.needs
        if needs is None:
            raise FormalimgError("the adaptive test has ended: start a new run to test again")
        counts, level = self._counts(needs.level), needs.level
        before = self._passed(level)
        least = counts[-1] if counts else 0
        if not (counted == needs.counted or (exhausted and least <= counted < needs.counted)):
            raise FormalimgError(f"the interim analysis of level {level} needs {needs.counted} scored images")
        if not before <= passed <= before + counted - least:
            raise FormalimgError(f"{passed} of {counted} images cannot have passed at level {level}: count them again")
        # Fewer images than planned, none of them new: there is nothing to look at.
        decision: LevelDecision = "undecided"
        if counted > least:
            decision = self.design.decide(level, (*counts, counted), passed)
        if exhausted and decision == "going on":
            decision = "undecided"
        look = LevelLook(level, counted, passed, decision)
        self._looks.append(look)
        if decision != "going on":
            self._closed[level] = decision
        return look

    def result(self) -> AdaptiveResult:
        """Return the result so far."""
        levels = sorted({level for level, *_ in self._looks})
        epsilon = self.design.epsilon
        low = held_level({level: float(self._closed.get(level) == "held") for level in self._levels}, 0.5)
        high = held_level({level: float(self._closed.get(level) != "lost") for level in self._levels}, 0.5)
        value = held_level({level: self._rate(level) for level in self._levels}, epsilon)
        return AdaptiveResult(
            Generalizability(epsilon, value, low, high),
            {level: self._closed.get(level, "going on") for level in levels},
            {level: self._interval(level) for level in levels},
            {level: self._counts(level, (0,))[-1] for level in levels},
            self.needs is None,
            self.design.total,
        )

    def _rate(self, level: int) -> float | None:
        """Return the decided or observed rate of a level for G, or None if the level is open."""
        match self._closed.get(level):
            case "held":
                return 1.0
            case "lost":
                return -1.0  # also where ε is 0
            case None:
                return None
        counted = self._counts(level, (0,))[-1]
        return self._passed(level) / counted if counted else None

    def _interval(self, level: int) -> Interval:
        looks = {look.counted: look.passed for look in self._looks if look.level == level and look.counted}
        if not looks:
            return Interval(0.0, 1.0)
        total = self.design.images[level]
        return interval_after_looks(tuple(looks), tuple(looks.values()), total, self.design.confidence)

    def _counts(self, level: int, before: tuple[int, ...] = ()) -> tuple[int, ...]:
        return tuple(look.counted for look in self._looks if look.level == level) or before

    def _passed(self, level: int) -> int:
        return next((look.passed for look in reversed(self._looks) if look.level == level), 0)
