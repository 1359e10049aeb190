"""Comparison of scores by raters and judges for images of CF-World or a probe (section 4.3 of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.cfworld.run_scores import (
    counterfactual_specs,
    parts_by_question,
    score_of_verdict,
    scores_by_question,
)
from formalimg.benchmarks.cfworld.scores import weighted_score
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, CounterfactualSpec
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import (
    MatchedRatings,
    RatedImage,
    judge_of,
    match_ratings,
    one_judge,
    two_judges,
)
from formalimg.human_eval.agreement.rating_files import Rating, RatingFile, load_score_file, natural_sort
from formalimg.human_eval.agreement.score_agreement import (
    HumanScoreStudy,
    ImageScores,
    JudgeScoreAgreement,
    JudgeScoreDifference,
    QuestionScores,
    ScoreDisagreement,
    ScoreGap,
    ScoreGaps,
    ScorePair,
    count_scored,
    score_difference,
    score_gap,
    summarize_rater_scores,
)
from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.correlation import within_level_correlation
from formalimg.stats.observations import PASS_THRESHOLD, Profile
from formalimg.types import RunRecord


def _dimension_mean(dimension: str, spec: CounterfactualSpec, scores: Mapping[int, float]) -> float | None:
    numbers = _dimension_numbers(dimension, spec)
    return _exact_mean(scores[number] for number in numbers) if all(number in scores for number in numbers) else None


def _dimension_numbers(dimension: str, spec: CounterfactualSpec) -> list[int]:
    return [number for number, question in enumerate(spec.questions, 1) if question.dimension == dimension]


def _exact_mean(values: Iterable[float]) -> float:
    listed = list(values)
    return fsum(listed) / len(listed)


# --- raters and a judge


class _RatedImageScores(NamedTuple):
    """An image with the scores of raters and judge, for each question and as a whole."""

    image: RatedImage
    level: int
    reason: str
    tags: tuple[str, ...]
    spec: CounterfactualSpec
    ratings: Mapping[int | None, Mapping[str, float]]
    human: Mapping[int, float]
    human_whole: float | None
    judge: Mapping[int, float]
    judge_score: float | None


def study_human_scores(
    scores: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: Profile = "paper",
    confidence: float = 0.95,
) -> HumanScoreStudy:
    """Compare the scores of raters with those of the runs' judge.

    The scores of several raters for one question are averaged; the scores of an image's questions are then combined in
    the same way as the judge's, before any gate. An image has no combined score if a question has no human score.
    """
    judge = one_judge(runs)
    suites = sorted({run.manifest.suite for run in runs})
    if len(suites) > 1:
        raise FormalimgError(f"scores are on runs of one suite, not of {', '.join(suites)}: name such runs")
    specs = {run.folder.name: counterfactual_specs(run) for run in runs}

    def check(run: RunRecord, score: Rating) -> str:
        count = len(specs[run.folder.name][score.item].questions)
        if score.question is None or score.question <= count:
            return ""
        return f"there is no question {score.question}: item {score.item} of {run.folder.name} has {count}, from 1"

    levels = frozenset(item.level for run in runs for item in run.items.values())
    file = load_score_file(scores) if isinstance(scores, str | Path) else RatingFile("", tuple(scores))
    matched = match_ratings(file, runs, check, levels=levels)
    images = [image for run in runs for image in _list_rated_images(run, matched, specs[run.folder.name], profile)]
    by_question = [image for image in images if image.human]
    sums = [(image, _sum_scores(image.spec, image.human, profile)) for image in by_question]
    by_dimension: dict[str, ScoreGap] = {}
    for dimension in DIMENSIONS:
        pairs = [
            ScorePair(
                _dimension_mean(dimension, image.spec, image.judge),
                _dimension_mean(dimension, image.spec, image.human),
                image.image.item,
            )
            for image in by_question
            if any(number in image.human for number in _dimension_numbers(dimension, image.spec))
        ]
        if pairs:
            by_dimension[dimension] = score_gap(pairs, confidence)
    return HumanScoreStudy(
        suites[0],
        judge,
        matched.raters,
        len(file.rows),
        len(images),
        dict(sorted(Counter(image.reason for image in images if image.judge_score is None).items())),
        sum(score is None for _, score in sums),
        matched.without_image,
        matched.not_rated,
        _build_gaps(sums, confidence),
        by_dimension,
        _build_gaps([(image, image.human_whole) for image in images if image.human_whole is not None], confidence),
        profile,
        confidence,
        *summarize_rater_scores([_image_scores(image, profile) for image in images], confidence),
    )


def _build_gaps(scored: Sequence[tuple[_RatedImageScores, float | None]], confidence: float) -> ScoreGaps | None:
    """Return the gaps between human and judge scores: overall, by level and by run."""
    if not scored:
        return None
    pairs = [(image, ScorePair(image.judge_score, human, image.image.item)) for image, human in scored]
    levels, names = sorted({image.level for image, _ in pairs}), sorted({image.image.run for image, _ in pairs})
    return ScoreGaps(
        score_gap([pair for _, pair in pairs], confidence),
        {level: score_gap([pair for image, pair in pairs if image.level == level], confidence) for level in levels},
        {run: score_gap([pair for image, pair in pairs if image.image.run == run], confidence) for run in names},
        within_level_correlation(
            [(pair.judge, pair.human) for _, pair in pairs],
            [(image.image.run, image.level) for image, _ in pairs],
            items=[pair.item for _, pair in pairs],
            confidence=confidence,
        ),
    )


def _image_scores(image: _RatedImageScores, profile: Profile) -> ImageScores:
    """Return the image scores by raters and judge, summed over questions if these were rated."""
    human = _sum_scores(image.spec, image.human, profile) if image.human else image.human_whole
    by_rater = {}
    for rater in natural_sort(rater for ratings in image.ratings.values() for rater in ratings):
        scores = {
            number: ratings[rater]
            for number, ratings in image.ratings.items()
            if number is not None and rater in ratings
        }
        score = _sum_scores(image.spec, scores, profile) if image.human else image.ratings[None].get(rater)
        if score is not None:
            by_rater[rater] = score
    return ImageScores(*image.image, image.level, image.tags, human, image.judge_score, by_rater, image.ratings)


def _list_rated_images(
    run: RunRecord, matched: MatchedRatings, specs: Mapping[str, CounterfactualSpec], profile: Profile
) -> Iterator[_RatedImageScores]:
    images = [image for image in matched.outcomes if image.run == run.folder.name]
    for image, judged in zip(images, run.judged([(image.item, image.sample) for image in images]), strict=True):
        ratings, spec = matched.ratings[image], specs[image.item]
        means = {question: _exact_mean(scores.values()) for question, scores in ratings.items()}
        yield _RatedImageScores(
            image,
            judged.outcome.level,
            judged.outcome.reason,
            plain_tags(run.items[image.item].tags),
            spec,
            ratings,
            {question: score for question, score in means.items() if question is not None},
            means.get(None),
            scores_by_question(judged.verdict, spec),
            score_of_verdict(run, judged, profile),
        )


def _sum_scores(spec: CounterfactualSpec, scores: Mapping[int, float], profile: Profile) -> float | None:
    if len(scores) < len(spec.questions):
        return None
    answers = [
        (question.dimension, question.weight, scores[number]) for number, question in enumerate(spec.questions, 1)
    ]
    return weighted_score(answers, profile)


# --- two judges

_DIGITS = 9  # Scores that are equal to so many decimals differ only by rounding


class _JudgeImageScores(NamedTuple):
    """A judge's score of an image (None: unscored), with its parts by question number."""

    score: float | None
    questions: Mapping[int, float]
    reasons: Mapping[int, str]

    @property
    def passes(self) -> bool | None:
        return None if self.score is None else round(self.score, _DIGITS) >= PASS_THRESHOLD


