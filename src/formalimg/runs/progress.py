"""Progress of a run: counts, cost, budget, rate and remaining time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.models import Spending


class EarlierWork(NamedTuple):
    """What a run folder already holds of the work of a call, as passed to `on_resume` before the rest begins.

    Attributes:
        images: number of images that are asked for.
        made: how many of them exist; None if the call makes none.
        scored: how many of them this judge has scored; None if there is no judge.
    """

    images: int
    made: int | None
    scored: int | None

    def __str__(self) -> str:
        """Return the counts as a line: `30 of 30 images and 12 of 30 verdicts already done`."""
        counts = {"images": self.made, "verdicts": self.scored}
        parts = [f"{done:,} of {self.images:,} {what}" for what, done in counts.items() if done is not None]
        return f"{' and '.join(parts)} already done"


@dataclass
class Progress(Spending):
    """Progress of a run, as passed to `on_progress`. Counts do not include earlier runs in the same folder.

    Attributes:
        images: number of images to generate.
        verdicts: number of verdicts expected if nothing fails.
        made, refused, failed: number of images that were generated, declined, or failed.
        passed, not_passed, unscored: number of images that passed, failed, or could not be judged.
        stopped: whether the run was stopped before its end.
        gave_up: which party failed so often in a row that the run was stopped, and why; empty if none did.
        ended_by: the error of a model or judge that ended the run; None if there is none.
        cost: cost of this run and of earlier ones in the same folder, in US dollars.
        unpriced: number of images and verdicts with an unknown price.
        estimated: number of calls whose use was not reported, so that they are counted by an estimate.
        budget: spending limit in US dollars; None for no limit.
        under_way: number of images and verdicts that are being made.
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
    gave_up: str = ""
    ended_by: FormalimgError | None = field(default=None, repr=False)
    cost: float = 0.0
    unpriced: int = 0
    estimated: int = 0
    budget: float | None = None
    under_way: int = field(default=0, repr=False, compare=False)
    started: float = field(default_factory=time.monotonic, repr=False)

    @contextmanager
    def counting_calls(self, count: int = 1) -> Iterator[None]:
        """Count so many images or verdicts as being made."""
        self.under_way += count
        try:
            yield
        finally:
            self.under_way -= count

    def count_image(self, status: str) -> None:
        """Count an image by the status it is recorded with."""
        if status == "made":
            self.made += 1
        elif status == "refused":
            self.refused += 1
        else:
            self.failed += 1

    def count_verdict(self, passed: bool | None) -> None:
        """Count a verdict: passed, failed, or (None) unscored."""
        if passed is None:
            self.unscored += 1
        elif passed:
            self.passed += 1
        else:
            self.not_passed += 1

    def spend(self, cost: float, unpriced: int = 0, estimated: int = 0) -> None:
        """Add the cost of a call (and whether it is unknown or estimated), and stop when the budget is used up."""
        super().spend(cost, unpriced, estimated)
        if self.over_budget:  # never `|=`: a stop that another thread sets meanwhile would be written over
            self.stopped = True

    @property
    def seconds(self) -> float:
        """Seconds since the run started."""
        return time.monotonic() - self.started

    @property
    def judged(self) -> int:
        """Number of judged images, with or without a score."""
        return self.passed + self.not_passed + self.unscored

    @property
    def steps(self) -> int:
        """Number of images and verdicts expected, given what has failed so far."""
        return self.images + self.verdicts - (self.refused + self.failed if self.verdicts else 0)

    @property
    def done(self) -> int:
        """Number of steps that are done, successfully or not."""
        return self.made + self.refused + self.failed + self.judged

    @property
    def coverage(self) -> float | None:
        """Share of the finished images that could be scored; None if none is finished."""
        finished = self.judged + self.refused + self.failed
        return (self.passed + self.not_passed) / finished if finished else None

    @property
    def rate(self) -> float:
        """Images finished per second: judged ones, or generated ones if there is no judge."""
        finished = self.judged if self.verdicts else self.made
        return finished / self.seconds if self.seconds else 0.0

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds until the end at the rate so far; None before the first step."""
        return self.seconds / self.done * (self.steps - self.done) if self.done else None
