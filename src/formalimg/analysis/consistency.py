"""Scores that several people gave to the same images: how far they can be relied on, and what passes by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.attention import Conduct
from formalimg.analysis.counterfactual_scores import (
    ScoreGap,
    ScorePair,
    counterfactual_specs,
    score_gap,
    score_of_verdict,
    scores_by_question,
)
from formalimg.analysis.human_ratings import Rating, sheet_of_scores
from formalimg.analysis.rated_images import RatedImage, RatedImages, one_judge, place
from formalimg.analysis.rater_agreement import About, Case, Panel, alpha_of_columns, in_order, panel_of
from formalimg.analysis.rating_files import Sheet
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunRecord
from formalimg.stats import RankAgreement, Reliability, ScoreProfile, krippendorff_alpha, rank_agreement, weighted_score
from formalimg.suites import DIMENSIONS, PASS_MARK, CounterfactualSpec


class ImageScores(NamedTuple):
    """What people and the judge gave to an image.

    Attributes:
        run, item, sample, level: which image it is.
        tags: of its item; the first is the discipline.
        people: the score by all of them; None if they left out questions.
        judge: the score by the judge; None if unscored.
        by_rater: the score by each person who left out no question.
        single: all scores, by question (None: the whole image) and by person.
    """

    run: str
    item: str
    sample: int
    level: int
    tags: tuple[str, ...]
    people: float | None
    judge: float | None
    by_rater: Mapping[str, float]
    single: Mapping[int | None, Mapping[str, float]]


class ScoredTogether(NamedTuple):
    """What scores of several people amount to; see `ScoresStudied`."""

    pairs: tuple[ImageScores, ...]
    by_tag: Mapping[str, ScoreGap]
    cronbach: Reliability
    one_rater_per_column: bool
    alpha: Reliability
    passing: Panel | None
    ranks: RankAgreement


def scored_together(images: Sequence[ImageScores], confidence: float) -> ScoredTogether:
    """What scores of several people amount to."""
    units = [(it, said) for it in images for said in it.single.values()]
    items = [it.item for it, _ in units]
    scores = [[said[rater] for rater in sorted(said)] for _, said in units]
    return ScoredTogether(
        tuple(images),
        _by_tag(images, confidence),
        *alpha_of_columns([said for _, said in units], items=items, confidence=confidence),
        krippendorff_alpha(scores, "interval", items=items, confidence=confidence),
        _passing(images, confidence),
        _ranks(images, confidence),
    )


def _by_tag(images: Sequence[ImageScores], confidence: float) -> dict[str, ScoreGap]:
    tagged: dict[str, list[ScorePair]] = {}
    for it in images:
        if it.tags:
            tagged.setdefault(it.tags[0], []).append(ScorePair(it.judge, it.people, it.item))
    return {tag: score_gap(pairs, confidence) for tag, pairs in sorted(tagged.items())}


def _passing(images: Sequence[ImageScores], confidence: float) -> Panel | None:
    cases = {Case(it.run, it.item, it.sample, None): it for it in images if it.by_rater}
    if not cases:
        return None
    raters = in_order(rater for it in cases.values() for rater in it.by_rater)
    return panel_of(
        {
            rater: {case: _passes(it.by_rater[rater]) for case, it in cases.items() if rater in it.by_rater}
            for rater in raters
        },
        {case: _passes(it.people) for case, it in cases.items()},
        {case: _passes(it.judge) for case, it in cases.items()},
        {case: About(it.level) for case, it in cases.items()},
        confidence,
    )


def _passes(score: float | None) -> bool | None:
    return None if score is None else round(score, 9) >= PASS_MARK  # as the judge of scores rounds


def _ranks(images: Sequence[ImageScores], confidence: float) -> RankAgreement:
    """The mean scores of runs by people and by the judge, over the images that both scored."""
    both: dict[int, dict[str, list[tuple[float, float]]]] = {}
    for it in images:
        here = both.setdefault(it.level, {}).setdefault(it.run, [])
        if it.people is not None and it.judge is not None:
            here.append((it.people, it.judge))
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


class Gaps(NamedTuple):
    """How far the scores lie apart: in all, by level, and by run."""

    overall: ScoreGap
    by_level: Mapping[int, ScoreGap]
    by_run: Mapping[str, ScoreGap]


@dataclass(frozen=True)
class ScoresStudied:
    """The scores of people and of a judge for the same images.

    Attributes:
        suite: the benchmark.
        judge: who judged.
        raters: the people.
        scores: how many scores they gave.
        images: how many images they scored.
        unscored: those that the judge left unscored, by reason.
        incomplete: those of which people scored some questions, and not all.
        without_image: scores for items or samples that their run does not have, one line each.
        not_rated: images of the runs that nobody scored.
        questions: images scored question by question, and summed up with the weights of the judge; None if there
            are none.
        by_dimension: the same for each dimension by itself: the mean of its questions.
        whole: images scored as a whole; None if there are none.
        profile: whose formula sums up questions.
        confidence: of all intervals.
        pairs: image by image, what people and the judge gave in sum; images that were scored only as a whole
            have that score.
        by_tag: how far these lie apart, by the first tag of the items: their discipline.
        cronbach: Cronbach's alpha of single scores.
        one_rater_per_column: whether it has one column for each person; see `ColumnsAlpha`.
        alpha: Krippendorff's alpha of single scores.
        passing: what passes, with 0.5 or more, by each person, by the mean of all of them, and by the judge.
        ranks: for each level, how alike people and judge rank the runs by their mean scores.
        conduct: how the raters did, as far as that is known.
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
    questions: Gaps | None
    by_dimension: Mapping[str, ScoreGap]
    whole: Gaps | None
    profile: ScoreProfile
    confidence: float
    pairs: tuple[ImageScores, ...]
    by_tag: Mapping[str, ScoreGap]
    cronbach: Reliability
    one_rater_per_column: bool
    alpha: Reliability
    passing: Panel | None
    ranks: RankAgreement
    conduct: Conduct | None = None