class _ComparedImage(NamedTuple):
    """An image with its scores by both judges."""

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
    profile: Profile = "paper",
    confidence: float = 0.95,
) -> JudgeScoreAgreement:
    """Compare the scores of two judges over the images of a run of CF-World or one of its probes."""
    with two_judges(folder, first, second) as (run, second_run):
        images = list(_list_compared_images(run, second_run, profile))
        name, suite, judges = run.folder.name, run.manifest.suite, (judge_of(run), judge_of(second_run))
    by_level = {
        level: [image for image in images if image.level == level]
        for level in sorted({image.level for image in images})
    }

    def difference(
        chosen: Iterable[_ComparedImage],
        score: Callable[[_JudgeImageScores, CounterfactualSpec], float | None] = lambda scores, spec: scores.score,
    ) -> JudgeScoreDifference:
        pairs = [(score(image.first, image.spec), score(image.second, image.spec), image.item) for image in chosen]
        return score_difference(pairs, confidence)

    def passing(chosen: Sequence[_ComparedImage]) -> Consistency:
        answers = [(image.first.passes, image.second.passes) for image in chosen]
        return consistency(answers, items=[image.item for image in chosen], confidence=confidence)

    by_dimension: dict[str, JudgeScoreDifference] = {}
    for dimension in DIMENSIONS:
        if chosen := [image for image in images if _dimension_numbers(dimension, image.spec)]:
            by_dimension[dimension] = difference(
                chosen, partial(lambda name, scores, spec: _dimension_mean(name, spec, scores.questions), dimension)
            )
    return JudgeScoreAgreement(
        name,
        suite,
        *judges,
        count_scored((image.first.score is not None, image.second.score is not None) for image in images),
        difference(images),
        {level: difference(chosen) for level, chosen in by_level.items()},
        by_dimension,
        passing(images),
        {level: passing(chosen) for level, chosen in by_level.items()},
        tuple(sorted(_find_disagreements(images), key=_size_order)),
        profile,
        confidence,
        within_level_correlation(
            [(image.first.score, image.second.score) for image in images],
            [image.level for image in images],
            items=[image.item for image in images],
            confidence=confidence,
        ),
    )


