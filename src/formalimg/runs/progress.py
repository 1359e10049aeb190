"""How far a run is, in figures."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from formalimg.errors import FormalimgError


@dataclass
class Progress:
    """How far a run is. What earlier runs of the same folder did is not in these figures.

    Attributes:
        images: how many images are to be made.
        verdicts: how many verdicts are to be given, if all goes well.
        made, refused, failed: how many images were made, declined, or did not come.
        passed, not_passed, unscored: how many images passed, did not, or could not be judged.
        stopped: whether it was stopped before the end.
        ended_by: what a model or judge said that lets nothing go on; None as long as none did.
        cost: what this run and those before it in the same folder have cost, in US dollars.
        unpriced: how many calls had a price that nobody knows.
        budget: what may be spent; None for any amount.
    """

    images: int
    verdicts: int
    made: int = 0
    refused: int = 0
    failed: int = 0
    passed: int = 0
    not_passed: int = 0
    unscored: int = 0
    stopped: bool = False
    ended_by: FormalimgError | None = field(default=None, repr=False)
    cost: float = 0.0
    unpriced: int = 0
    budget: float | None = None
    started: float = field(default_factory=time.monotonic, repr=False)

    def count_image(self, status: str) -> None:
        """Count what came of an image, by the status it is recorded with."""
        if status == "made":
            self.made += 1
        elif status == "refused":
            self.refused += 1
        else:
            self.failed += 1

    def count_verdict(self, passed: bool | None) -> None:
        """Count an image that passed, did not, or (None) could not be judged."""
        if passed is None:
            self.unscored += 1
        elif passed:
            self.passed += 1
        else:
            self.not_passed += 1

    def spend(self, cost: float, unpriced: int = 0) -> None:
        """Count what a call has cost (and whether that is not all), and stop when the budget is used up."""
        self.cost += cost
        self.unpriced += unpriced
        self.stopped |= self.over_budget

    @property
    def over_budget(self) -> bool:
        """Has the budget been used up?"""
        return self.budget is not None and self.cost >= self.budget

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    @property
    def judged(self) -> int:
        """How many images were looked at."""
        return self.passed + self.not_passed + self.unscored

    @property
    def steps(self) -> int:
        """How many images and verdicts are to be made, given what has failed so far."""
        return self.images + self.verdicts - (self.refused + self.failed if self.verdicts else 0)

    @property
    def done(self) -> int:
        """How many of these are done, with or without success."""
        return self.made + self.refused + self.failed + self.judged

    @property
    def coverage(self) -> float | None:
        """The share of images asked for so far that could be scored; None if nothing was asked."""
        asked = self.judged + self.refused + self.failed
        return (self.passed + self.not_passed) / asked if asked else None

    @property
    def rate(self) -> float:
        """Images finished per second: judged ones, or made ones where nobody judges."""
        finished = self.judged if self.verdicts else self.made
        return finished / self.seconds if self.seconds else 0.0

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds until the end, at the pace so far; None at the very beginning."""
        return self.seconds / self.done * (self.steps - self.done) if self.done else None
