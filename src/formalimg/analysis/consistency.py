"""Consistency of human and judge scores on CF-World, and reliability of the raters (section 4.3 of the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.attention import RaterAttentionSummary
from formalimg.analysis.counterfactual_scores import (
    ScoreGap,
    ScorePair,
    counterfactual_specs,
    score_gap,
    score_of_verdict,
    scores_by_question,
)
from formalimg.analysis.human_ratings import Rating, load_score_file
from formalimg.analysis.rated_images import MatchedRatings, RatedImage, match_ratings, one_judge
from formalimg.analysis.rater_agreement import Case, CaseInfo, Panel, build_panel, cronbach_of_ratings, natural_sort
from formalimg.analysis.rating_files import RatingFile
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunRecord
from formalimg.stats import (
    Correlation,
    RankAgreement,
    Reliability,
    ScoreProfile,
    krippendorff_alpha,
    rank_agreement,
    weighted_score,
    within_level_correlation,
)
from formalimg.suites import DIMENSIONS, PASS_THRESHOLD, CounterfactualSpec, plain_tags


class ImageScores(NamedTuple):
    """The scores of an image by the raters and by the judge.

    Attributes:
        run, item, sample, level: which image it is.
        tags: of its item; the first is the discipline.
        human: the joint score of the raters; None if they left out questions.
        judge: the score by the judge; None if unscored.
        by_rater: the score by each rater who left out no question.
        single: all scores, by question (None: the whole image) and by rater.
    """

    run: str
    item: str
    sample: int
    level: int
    tags: tuple[str, ...]
    human: float | None
    judge: float | None
    by_rater: Mapping[str, float]
    single: Mapping[int | None, Mapping[str, float]]


class RaterScoreSummary(NamedTuple):
    """Reliability, pass decisions and ranks by the scores of several raters; see `ScoresStudied`."""

    pairs: tuple[ImageScores, ...]
    by_tag: Mapping[str, ScoreGap]
    cronbach: Reliability
    one_rater_per_column: bool
    alpha: Reliability
    passing: Panel | None
    ranks: RankAgreement


def summarize_rater_scores(images: Sequence[ImageScores], confidence: float) -> RaterScoreSummary:
    """Summarize the scores of several raters."""
    units = [(it, by_rater) for it in images for by_rater in it.single.values()]
    items = [it.item for it, _ in units]
    scores = [[by_rater[rater] for rater in sorted(by_rater)] for _, by_rater in units]
    return RaterScoreSummary(
        tuple(images),
        _by_tag(images, confidence),
        *cronbach_of_ratings([by_rater for _, by_rater in units], items=items, confidence=confidence),
        krippendorff_alpha(scores, "interval", items=items, confidence=confidence),
        _passing(images, confidence),
        _ranks(images, confidence),
    )


def _by_tag(images: Sequence[ImageScores], confidence: float) -> dict[str, ScoreGap]:
    tagged: dict[str, list[ScorePair]] = {}
    for it in images:
        if it.tags:
            tagged.setdefault(it.tags[0], []).append(ScorePair(it.judge, it.human, it.item))
    return {tag: score_gap(pairs, confidence) for tag, pairs in sorted(tagged.items())}


def _passing(images: Sequence[ImageScores], confidence: float) -> Panel | None:
    cases = {Case(it.run, it.item, it.sample, None): it for it in images if it.by_rater}
    if not cases:
        return None
    raters = natural_sort(rater for it in cases.values() for rater in it.by_rater)
    return build_panel(
        {
            rater: {case: _passes(it.by_rater[rater]) for case, it in cases.items() if rater in it.by_rater}
            for rater in raters
        },
        {case: _passes(it.human) for case, it in cases.items()},
        {case: _passes(it.judge) for case, it in cases.items()},
        {case: CaseInfo(it.level) for case, it in cases.items()},
        confidence,
    )


def _passes(score: float | None) -> bool | None:
    return None if score is None else round(score, 9) >= PASS_THRESHOLD  # as the judge of scores rounds


def _ranks(images: Sequence[ImageScores], confidence: float) -> RankAgreement:
    """Return the rank correlation of the runs' mean scores by raters and judge, over the images that both scored."""
    both: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for it in images:
        here = both.setdefault(it.level, {}).setdefault(it.run, [])
        if it.human is not None and it.judge is not None:
            here.append((it.human, it.judge))
    means = {
        level: [
            # Rounded, so that means which differ by rounding alone share their rank.
            (round(fsum(one for one, _ in pairs) / len(pairs), 9), round(fsum(it for _, it in pairs) / len(pairs), 9))
            for pairs in by_run.values()
            if pairs
        ]
        for level, by_run in both.items()
    }
    return rank_agreement(means, confidence)


class ScoreGaps(NamedTuple):
    """Gaps between judge scores and human scores, and their correlation within the levels of each run.

    Attributes:
        overall, by_level, by_run: the gaps.
        within_levels: the correlation of the scores, each relative to the mean of its run and level.
    """

    overall: ScoreGap
    by_level: Mapping[int, ScoreGap]
    by_run: Mapping[str, ScoreGap]
    within_levels: Correlation


@dataclass(frozen=True)
class HumanScoreStudy:
    """The scores of raters and of a judge for the same images.

    Attributes:
        suite: the benchmark.
        judge: the judge.
        raters: the names of the raters.
        scores: how many scores they gave.
        images: how many images they scored.
        unscored: those that the judge left unscored, by reason.
        incomplete: those of which raters scored some questions, and not all.
        without_image: scores for items or samples that their run does not have, one line each.
        not_rated: images of the runs without human scores.
        questions: images scored question by question, and summed up with the weights of the judge; None if there
            are none.
        by_dimension: the same for each dimension by itself: the mean of its questions.
        whole: images scored as a whole; None if there are none.
        profile: the formula that sums up questions.
        confidence: of all intervals.
        pairs: image by image, the scores of raters and judge, summed up; images that were scored only as a whole have
            that score.
        by_tag: the gaps of these, by the first tag of the items: their discipline.
        cronbach: Cronbach's alpha of single scores.
        one_rater_per_column: whether it has one column for each rater; see `CronbachAlpha`.
        alpha: Krippendorff's alpha of single scores.
        passing: what passes, with 0.5 or more, by each rater, by the mean of all raters, and by the judge.
        ranks: for each level, the rank correlation of the runs' mean scores by raters and judge.
        attention: progress and attention checks of the raters; None if unknown.
    """

    suite: str
    judge: Identity
    raters: tuple[str, ...]
    scores: int
    images: int
    unscored: Mapping[str, int]
    incomplete: int
    without_image: tuple[str, ...]
    not_rated: int
    questions: ScoreGaps | None
    by_dimension: Mapping[str, ScoreGap]
    whole: ScoreGaps | None
    profile: ScoreProfile
    confidence: float
    pairs: tuple[ImageScores, ...]
    by_tag: Mapping[str, ScoreGap]
    cronbach: Reliability
    one_rater_per_column: bool
    alpha: Reliability
    passing: Panel | None
    ranks: RankAgreement
    attention: RaterAttentionSummary | None = None


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

    Args:
        scores: the scores, as `read_human_scores` returns them, or their file.
        runs: runs of one suite, each opened with the judge to compare with. Scores name them by folder or by model.
        profile: `official-code` gives each question its full weight.
        confidence: of all intervals.

    Raises:
        RatingsError: if scores do not fit the runs; all of them are named.
        FormalimgError: if the runs are of several suites or judges, or of a suite without weighted questions.
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
