"""Agreement of the scores of two judges on a run of a suite whose images have scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.human_eval.agreement.judge_agreement import ScoredCounts
from formalimg.human_eval.agreement.score_gap import JudgeScoreDifference
from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import Consistency
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import Profile


class QuestionScores(NamedTuple):
    """The scores of two judges for one question about an image (None: unknown), and their reasons, if given."""

    question: str
    dimension: str
    first: float | None
    second: float | None
    first_reason: str
    second_reason: str

    @property
    def distance(self) -> float:
        """The absolute difference of the scores; 0 if one is unknown."""
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
    def largest(self) -> QuestionScores | None:
        """The question with the largest difference; None if they differ on none."""
        found = max(self.questions, key=lambda question: question.distance, default=None)
        return found if found is not None and found.distance else None


@dataclass(frozen=True)
class JudgeScoreAgreement:
    """Agreement of the scores of two judges for the same images of one run, before any gate."""

    run: str  # the name of the run folder
    suite: str  # the benchmark
    first: Identity  # the judges
    second: Identity
    images: ScoredCounts  # how many images they scored
    scores: JudgeScoreDifference  # the differences of their scores
    scores_by_level: Mapping[int, JudgeScoreDifference]
    # the same for each dimension by itself: the mean of its questions
    scores_by_dimension: Mapping[str, JudgeScoreDifference]
    passed: Consistency  # how often they agree on whether an image passes, with a score of 0.5 or more
    passed_by_level: Mapping[int, Consistency]
    # the images that they score differently, the largest differences first
    disagreements: tuple[ScoreDisagreement, ...]
    profile: Profile  # the formula that sums up questions
    confidence: float  # of all intervals
    within_levels: Correlation  # the correlation of their scores within levels
