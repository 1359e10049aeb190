"""Scores of raters and of a judge for the same images of CF-World (section 4.3 of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path

from formalimg.benchmarks.cfworld.image_scores import counterfactual_specs, score_of_verdict, scores_by_question
from formalimg.benchmarks.cfworld.scores import ScoreProfile, weighted_score
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, CounterfactualSpec
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.consistency import HumanScoreStudy, ImageScores, ScoreGaps, summarize_rater_scores
from formalimg.human_eval.agreement.rated_images import MatchedRatings, RatedImage, match_ratings, one_judge
from formalimg.human_eval.agreement.rater_agreement import natural_sort
from formalimg.human_eval.agreement.rating_files import Rating, RatingFile, load_score_file
from formalimg.human_eval.agreement.score_agreement import ScoreGap, ScorePair, score_gap
from formalimg.stats.correlation import within_level_correlation
from formalimg.types import RunRecord


@dataclass(frozen=True)
class _RatedImageScores:
    """An image with the scores of raters and judge for each question, and as a whole."""

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
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
) -> HumanScoreStudy:
    """Compare the scores of raters with those of the judge of the runs.

    The scores of several raters for one question are averaged; the questions of an image are then summed up as the
    judge's are, before any gate. An image with a question that has no human score has no sum.
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
    images = [scored for run in runs for scored in _scored(run, matched, specs[run.folder.name], profile)]
    by_question = [scored for scored in images if scored.human]
    whole = [scored for scored in images if scored.human_whole is not None]

    def gaps(chosen: Sequence[tuple[_RatedImageScores, float | None]]) -> ScoreGaps | None:
        if not chosen:
            return None
        pairs = [(it, ScorePair(it.judge_score, human, it.image.item)) for it, human in chosen]
        levels, names = sorted({it.level for it, _ in pairs}), sorted({it.image.run for it, _ in pairs})
        return ScoreGaps(
            score_gap([pair for _, pair in pairs], confidence),
            {level: score_gap([pair for it, pair in pairs if it.level == level], confidence) for level in levels},
            {run: score_gap([pair for it, pair in pairs if it.image.run == run], confidence) for run in names},
            within_level_correlation(
                [(pair.judge, pair.human) for _, pair in pairs],
                [(it.image.run, it.level) for it, _ in pairs],
                items=[pair.item for _, pair in pairs],
                confidence=confidence,
            ),
        )

    return HumanScoreStudy(
        suites[0],
        judge,
        matched.raters,
        len(file.rows),
        len(images),
        dict(sorted(Counter(it.reason for it in images if it.judge_score is None).items())),
        sum(_weighted_sum(it.spec, it.human, profile) is None for it in by_question),
        matched.without_image,
        matched.not_rated,
        gaps([(it, _weighted_sum(it.spec, it.human, profile)) for it in by_question]),
        dict(_by_dimension(by_question, confidence)),
        gaps([(it, it.human_whole) for it in whole]),
        profile,
        confidence,
        *summarize_rater_scores([_image_scores(it, profile) for it in images], confidence),
    )


def _image_scores(it: _RatedImageScores, profile: ScoreProfile) -> ImageScores:
    """Return the summed scores of an image by raters and judge; scores of the whole, if there are no others."""
    human = _weighted_sum(it.spec, it.human, profile) if it.human else it.human_whole
    by_rater = {}
    for rater in natural_sort(rater for own in it.ratings.values() for rater in own):
        scores = {number: own[rater] for number, own in it.ratings.items() if number is not None and rater in own}
        score = _weighted_sum(it.spec, scores, profile) if it.human else it.ratings[None].get(rater)
        if score is not None:
            by_rater[rater] = score
    return ImageScores(*it.image, it.level, it.tags, human, it.judge_score, by_rater, it.ratings)


def _scored(
    run: RunRecord, matched: MatchedRatings, specs: Mapping[str, CounterfactualSpec], profile: ScoreProfile
) -> Iterator[_RatedImageScores]:
    rated = [image for image in matched.outcomes if image.run == run.folder.name]
    for image, judged in zip(rated, run.judged([(it.item, it.sample) for it in rated]), strict=True):
        means = {question: _mean(own.values()) for question, own in matched.ratings[image].items()}
        spec = specs[image.item]
        yield _RatedImageScores(
            image,
            judged.outcome.level,
            judged.outcome.reason,
            plain_tags(run.items[image.item].tags),
            spec,
            matched.ratings[image],
            {question: score for question, score in means.items() if question is not None},
            means.get(None),
            scores_by_question(judged.verdict, spec),
            score_of_verdict(run, judged, profile),
        )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fsum(found) / len(found)


def _weighted_sum(spec: CounterfactualSpec, scores: Mapping[int, float], profile: ScoreProfile) -> float | None:
    """Return the score of an image by the scores of its questions; None unless all of them have one."""
    if len(scores) < len(spec.questions):
        return None
    answers = [(it.dimension, it.weight, scores[number]) for number, it in enumerate(spec.questions, 1)]
    return weighted_score(answers, profile)


def _by_dimension(images: Sequence[_RatedImageScores], confidence: float) -> Iterator[tuple[str, ScoreGap]]:
    """Yield the gap of each dimension that raters scored, over the images that have questions of it."""
    for dimension in DIMENSIONS:
        pairs = []
        for it in images:
            numbers = [
                number for number, question in enumerate(it.spec.questions, 1) if question.dimension == dimension
            ]
            if any(number in it.human for number in numbers):
                human, judge = (
                    _mean(own[number] for number in numbers) if all(number in own for number in numbers) else None
                    for own in (it.human, it.judge)
                )
                pairs.append(ScorePair(judge, human, it.image.item))
        if pairs:
            yield dimension, score_gap(pairs, confidence)
