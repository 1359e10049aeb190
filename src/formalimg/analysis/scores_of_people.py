"""Scores that several people gave to the same images: how far they can be relied on, and what passes by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import NamedTuple

from formalimg.analysis.cases import About, Case, in_order
from formalimg.analysis.consistency_gaps import ScoreGap, ScorePair, score_gap
from formalimg.analysis.panels import Panel, panel_of
from formalimg.analysis.rater_columns import alpha_of_columns
from formalimg.stats import RankAgreement, Reliability, krippendorff_alpha, rank_agreement
from formalimg.suites import PASS_MARK


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
