"""The numbers of one run: what `summarize` gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Missing: TypeAlias = Literal["exclude", "fail", "error"]
"""What is done with images that have no verdict: left out of the rate, counted as failures, or refused."""


class Observation(NamedTuple):
    """One image of one item: passed, failed, or (None) unscored."""

    item: str
    level: int
    passed: bool | None


class Interval(NamedTuple):
    """Where a figure probably lies."""

    low: float
    high: float


class Rate(NamedTuple):
    """How many images passed.

    Attributes:
        passed: how many passed.
        scored: how many were scored.
        expected: how many were to be scored.
        value: the rate, 0 to 1, after the rule for what is missing; None if nothing was counted.
        interval: its exact confidence interval, clustered by item where items have several images; None where there
            is no value.
    """

    passed: int
    scored: int
    expected: int
    value: float | None
    interval: Interval | None

    @property
    def coverage(self) -> float:
        """The share of images that were scored."""
        return self.scored / self.expected if self.expected else 0.0


class Band(NamedTuple):
    """The mean of the rates of some levels; None where a level has no value.

    Attributes:
        levels: the levels it is the mean of.
        value: the mean, 0 to 1.
        interval: its bootstrap interval, for which items are resampled within their levels; an exact and wider one
            where a level has fewer than five items.
        coverage: the share of images that were scored.
    """

    levels: tuple[int, ...]
    value: float | None
    interval: Interval | None
    coverage: float


class Generalizability(NamedTuple):
    """G_ε: the largest level up to which a model holds a rate of at least ε.

    Attributes:
        epsilon: the rate to hold.
        value: the level; 0 if the first level is lost already; None where a level that matters has no value. A level
            after the first lost one does not matter.
        low, high: its interval, which holds G at least as often as it says.
    """

    epsilon: float
    value: int | None
    low: int | None
    high: int | None


class Summary(NamedTuple):
    """All numbers of one run, with the rule by which they were made."""

    levels: Mapping[int, Rate]
    overall: Rate
    bands: Mapping[str, Band]
    generalizability: Generalizability | None
    missing: Missing
    confidence: float
