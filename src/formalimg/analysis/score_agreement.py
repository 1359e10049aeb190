"""Agreement of the scores of two judges on a run of CF-World or of one of its probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.counterfactual_scores import (
    ScorePair,
    counterfactual_specs,
    score_gap,
    score_of_verdict,
    scores_by_question,
)
from formalimg.analysis.judge_agreement import ScoredCounts, count_scored, question_keys
from formalimg.analysis.run_judges import judge_of, two_judges
from formalimg.errors import FormalimgError
from formalimg.judges import Unscored, Verdict
from formalimg.runs import Identity, RunRecord
from formalimg.stats import (
    Consistency,
    Correlation,
    Interval,
    Proportion,
    ScoreProfile,
    consistency,
    within_level_correlation,
)
from formalimg.suites import DIMENSIONS, PASS_THRESHOLD, CounterfactualSpec


class JudgeScoreDifference(NamedTuple):
    """The difference between the scores of two judges.

    Attributes:
        n: how many images both scored.
        left_out: how many only one of them scored, or neither.
        first, second: the mean scores of these images; None if there are none.
        difference: the mean difference, first minus second.
        interval: its normal interval, clustered by item; None where the spread is unknown.
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
    near: Proportion
    r: Correlation


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
    """Agreement of the scores of two judges for the same images of one run, before any gate.

    Attributes:
        run: the name of the run folder.
        suite: the benchmark.
        first, second: the judges.
        images: how many images they scored.
        scores, scores_by_level: the differences of their scores.
        scores_by_dimension: the same for each dimension by itself: the mean of its questions.
        passed, passed_by_level: how often they agree on whether an image passes, with a score of 0.5 or more.
        within_levels: the correlation of their scores within levels.
        disagreements: the images that they score differently, the largest differences first.
        profile: the formula that sums up questions.
        confidence: of all intervals.
    """

    run: str
    suite: str
    first: Identity
    second: Identity
    images: ScoredCounts
    scores: JudgeScoreDifference
    scores_by_level: Mapping[int, JudgeScoreDifference]
    scores_by_dimension: Mapping[str, JudgeScoreDifference]
    passed: Consistency
    passed_by_level: Mapping[int, Consistency]
    disagreements: tuple[ScoreDisagreement, ...]
    profile: ScoreProfile
    confidence: float
    within_levels: Correlation


_DIGITS = 9
"""Scores that are equal to so many decimals differ only by rounding."""


class _JudgeImageScores(NamedTuple):
    """The score of an image by a judge (None: unscored), and score and reason of each question, by number."""

    score: float | None
    questions: Mapping[int, float]
    reasons: Mapping[int, str]


class _ComparedImage(NamedTuple):
    """An image, and its scores by both judges."""

    item: str
    sample: int
    level: int
    spec: CounterfactualSpec
    first: _JudgeImageScores
    second: _JudgeImageScores


