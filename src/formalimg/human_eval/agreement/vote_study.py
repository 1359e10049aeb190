"""Studies of votes and Likert ratings: agreement between raters and judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import MatchedVotes, find_run, match_votes
from formalimg.human_eval.agreement.rater_agreement import (
    MAJORITY,
    Answers,
    Case,
    Panel,
    build_panel,
    cronbach_of_ratings,
)
from formalimg.human_eval.agreement.rating_files import LikertRating, RatingFile, Vote, load_likert_file, load_vote_file
from formalimg.human_eval.agreement.study_tables import RaterAttentionSummary
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import ComplianceRule, Consistency, complies, consistency, majority
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import Interval, Profile
from formalimg.stats.precision_recall import Proportion
from formalimg.stats.ranking import RankCorrelations, rank_correlations
from formalimg.stats.reliability import Reliability, krippendorff_alpha

_LIKERT = range(1, 6)


class LikertMean(NamedTuple):
    """The mean Likert rating over the images of a run."""

    run: str  # the run
    level: int | None  # the level; None for all levels together
    mean: float | None  # the mean over images of the mean of their ratings; None if nothing was rated
    # its normal interval, clustered by item, clipped to 1 and 5; None where the spread is unknown
    interval: Interval | None
    ratings: int  # how many ratings went in


class LikertImage(NamedTuple):
    """The Likert ratings of an image."""

    run: str  # which image it is
    item: str
    sample: int
    level: int
    points: tuple[int, ...]  # the ratings so far, in the order of the raters
    expected_ratings: int  # how many ratings it is to get
    mean: float | None  # of the points; None if there are none
    # whether it passes by the rule of the study; None as long as ratings are missing, and for a tie
    passed: bool | None
    judge: bool | None  # whether it passes by the judge; None if unscored
    score: float | None = None  # the score that the judge gives, 0 to 1; None if unscored


@dataclass(frozen=True)
class LikertStudy:
    """Likert ratings of images, and their reliability."""

    cronbach: Reliability  # Cronbach's alpha, as FormalImg reports it
    one_rater_per_column: bool  # whether it has one column for each rater; see `CronbachAlpha`
    alpha: Reliability  # Krippendorff's alpha, for ordinal ratings
    means: tuple[LikertMean, ...]  # run by run, each level and then all of them
    histogram: Mapping[int, int]  # how often each rating was given
    images: tuple[LikertImage, ...]  # all images that were to be rated
    # the rank correlation of the judge's scores with the mean ratings, image by image; None if not computed
    ranks: RankCorrelations | None = None
    # the same with images that the judge left unscored as 0, where published code counts them so, and there are any;
    # else None
    ranks_of_all: RankCorrelations | None = None
    rule: ComplianceRule = "majority"  # how the ratings of an image become a label
    ties: int = 0  # images whose ratings are all there and decide nothing


class Divergence(NamedTuple):
    """How often a rater's rating of a whole image differs from the answers to its questions."""

    agreement: Consistency  # how often the two agree; a case is a rater and an image
    yes_then_no: Proportion  # the share of cases with yes for the whole, and no to a question
    no_then_yes: Proportion  # the share of cases with no for the whole, and yes to all questions


@dataclass(frozen=True)
class VoteStudy:
    """Votes or Likert ratings of images, compared between raters and with the judge."""

    judges: Mapping[str, Identity | None]  # the judge of each run; None where there is none
    suite: str  # the benchmark
    raters: tuple[str, ...]  # the names of the raters
    votes: int  # how many votes they gave
    without_votes: tuple[str, ...]  # runs without votes
    whole: Panel | None  # their votes on whole images (the first step); None if there are none
    # whether all questions of an image are answered with yes (the second step), by one rater, or by the majority on
    # each question. One no decides; without it, all answers must be there
    all_questions: Panel | None
    questions: Panel | None  # their votes on single questions; None if there are none
    divergence: Divergence | None  # between the two steps; None if no rater took both on any image
    divergence_by_level: Mapping[int, Divergence]
    confidence: float  # of all intervals
    # the same for each rater, level by level
    divergence_by_rater: Mapping[str, Mapping[int, Divergence]] = field(default_factory=dict)
    # their Likert ratings; then `whole` compares what passes by these. None for votes
    points: LikertStudy | None = None
    attention: RaterAttentionSummary | None = None  # progress and attention checks of the raters; None if unknown
    unscored: Mapping[str, int] = field(default_factory=dict)  # rated images that the judge left unscored, by reason
    fails_missing: bool = False  # whether these count as failed

    @property
    def together(self) -> str:
        """The name of the joint rating: `majority`, or the rule by which Likert ratings are combined."""
        return MAJORITY if self.points is None else self.points.rule