def _list_compared_images(run: RunRecord, second_run: RunRecord, profile: Profile) -> Iterator[_ComparedImage]:
    specs = counterfactual_specs(run)
    for first, second in zip(run.judged(), second_run.judged(), strict=True):
        item, level, sample, *_ = first.outcome
        if (item, sample) != (second.outcome.item, second.outcome.sample):
            raise FormalimgError(f"{run.folder} has new images: compare the judges again")
        scores = [
            _JudgeImageScores(
                score_of_verdict(judged_run, judged, profile),
                scores_by_question(judged.verdict, specs[item]),
                {number: part.reason for number, part in parts_by_question(judged.verdict, specs[item]).items()},
            )
            for judged_run, judged in ((run, first), (second_run, second))
        ]
        yield _ComparedImage(item, sample, level, specs[item], *scores)


def _find_disagreements(images: Iterable[_ComparedImage]) -> Iterator[ScoreDisagreement]:
    for image in images:
        first, second = image.first, image.second
        if first.score is None or second.score is None:
            continue
        questions = tuple(
            QuestionScores(
                question.question,
                question.dimension,
                first.questions.get(number),
                second.questions.get(number),
                first.reasons.get(number, ""),
                second.reasons.get(number, ""),
            )
            for number, question in enumerate(image.spec.questions, 1)
        )
        disagreement = ScoreDisagreement(image.item, image.sample, image.level, first.score, second.score, questions)
        if round(first.score - second.score, _DIGITS) or disagreement.largest:
            yield disagreement


def _size_order(disagreement: ScoreDisagreement) -> tuple[float, float]:
    largest = max((question.distance for question in disagreement.questions), default=0.0)
    return -round(abs(disagreement.first - disagreement.second), _DIGITS), -largest
