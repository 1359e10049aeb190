"""Consistency of human and judge scores, and reliability of the raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from formalimg.human_eval.agreement.attention import RaterAttentionSummary
from formalimg.human_eval.agreement.rater_agreement import (
    Case,
    CaseInfo,
    Panel,
    build_panel,
    cronbach_of_ratings,
    natural_sort,
)
from formalimg.human_eval.agreement.score_gap import ScoreGap, ScorePair, score_gap
from formalimg.runs.manifest import Identity
from formalimg.stats.correlation import Correlation
from formalimg.stats.observations import PASS_THRESHOLD, Profile
from formalimg.stats.ranking import RankAgreement, rank_agreement
from formalimg.stats.reliability import Reliability, krippendorff_alpha


class ImageScores(NamedTuple):
    """The scores of an image by the raters and by the judge."""

    run: str  # which image it is
    item: str
    sample: int
    level: int
    tags: tuple[str, ...]  # of its item; the first is the discipline
    human: float | None  # the joint score of the raters; None if they left out questions
    judge: float | None  # the score by the judge; None if unscored
    by_rater: Mapping[str, float]  # the score by each rater who left out no question
    single: Mapping[int | None, Mapping[str, float]]  # all scores, by question (None: the whole image) and by rater


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
    """Gaps between judge scores and human scores, and their correlation within the levels of each run."""

    overall: ScoreGap  # the gaps
    by_level: Mapping[int, ScoreGap]
    by_run: Mapping[str, ScoreGap]
    within_levels: Correlation  # the correlation of the scores, each relative to the mean of its run and level


@dataclass(frozen=True)
class HumanScoreStudy:
    """The scores of raters and of a judge for the same images."""

    suite: str  # the benchmark
    judge: Identity  # the judge
    raters: tuple[str, ...]  # the names of the raters
    scores: int  # how many scores they gave
    images: int  # how many images they scored
    unscored: Mapping[str, int]  # those that the judge left unscored, by reason
    incomplete: int  # those of which raters scored some questions, and not all
    without_image: tuple[str, ...]  # scores for items or samples that their run does not have, one line each
    not_rated: int  # images of the runs without human scores
    # images scored question by question, and summed up with the weights of the judge; None if there are none
    questions: ScoreGaps | None
    by_dimension: Mapping[str, ScoreGap]  # the same for each dimension by itself: the mean of its questions
    whole: ScoreGaps | None  # images scored as a whole; None if there are none
    profile: Profile  # the formula that sums up questions
    confidence: float  # of all intervals
    # image by image, the scores of raters and judge, summed up; images that were scored only as a whole have that
    # score
    pairs: tuple[ImageScores, ...]
    by_tag: Mapping[str, ScoreGap]  # the gaps of these, by the first tag of the items: their discipline
    cronbach: Reliability  # Cronbach's alpha of single scores
    one_rater_per_column: bool  # whether it has one column for each rater; see `CronbachAlpha`
    alpha: Reliability  # Krippendorff's alpha of single scores
    passing: Panel | None  # what passes, with 0.5 or more, by each rater, by the mean of all raters, and by the judge
    ranks: RankAgreement  # for each level, the rank correlation of the runs' mean scores by raters and judge
    attention: RaterAttentionSummary | None = None  # progress and attention checks of the raters; None if unknown