def study_votes(
    votes: Sequence[Vote] | str | Path, runs: Sequence[StoredRun], *, confidence: float = 0.95
) -> VoteStudy:
    """Compare votes between raters and with the judges of the runs.

    Args:
        votes: the votes, as `read_votes` returns them; or their file, whose mistakes are then listed together with
            those found by comparison with the runs.
        runs: runs of one suite, each opened with the judge to compare with. Votes name them by folder or by model.
        confidence: of all intervals.
    """
    file = load_vote_file(votes) if isinstance(votes, str | Path) else RatingFile("", tuple(votes))
    matched = match_votes(file, runs)
    whole = _select_votes(matched.votes, whole=True)
    questions = _select_votes(matched.votes, whole=False)
    implied = {rater: _combine_questions(answers, matched.questions) for rater, answers in questions.items()}
    by_question = _find_majorities(questions)

    def panel(raters: Mapping[str, Answers], joint: Answers) -> Panel | None:
        return build_panel(raters, joint, matched.judge, matched.info, confidence) if joint else None

    def divergence(raters: Iterable[str], level: int | None = None) -> Divergence | None:
        steps = [
            (image, whole.get(rater, {}).get(image), implied.get(rater, {}).get(image))
            for rater in raters
            for image in {**whole.get(rater, {}), **implied.get(rater, {})}
            if level in (None, matched.info[image].level)
        ]
        return _measure_divergence(steps, confidence)

    levels = sorted({info.level for info in matched.info.values()})

    def by_level(raters: Iterable[str]) -> dict[int, Divergence]:
        parts = {level: divergence(raters, level) for level in levels}
        return {level: part for level, part in parts.items() if part is not None}

    voted = {case.run for answers in matched.votes.values() for case in answers}
    return VoteStudy(
        matched.judges,
        matched.suite,
        tuple(matched.votes),
        len(file.rows),
        tuple(run for run in matched.judges if run not in voted),
        panel(whole, _find_majorities(whole)),
        panel(implied, _combine_questions(by_question, matched.questions)),
        panel(questions, by_question),
        divergence(tuple(matched.votes)),
        by_level(tuple(matched.votes)),
        confidence,
        {rater: parts for rater in matched.votes if (parts := by_level([rater]))},
        unscored=matched.unscored,
    )


def _select_votes(votes: Mapping[str, Answers], *, whole: bool) -> dict[str, Answers]:
    selected = {
        rater: {case: answer for case, answer in answers.items() if (case.question is None) == whole}
        for rater, answers in votes.items()
    }
    return {rater: answers for rater, answers in selected.items() if answers}


def _find_majorities(votes: Mapping[str, Answers]) -> dict[Case, bool | None]:
    cases = dict.fromkeys(case for answers in votes.values() for case in answers)
    return {
        case: majority(vote for answers in votes.values() if (vote := answers.get(case)) is not None) for case in cases
    }


def _combine_questions(answers: Answers, questions: Mapping[Case, tuple[Case, ...]]) -> dict[Case, bool | None]:
    """Return whether all questions about each image are answered yes; None if answers are missing and none is no."""
    combined: dict[Case, bool | None] = {}
    for image in dict.fromkeys(case._replace(question=None) for case in answers):
        values = [answers.get(question) for question in questions[image]]
        combined[image] = False if False in values else None if None in values else True
    return combined


def _measure_divergence(steps: Sequence[tuple[Case, bool | None, bool | None]], confidence: float) -> Divergence | None:
    agreement = consistency(
        [(whole, implied) for _, whole, implied in steps],
        items=[case.belongs_to for case, *_ in steps],
        confidence=confidence,
    )
    if not agreement.n:
        return None
    complete = [(case, (whole, implied)) for case, whole, implied in steps if whole is not None and implied is not None]

    def share(pattern: tuple[bool, bool]) -> Proportion:
        matches = consistency(
            [(answers == pattern, True) for _, answers in complete],
            items=[case.belongs_to for case, _ in complete],
            confidence=confidence,
        )
        return Proportion(matches.equal, matches.n, matches.value, matches.interval)

    return Divergence(agreement, share((True, False)), share((False, True)))