@dataclass(frozen=True)
class _Scored:
    """An image with what people and the judge gave for each question, and in all."""

    image: RatedImage
    level: int
    reason: str
    tags: tuple[str, ...]
    spec: CounterfactualSpec
    said: Mapping[int | None, Mapping[str, float]]
    people: Mapping[int, float]
    people_whole: float | None
    judge: Mapping[int, float]
    judge_score: float | None


def study_scores(
    scores: Sequence[Rating] | str | Path,
    runs: Sequence[RunRecord],
    *,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
) -> ScoresStudied:
    """Compares the scores that people gave with those of the judge of the runs.

    What several people give for one question is averaged; the questions of an image are then summed up as the judge's
    are, before any gate. An image of which a question has no score of people has none in sum.

    Args:
        scores: the scores, as `read_human_scores` gives them, or the file that they are in.
        runs: runs of one suite, each opened with the judge to compare with. Scores name them by folder or by model.
        profile: `official-code` gives each question its full weight.
        confidence: of all intervals.

    Raises:
        RatingsError: if scores make no sense beside the runs; all of them are named.
        FormalimgError: if the runs are of several suites or judges, or of a suite without weighted questions.
    """
    judge = one_judge(runs)
    suites = sorted({run.manifest.suite for run in runs})
    if len(suites) > 1:
        raise FormalimgError(f"scores are on runs of one suite, not of {', '.join(suites)}: name such runs")
    specs = {run.folder.name: counterfactual_specs(run) for run in runs}

    def refusal(run: RunRecord, score: Rating) -> str:
        asked = len(specs[run.folder.name][score.item].questions)
        if score.question is None or score.question <= asked:
            return ""
        return f"there is no question {score.question}: item {score.item} of {run.folder.name} has {asked}, from 1"

    levels = frozenset(item.level for run in runs for item in run.items.values())
    sheet = sheet_of_scores(scores) if isinstance(scores, str | Path) else Sheet("", tuple(scores))
    placed = place(sheet, runs, refusal, levels=levels)
    images = [scored for run in runs for scored in _scored(run, placed, specs[run.folder.name], profile)]
    asked = [scored for scored in images if scored.people]
    whole = [scored for scored in images if scored.people_whole is not None]

    def gaps(chosen: Sequence[tuple[_Scored, float | None]]) -> Gaps | None:
        if not chosen:
            return None
        pairs = [(it, _pair(it, people, it.judge_score)) for it, people in chosen]
        at, of = sorted({it.level for it, _ in pairs}), sorted({it.image.run for it, _ in pairs})
        return Gaps(
            score_gap([pair for _, pair in pairs], confidence),
            {level: score_gap([pair for it, pair in pairs if it.level == level], confidence) for level in at},
            {run: score_gap([pair for it, pair in pairs if it.image.run == run], confidence) for run in of},
        )

    together = scored_together([_together(it, profile) for it in images], confidence)
    return ScoresStudied(
        suites[0],
        judge,
        placed.raters,
        len(sheet.rows),
        len(images),
        dict(sorted(Counter(it.reason for it in images if it.judge_score is None).items())),
        sum(_in_sum(it.spec, it.people, profile) is None for it in asked),
        placed.without_image,
        placed.not_rated,
        gaps([(it, _in_sum(it.spec, it.people, profile)) for it in asked]),
        dict(_by_dimension(asked, confidence)),
        gaps([(it, it.people_whole) for it in whole]),
        profile,
        confidence,
        *together,
    )