def compare_scores(
    folder: str | Path,
    first: Identity | None = None,
    second: Identity | None = None,
    *,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
) -> JudgeScoreAgreement:
    """Compare the scores of two judges over the images of one run of CF-World or of one of its probes.

    Args:
        folder: the run folder.
        first: one of the judges in `StoredRun.judges()`; None for the last but one.
        second: another of them; None for the last.
        profile: `official-code` gives each question its full weight.
        confidence: of all intervals.

    Raises:
        FormalimgError: if the folder is not a run of CF-World, or has fewer than two judges.
    """
    with two_judges(folder, first, second) as (one, other):
        compared = list(_compared_images(one, other, profile))
        run, suite, judges = one.folder.name, one.manifest.suite, (judge_of(one), judge_of(other))
    levels = sorted({image.level for image in compared})

    def difference(
        images: Iterable[_ComparedImage], score: Callable[[_JudgeImageScores, CounterfactualSpec], float | None]
    ) -> JudgeScoreDifference:
        pairs = [ScorePair(score(it.first, it.spec), score(it.second, it.spec), it.item) for it in images]
        gap = score_gap(pairs, confidence)
        means = gap.judge, gap.human, gap.mean
        return JudgeScoreDifference(gap.n, gap.left_out, *means, gap.interval, gap.sd, gap.near, gap.r)

    def passed(images: Iterable[_ComparedImage]) -> Consistency:
        chosen = list(images)
        answers = [(_passes(it.first.score), _passes(it.second.score)) for it in chosen]
        return consistency(answers, items=[it.item for it in chosen], confidence=confidence)

    by_dimension: dict[str, JudgeScoreDifference] = {}
    for dimension in DIMENSIONS:
        chosen = [it for it in compared if any(question.dimension == dimension for question in it.spec.questions)]
        if chosen:
            by_dimension[dimension] = difference(chosen, partial(_mean_of, dimension))
    return JudgeScoreAgreement(
        run,
        suite,
        *judges,
        count_scored((it.first.score is not None, it.second.score is not None) for it in compared),
        difference(compared, _whole),
        {level: difference((it for it in compared if it.level == level), _whole) for level in levels},
        by_dimension,
        passed(compared),
        {level: passed(it for it in compared if it.level == level) for level in levels},
        tuple(_largest_first(_disagreements(compared))),
        profile,
        confidence,
        within_level_correlation(
            [(it.first.score, it.second.score) for it in compared],
            [it.level for it in compared],
            items=[it.item for it in compared],
            confidence=confidence,
        ),
    )


def _compared_images(one: RunRecord, other: RunRecord, profile: ScoreProfile) -> Iterator[_ComparedImage]:
    specs = counterfactual_specs(one)
    for here, there in zip(one.judged(), other.judged(), strict=True):
        item, level, sample, *_ = here.outcome
        if (item, sample) != (there.outcome.item, there.outcome.sample):
            raise FormalimgError(f"{one.folder} has grown meanwhile: compare the judges again")
        scores = [
            _JudgeImageScores(
                score_of_verdict(run, judged, profile),
                scores_by_question(judged.verdict, specs[item]),
                _reasons(judged.verdict, specs[item]),
            )
            for run, judged in ((one, here), (other, there))
        ]
        yield _ComparedImage(item, sample, level, specs[item], *scores)


def _reasons(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, str]:
    if isinstance(verdict, Unscored):
        return {}
    parts = dict(zip(question_keys(part.name for part in verdict.parts), verdict.parts, strict=True))
    keys = enumerate(question_keys(question.question for question in spec.questions), 1)
    return {number: parts[key].reason for number, key in keys if key in parts}


def _whole(scores: _JudgeImageScores, _: CounterfactualSpec) -> float | None:
    return scores.score


def _mean_of(dimension: str, scores: _JudgeImageScores, spec: CounterfactualSpec) -> float | None:
    """Return the mean score of the questions of a dimension; None unless all of them have one."""
    numbers = [number for number, question in enumerate(spec.questions, 1) if question.dimension == dimension]
    if not all(number in scores.questions for number in numbers):
        return None
    return fsum(scores.questions[number] for number in numbers) / len(numbers)


def _passes(score: float | None) -> bool | None:
    return None if score is None else round(score, _DIGITS) >= PASS_THRESHOLD


def _disagreements(images: Iterable[_ComparedImage]) -> Iterator[ScoreDisagreement]:
    for it in images:
        first, second = it.first.score, it.second.score
        if first is None or second is None:
            continue
        questions = tuple(
            QuestionScores(
                question.question,
                question.dimension,
                it.first.questions.get(number),
                it.second.questions.get(number),
                it.first.reasons.get(number, ""),
                it.second.reasons.get(number, ""),
            )
            for number, question in enumerate(it.spec.questions, 1)
        )
        found = ScoreDisagreement(it.item, it.sample, it.level, first, second, questions)
        if round(first - second, _DIGITS) or found.largest:
            yield found


def _largest_first(found: Iterable[ScoreDisagreement]) -> list[ScoreDisagreement]:
    def order(it: ScoreDisagreement) -> tuple[float, float]:
        return -round(abs(it.first - it.second), _DIGITS), -max((one.distance for one in it.questions), default=0.0)

    return sorted(found, key=order)