def study_likert(
    ratings: Sequence[LikertRating] | str | Path,
    runs: Sequence[StoredRun],
    *,
    rule: ComplianceRule = "majority",
    profile: Profile = "paper",
    confidence: float = 0.95,
) -> VoteStudy:
    """Compare Likert ratings between raters and with the judges of the runs."""
    file = load_likert_file(ratings) if isinstance(ratings, str | Path) else RatingFile("", tuple(ratings))
    matched = match_votes(RatingFile(file.file, tuple(map(_convert_to_vote, file.rows)), file.issues), runs)
    zeroes = get_suite(matched.suite).code_zeroes_missing
    fails_missing = zeroes and profile == "official-code"
    if fails_missing:
        matched = replace(matched, judge={case: bool(passed) for case, passed in matched.judge.items()})
    planned, expected = _group_ratings(file.rows, runs, matched)
    rated = {image: by_rater for image, by_rater in planned.items() if by_rater}
    if not rated:
        raise FormalimgError("no rater has rated an image yet: collect ratings first")
    yes = {
        rater: {case: bool(complies([by_rater[rater]])) for case, by_rater in rated.items() if rater in by_rater}
        for rater in matched.votes
    }
    raters = {rater: answers for rater, answers in yes.items() if answers}
    passed = {
        case: complies(by_rater.values(), rule) if len(by_rater) == expected[case] else None
        for case, by_rater in rated.items()
    }
    images = tuple(
        LikertImage(
            *case[:3],
            matched.info[case].level,
            tuple(by_rater.values()),
            expected[case],
            fsum(by_rater.values()) / len(by_rater) if by_rater else None,
            passed.get(case),
            matched.judge[case],
            matched.scores[case],
        )
        for case, by_rater in sorted(planned.items())
    )
    items = [case.belongs_to for case in rated]
    counts = Counter(rating for by_rater in rated.values() for rating in by_rater.values())
    points = LikertStudy(
        *cronbach_of_ratings(list(rated.values()), items=items, confidence=confidence),
        krippendorff_alpha(
            [list(by_rater.values()) for by_rater in rated.values()], "ordinal", items=items, confidence=confidence
        ),
        _mean_of_runs(images, confidence),
        {rating: counts[rating] for rating in _LIKERT},
        images,
        _rank_images(images, confidence),
        _rank_images([image._replace(score=image.score or 0.0) for image in images], confidence)
        if zeroes and any(image.score is None for image in images)
        else None,
        rule,
        sum(image.passed is None and 0 < len(image.points) == image.expected_ratings for image in images),
    )
    return VoteStudy(
        matched.judges,
        matched.suite,
        tuple(raters),
        counts.total(),
        tuple(run for run in matched.judges if run not in {case.run for case in rated}),
        build_panel(raters, passed, matched.judge, matched.info, confidence),
        None,
        None,
        None,
        {},
        confidence,
        unscored=matched.unscored,
        fails_missing=fails_missing,
        points=points,
    )


def _rank_images(images: Sequence[LikertImage], confidence: float) -> RankCorrelations:
    pairs = [(image.score, image.mean) for image in images]
    return rank_correlations(pairs, items=[image.item for image in images], confidence=confidence)


def _convert_to_vote(rating: LikertRating) -> Vote:
    if rating.points is not None and (isinstance(rating.points, bool) or rating.points not in _LIKERT):
        raise FormalimgError(f"{rating.rater} gives {rating.points!r} points to item {rating.item}: give 1 to 5")
    yes = bool(complies([rating.points]))
    return Vote(rating.model, rating.item, rating.sample, None, rating.rater, yes, rating.line)


def _group_ratings(
    rows: Sequence[LikertRating], runs: Sequence[StoredRun], matched: MatchedVotes
) -> tuple[dict[Case, dict[str, int]], Mapping[Case, int]]:
    """Return the ratings of each image in the order of rater names, and the expected number of ratings per image."""
    by_case = {}
    for row in rows:
        run = find_run(row.model, runs).folder.name
        by_case[row.rater, Case(run, row.item, row.sample, None)] = row
    ratings: dict[Case, dict[str, int]] = {}
    expected: Counter[Case] = Counter()
    for rater, answers in matched.votes.items():
        for case in answers:
            rating = by_case[rater, case]
            expected[case] += not rating.cannot_tell
            by_rater = ratings.setdefault(case, {})
            if rating.points is not None:
                by_rater[rater] = rating.points
    return ratings, expected


def _mean_of_runs(images: Sequence[LikertImage], confidence: float) -> tuple[LikertMean, ...]:
    means = []
    for run in sorted({image.run for image in images}):
        of_run = [image for image in images if image.run == run]
        for level in [*sorted({image.level for image in of_run}), None]:
            rated = [image for image in of_run if level in (None, image.level) and image.mean is not None]
            values = [image.mean for image in rated if image.mean is not None]
            interval = mean_interval(values, confidence, items=[image.item for image in rated])
            if interval is not None:
                interval = Interval(max(1.0, interval.low), min(5.0, interval.high))
            mean = fsum(values) / len(values) if values else None
            means.append(LikertMean(run, level, mean, interval, sum(len(image.points) for image in rated)))
    return tuple(means)
