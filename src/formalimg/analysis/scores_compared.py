"""What comes out when the scores of two judges are compared, on runs of CF-World and its probes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.analysis.judges_compared import Scored
from formalimg.runs import Identity
from formalimg.stats import Consistency, Correlation, Interval, ScoreProfile, Share


class ScoresApart(NamedTuple):
    """How far the scores of two judges lie apart.

    Attributes:
        n: how many images both scored.
        left_out: how many only one of them scored, or neither.
        first, second: the mean scores of these images; None if there are none.
        difference: the mean difference, first minus second.
        interval: its normal interval, clustered by item; None where the spread cannot be told.
        sd: the standard deviation of the differences; None for fewer than two.
        near: how many differ by no more than 0.125, with its exact interval, clustered by item.
        r: Pearson's correlation of the scores.
    """

    n: int
    left_out: int
    first: float | None
    second: float | None
    difference: float | None
    interval: Interval | None
    sd: float | None
    near: Share
    r: Correlation


class QuestionScores(NamedTuple):
    """What two judges give for one question about an image; None if that is not known, and why as far as they say."""

    question: str
    dimension: str
    first: float | None
    second: float | None
    first_reason: str
    second_reason: str

    @property
    def apart(self) -> float:
        """How far the scores lie apart; 0 if one is not known."""
        return 0.0 if self.first is None or self.second is None else abs(self.first - self.second)


class ScoreDisagreement(NamedTuple):
    """An image that two judges score differently, as a whole or in its questions."""

    item: str
    sample: int
    level: int
    first: float
    second: float
    questions: tuple[QuestionScores, ...]

    @property
    def most_apart(self) -> QuestionScores | None:
        """The question on which they differ most; None if they do not differ on any."""
        found = max(self.questions, key=lambda question: question.apart, default=None)
        return found if found is not None and found.apart else None


@dataclass(frozen=True)
class ScoresCompared:
    """The scores of two judges for the same images of one run, before any gate.

    Attributes:
        run: the name of the run folder.
        suite: the benchmark.
        first, second: the judges.
        images: how many images they scored.
        scores, scores_by_level: how far their scores lie apart.
        scores_by_dimension: the same for each dimension by itself: the mean of its questions.
        passed, passed_by_level: how often they agree on whether an image passes, with a score of 0.5 or more.
        disagreements: the images that they score differently, those first on which they differ most.
        profile: whose formula sums up questions.
        confidence: of all intervals.
    """

    run: str
    suite: str
    first: Identity
    second: Identity
    images: Scored
    scores: ScoresApart
    scores_by_level: Mapping[int, ScoresApart]
    scores_by_dimension: Mapping[str, ScoresApart]
    passed: Consistency
    passed_by_level: Mapping[int, Consistency]
    disagreements: tuple[ScoreDisagreement, ...]
    profile: ScoreProfile
    confidence: float
