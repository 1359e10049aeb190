"""What comes out when the scores of two judges are compared, on runs of CF-World and its probes."""

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
from formalimg.analysis.judge_agreement import Scored, numbered
from formalimg.analysis.run_judges import judge_of, two_judges
from formalimg.errors import FormalimgError
from formalimg.judges import Unscored, Verdict
from formalimg.runs import Identity, RunRecord
from formalimg.stats import Consistency, Correlation, Interval, ScoreProfile, Share, consistency
from formalimg.suites import DIMENSIONS, PASS_MARK, CounterfactualSpec


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


_DIGITS = 9
"""Beyond these, scores differ by the rounding of floats."""


class _Given(NamedTuple):
    """What a judge gives an image: its score, None if unscored, and score and reason of each question, by number."""

    score: float | None
    questions: Mapping[int, float]
    reasons: Mapping[int, str]


class _Seen(NamedTuple):
    """An image, and what both judges give it."""

    item: str
    sample: int
    level: int
    spec: CounterfactualSpec
    first: _Given
    second: _Given


def compare_scores(
    folder: str | Path,
    first: Identity | None = None,
    second: Identity | None = None,
    *,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
) -> ScoresCompared:
    """Compares the scores of two judges over the images of one run of CF-World or of one of its probes.

    Args:
        folder: the run folder.
        first: one of those who judged it, as `StoredRun.judges()` names them; None for the last but one.
        second: another of them; None for the last.
        profile: `official-code` gives each question its full weight.
        confidence: of all intervals.

    Raises:
        FormalimgError: if it is no run, no run of CF-World, or fewer than two have judged it.
    """
    with two_judges(folder, first, second) as (one, other):
        seen = list(_seen(one, other, profile))
        run, suite, judges = one.folder.name, one.manifest.suite, (judge_of(one), judge_of(other))
    levels = sorted({image.level for image in seen})

    def apart(images: Iterable[_Seen], score: Callable[[_Given, CounterfactualSpec], float | None]) -> ScoresApart:
        pairs = [ScorePair(score(it.first, it.spec), score(it.second, it.spec), it.item) for it in images]
        gap = score_gap(pairs, confidence)
        means = gap.judge, gap.people, gap.mean
        return ScoresApart(gap.n, gap.left_out, *means, gap.interval, gap.sd, gap.near, gap.r)

    def passed(images: Iterable[_Seen]) -> Consistency:
        chosen = list(images)
        answers = [(_passes(it.first.score), _passes(it.second.score)) for it in chosen]
        return consistency(answers, items=[it.item for it in chosen], confidence=confidence)

    by_dimension: dict[str, ScoresApart] = {}
    for dimension in DIMENSIONS:
        asked = [it for it in seen if any(question.dimension == dimension for question in it.spec.questions)]
        if asked:
            by_dimension[dimension] = apart(asked, partial(_mean_of, dimension))
    scored = [(it.first.score is not None, it.second.score is not None) for it in seen]
    return ScoresCompared(
        run,
        suite,
        *judges,
        Scored(*(scored.count(which) for which in ((True, True), (True, False), (False, True), (False, False)))),
        apart(seen, _whole),
        {level: apart((it for it in seen if it.level == level), _whole) for level in levels},
        by_dimension,
        passed(seen),
        {level: passed(it for it in seen if it.level == level) for level in levels},
        tuple(_most_apart_first(_disagreements(seen))),
        profile,
        confidence,
    )


def _seen(one: RunRecord, other: RunRecord, profile: ScoreProfile) -> Iterator[_Seen]:
    specs = counterfactual_specs(one)
    for here, there in zip(one.judged(), other.judged(), strict=True):
        item, level, sample, *_ = here.outcome
        if (item, sample) != (there.outcome.item, there.outcome.sample):
            raise FormalimgError(f"{one.folder} has grown meanwhile: compare the judges again")
        given = [
            _Given(
                score_of_verdict(run, judged, profile),
                scores_by_question(judged.verdict, specs[item]),
                _reasons(judged.verdict, specs[item]),
            )
            for run, judged in ((one, here), (other, there))
        ]
        yield _Seen(item, sample, level, specs[item], *given)


def _reasons(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, str]:
    if isinstance(verdict, Unscored):
        return {}
    said = dict(zip(numbered(part.name for part in verdict.parts), verdict.parts, strict=True))
    asked = enumerate(numbered(question.question for question in spec.questions), 1)
    return {number: said[question].reason for number, question in asked if question in said}


def _whole(given: _Given, _: CounterfactualSpec) -> float | None:
    return given.score


def _mean_of(dimension: str, given: _Given, spec: CounterfactualSpec) -> float | None:
    """The mean of the questions of a dimension; None unless all of them have a score."""
    numbers = [number for number, asked in enumerate(spec.questions, 1) if asked.dimension == dimension]
    if not all(number in given.questions for number in numbers):
        return None
    return fsum(given.questions[number] for number in numbers) / len(numbers)


def _passes(score: float | None) -> bool | None:
    return None if score is None else round(score, _DIGITS) >= PASS_MARK


def _disagreements(images: Iterable[_Seen]) -> Iterator[ScoreDisagreement]:
    for it in images:
        first, second = it.first.score, it.second.score
        if first is None or second is None:
            continue
        questions = tuple(
            QuestionScores(
                asked.question,
                asked.dimension,
                it.first.questions.get(number),
                it.second.questions.get(number),
                it.first.reasons.get(number, ""),
                it.second.reasons.get(number, ""),
            )
            for number, asked in enumerate(it.spec.questions, 1)
        )
        found = ScoreDisagreement(it.item, it.sample, it.level, first, second, questions)
        if round(first - second, _DIGITS) or found.most_apart:
            yield found


def _most_apart_first(found: Iterable[ScoreDisagreement]) -> list[ScoreDisagreement]:
    def apart(it: ScoreDisagreement) -> tuple[float, float]:
        return -round(abs(it.first - it.second), _DIGITS), -max((one.apart for one in it.questions), default=0.0)

    return sorted(found, key=apart)