def _together(it: _Scored, profile: ScoreProfile) -> ImageScores:
    """An image with what people, each of them, and the judge gave in sum; or as a whole, if that is all there is."""
    people = _in_sum(it.spec, it.people, profile) if it.people else it.people_whole
    by_rater = {}
    for rater in in_order(rater for by in it.said.values() for rater in by):
        given = {number: by[rater] for number, by in it.said.items() if number is not None and rater in by}
        score = _in_sum(it.spec, given, profile) if it.people else it.said[None].get(rater)
        if score is not None:
            by_rater[rater] = score
    return ImageScores(*it.image, it.level, it.tags, people, it.judge_score, by_rater, it.said)


def _scored(
    run: RunRecord, placed: RatedImages, specs: Mapping[str, CounterfactualSpec], profile: ScoreProfile
) -> Iterator[_Scored]:
    rated = [image for image in placed.outcomes if image.run == run.folder.name]
    for image, judged in zip(rated, run.judged([(it.item, it.sample) for it in rated]), strict=True):
        said = {question: _mean(by.values()) for question, by in placed.said[image].items()}
        spec = specs[image.item]
        yield _Scored(
            image,
            judged.outcome.level,
            judged.outcome.reason,
            run.items[image.item].tags,
            spec,
            placed.said[image],
            {question: score for question, score in said.items() if question is not None},
            said.get(None),
            scores_by_question(judged.verdict, spec),
            score_of_verdict(run, judged, profile),
        )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fsum(found) / len(found)


def _in_sum(spec: CounterfactualSpec, given: Mapping[int, float], profile: ScoreProfile) -> float | None:
    """The score of an image by the scores of its questions; None unless all of them have one."""
    if len(given) < len(spec.questions):
        return None
    answers = [(it.dimension, it.weight, given[number]) for number, it in enumerate(spec.questions, 1)]
    return weighted_score(answers, profile)


def _pair(scored: _Scored, people: float | None, judge: float | None) -> ScorePair:
    return ScorePair(judge, people, scored.image.item)


def _by_dimension(images: Sequence[_Scored], confidence: float) -> Iterator[tuple[str, ScoreGap]]:
    """Each dimension that people scored, over the images that are asked about it."""
    for dimension in DIMENSIONS:
        pairs = []
        for it in images:
            numbers = [number for number, asked in enumerate(it.spec.questions, 1) if asked.dimension == dimension]
            if any(number in it.people for number in numbers):
                people, judge = (
                    _mean(given[number] for number in numbers) if all(number in given for number in numbers) else None
                    for given in (it.people, it.judge)
                )
                pairs.append(_pair(it, people, judge))
        if pairs:
            yield dimension, score_gap(pairs, confidence)
