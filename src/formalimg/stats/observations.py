"""Observations (pass, fail, score, unscored) and result types: rates, bands, intervals and coverage.

`tally` counts images per item, which is the first step to every number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError

# How to treat images without a verdict: leave them out of the rate, count them as failures, or raise
MissingPolicy: TypeAlias = Literal["exclude", "fail", "error"]
Profile: TypeAlias = Literal["paper", "official-code"]  # Whose rules apply where a paper and its published code differ
PASS_THRESHOLD = 0.5  # Images of this score and above pass, where scores are averaged


class Observation(NamedTuple):
    """The verdict on one image of one item: passed, failed, or None for unscored."""

    item: str
    level: int
    passed: bool | None


class ScoreObservation(NamedTuple):
    """The score of one image, 0 to 1, or None for unscored."""

    group: str  # what is drawn together, such as the levels of a scene, or the variants of a rule
    level: int
    sample: int  # which of its item's images, from 0
    score: float | None


def validate_score(score: float) -> float:
    """Return the score, and raise an error unless it is a number from 0 to 1."""
    if not (isfinite(score) and 0 <= score <= 1):
        raise FormalimgError(f"the score {score!r} is not between 0 and 1: give None for what has no score")
    return score


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class Rate(NamedTuple):
    """Pass rate with coverage and confidence interval."""

    passed: int  # how many passed
    scored: int  # how many were scored
    expected: int  # how many were to be scored
    value: float | None  # the rate, 0 to 1, after the rule for what is missing; None if nothing was counted
    # its exact confidence interval, clustered by item where items have several images; None where there is no value
    interval: Interval | None

    @property
    def coverage(self) -> float:
        """Share of images that were scored."""
        return self.scored / self.expected if self.expected else 0.0


class Band(NamedTuple):
    """The mean pass rate of several levels, or None if a level has no value."""

    levels: tuple[int, ...]  # the levels it is the mean of
    value: float | None  # the mean, 0 to 1
    # its bootstrap interval, for which items are resampled within their levels; an exact and wider one where a level
    # has fewer than five items
    interval: Interval | None
    coverage: float  # the share of images that were scored


class Generalizability(NamedTuple):
    """G_ε, the largest level up to which a model maintains a rate of at least ε."""

    epsilon: float  # the rate to hold
    # the level; 0 if the first level is lost; None where a level that matters has no value. A level after the first
    # lost one does not matter
    value: int | None
    low: int | None  # its interval, which holds G at least as often as it says
    high: int | None


class Summary(NamedTuple):
    """All results of one run and the rules for computing them."""

    levels: Mapping[int, Rate]
    overall: Rate
    bands: Mapping[str, Band]
    generalizability: Generalizability | None
    missing: MissingPolicy
    confidence: float


class ItemTally(NamedTuple):
    """Counts over the images of one item."""

    passed: int
    scored: int
    expected: int

    def counted(self, missing: MissingPolicy) -> int:
        """Return the denominator of the item's rate."""
        return self.expected if missing == "fail" else self.scored


class PassCount(NamedTuple):
    """The passed and counted images of an item."""

    passed: int
    counted: int


PassCounts: TypeAlias = Mapping[PassCount, int]  # Number of items per pass count


def tally_items(observations: Iterable[Observation]) -> dict[int, dict[str, ItemTally]]:
    """Count the images of each item, grouped by level in ascending order."""
    level_of: dict[str, int] = {}
    tallies: dict[str, ItemTally] = {}
    for item, level, passed in observations:
        if level < 0:
            raise FormalimgError(f"item {item!r} is at level {level}: levels are 0 or more")
        if level_of.setdefault(item, level) != level:
            raise FormalimgError(
                f"item {item!r} is at level {level_of[item]} and at level {level}: give each item one level"
            )
        if passed not in (True, False, None):  # what merely counts as true, such as "false", is not a verdict
            raise FormalimgError(f"the verdict on item {item!r} is {passed!r}: give True, False or None for unscored")
        before = tallies.get(item, ItemTally(0, 0, 0))
        tallies[item] = ItemTally(
            before.passed + bool(passed), before.scored + (passed is not None), before.expected + 1
        )
    levels: dict[int, dict[str, ItemTally]] = {level: {} for level in sorted(set(level_of.values()))}
    for item, counts in tallies.items():
        levels[level_of[item]][item] = counts
    return levels


def pass_counts(tallies: Iterable[ItemTally], missing: MissingPolicy) -> PassCounts:
    """Return the number of items for each pass count, in an order independent of the input order."""
    counts = Counter(PassCount(tally.passed, tally.counted(missing)) for tally in tallies if tally.counted(missing))
    return dict(sorted(counts.items()))


def total_counts(kinds: PassCounts) -> PassCount:
    """Return the sum of all pass counts."""
    return PassCount(
        sum(kind.passed * items for kind, items in kinds.items()),
        sum(kind.counted * items for kind, items in kinds.items()),
    )
