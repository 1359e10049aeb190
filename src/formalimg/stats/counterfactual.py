"""The numbers of CF-World: scores of images, their means by level, and the two rates between levels."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, sqrt
from typing import Literal, NamedTuple, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.summary import Interval, Missing

ScoreProfile: TypeAlias = Literal["paper", "official-code"]
"""Whose rules hold where the paper and its published code or tables differ."""


class ScoreObservation(NamedTuple):
    """One image: its score, 0 to 1, or (None) unscored.

    Attributes:
        group: what is drawn together: the three levels of a scene, or the variants of a rule.
        level: 1 factual, 2 explicit, 3 implicit.
        sample: which of its item's images, from 0.
        score: the score; None if unscored.
    """

    group: str
    level: int
    sample: int
    score: float | None


class MeanScore(NamedTuple):
    """The mean score of the images of a level.

    Attributes:
        value: the mean, 0 to 1, after the gate and the rule for what is missing; None if nothing was counted.
        interval: its interval, by resampling groups; None where there is no value.
        scored: how many images have a score that counts.
        expected: how many were to be scored.
        gated: how many images count as 0 because the gate of their group is closed.
    """

    value: float | None
    interval: Interval | None
    scored: int
    expected: int
    gated: int

    @property
    def coverage(self) -> float:
        """The share of images that have a score."""
        return self.scored / self.expected if self.expected else 0.0


class ScoreRatio(NamedTuple):
    """PRR or RRR.

    Attributes:
        value: the figure; None where a mean is missing, or the one to be divided by is 0.
        interval: its interval, by resampling groups; None where there is no value, where fewer than five groups tell
            of a level, or where resamples have no end.
    """

    value: float | None
    interval: Interval | None


class ScoreSummary(NamedTuple):
    """All numbers of a run of CF-World, with the rules by which they were made.

    Attributes:
        levels: the mean score of each level.
        prr: the Prior Resistance Rate, from levels 1 and 2.
        rrr: the Reasoning Retention Rate, from levels 2 and 3.
        threshold: the score of level 1 below which a group's gate is closed; None for no gate.
        missing: what was done with images that have no score.
        confidence: how sure the intervals are.
        profile: whose rules were followed.
    """

    levels: Mapping[int, MeanScore]
    prr: ScoreRatio
    rrr: ScoreRatio
    threshold: float | None
    missing: Missing
    confidence: float
    profile: ScoreProfile


def prior_resistance(l1: float | None, l2: float | None) -> float | None:
    """The Prior Resistance Rate of two mean scores: L2 / √L1.

    None where a mean is missing, or L1 is 0 and there was nothing to resist.
    """
    return _ratio(l1, l2)


def reasoning_retention(l2: float | None, l3: float | None) -> float | None:
    """The Reasoning Retention Rate of two mean scores: L3 / √L2; None where a mean is missing, or L2 is 0."""
    return _ratio(l2, l3)


def _ratio(before: float | None, after: float | None) -> float | None:
    if before is None or after is None:
        return None
    for mean in (before, after):
        checked_score(mean)
    return after / sqrt(before) if before > 0 else None


def checked_score(score: float) -> float:
    """The score, if it is one: a number from 0 to 1."""
    if not (isfinite(score) and 0 <= score <= 1):
        raise FormalimgError(f"the score {score!r} does not lie between 0 and 1: give None for what has no score")
    return score
