"""Scores of two judges for the same images of a run of CF-World or of one of its probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.cfworld.image_scores import counterfactual_specs, score_of_verdict, scores_by_question
from formalimg.benchmarks.cfworld.scores import ScoreProfile
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, CounterfactualSpec
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.judge_agreement import judge_of, question_keys, two_judges
from formalimg.human_eval.agreement.score_agreement import (
    JudgeScoreAgreement,
    JudgeScoreDifference,
    QuestionScores,
    ScoreDisagreement,
    count_scored,
    score_difference,
)
from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.correlation import within_level_correlation
from formalimg.stats.observations import PASS_THRESHOLD
from formalimg.types import RunRecord, Unscored, Verdict

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
    """Compare the scores of two judges over the images of one run of CF-World or of one of its probes."""
    with two_judges(folder, first, second) as (one, other):
        compared = list(_compared_images(one, other, profile))
        run, suite, judges = one.folder.name, one.manifest.suite, (judge_of(one), judge_of(other))
    levels = sorted({image.level for image in compared})

    def difference(
        images: Iterable[_ComparedImage], score: Callable[[_JudgeImageScores, CounterfactualSpec], float | None]
    ) -> JudgeScoreDifference:
        pairs = [(score(it.first, it.spec), score(it.second, it.spec), it.item) for it in images]
        return score_difference(pairs, confidence)

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
