"""Studies of votes and Likert ratings: agreement of raters and judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.attention import RaterAttentionSummary
from formalimg.human_eval.agreement.human_ratings import LikertRating, Vote, load_likert_file, load_vote_file
from formalimg.human_eval.agreement.rated_images import MatchedVotes, find_run, match_votes
from formalimg.human_eval.agreement.rater_agreement import (
    MAJORITY,
    Answers,
    Case,
    Panel,
    build_panel,
    cronbach_of_ratings,
)
from formalimg.human_eval.agreement.rating_files import RatingFile
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
    """The mean Likert rating of the images of a run."""

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
    """Likert ratings of images, and how reliable they are."""

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
    """How often raters rate an image as a whole otherwise than their answers to its questions imply."""

    agreement: Consistency  # how often the two agree; a case is a rater and an image
    yes_then_no: Proportion  # the share of cases with yes for the whole, and no to a question
    no_then_yes: Proportion  # the share of cases with no for the whole, and yes to all questions


@dataclass(frozen=True)
class VoteStudy:
    """Votes or Likert ratings of images, compared between raters and with a judge."""

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
        """The name of the joint rating: majority or, for Likert ratings by that rule, mean."""
        return MAJORITY if self.points is None else self.points.rule


def study_votes(
    votes: Sequence[Vote] | str | Path, runs: Sequence[StoredRun], *, confidence: float = 0.95
) -> VoteStudy:
    """Compare votes between raters and with the judges of the runs.

    Args:
        votes: the votes, as `read_votes` returns them; or their file, whose mistakes are then listed together with
            those that only the runs bring to light.
        runs: runs of one suite, each opened with the judge to compare with. Votes name them by folder or by model.
        confidence: of all intervals.

    Raises:
        VotesError: if votes are invalid, or are for images or questions that the runs do not have; all of them are
            named.
        FormalimgError: if the runs are of several suites, or share a name.
    """
    file = load_vote_file(votes) if isinstance(votes, str | Path) else RatingFile("", tuple(votes))
    matched = match_votes(file, runs)
    whole = _votes_on(matched.votes, whole=True)
    questions = _votes_on(matched.votes, whole=False)
    implied = {rater: _all_questions(answers, matched.questions) for rater, answers in questions.items()}
    by_question = _majorities(questions)

    def panel(raters: Mapping[str, Answers], joint: Answers) -> Panel | None:
        return build_panel(raters, joint, matched.judge, matched.info, confidence) if joint else None

    def divergence(level: int | None = None, raters: Iterable[str] = tuple(matched.votes)) -> Divergence | None:
        both = [
            (image, whole.get(rater, {}).get(image), implied.get(rater, {}).get(image))
            for rater in raters
            for image in {**whole.get(rater, {}), **implied.get(rater, {})}
            if level in (None, matched.info[image].level)
        ]
        return _divergence(both, confidence)

    def by_level(raters: Iterable[str] = tuple(matched.votes)) -> dict[int, Divergence]:
        levels = sorted({info.level for info in matched.info.values()})
        return {level: found for level in levels if (found := divergence(level, raters)) is not None}

    voted = {case.run for answers in matched.votes.values() for case in answers}
    return VoteStudy(
        matched.judges,
        matched.suite,
        tuple(matched.votes),
        len(file.rows),
        tuple(run for run in matched.judges if run not in voted),
        panel(whole, _majorities(whole)),
        panel(implied, _all_questions(by_question, matched.questions)),
        panel(questions, by_question),
        divergence(),
        by_level(),
        confidence,
        {rater: diverging for rater in matched.votes if (diverging := by_level([rater]))},
        unscored=matched.unscored,
    )


def _votes_on(votes: Mapping[str, Answers], *, whole: bool) -> dict[str, Answers]:
    """Return the votes on whole images, or those on questions, of all raters who have such votes."""
    found = {
        rater: {case: answer for case, answer in answers.items() if (case.question is None) == whole}
        for rater, answers in votes.items()
    }
    return {rater: answers for rater, answers in found.items() if answers}


def _majorities(votes: Mapping[str, Answers]) -> dict[Case, bool | None]:
    cases = dict.fromkeys(case for answers in votes.values() for case in answers)
    by_case = {case: [answers[case] for answers in votes.values() if case in answers] for case in cases}
    return {case: majority(vote for vote in own if vote is not None) for case, own in by_case.items()}


def _all_questions(answers: Answers, questions: Mapping[Case, tuple[Case, ...]]) -> dict[Case, bool | None]:
    """Return whether all questions about an image are answered with yes; one no decides, else none may be open."""
    found: dict[Case, bool | None] = {}
    for image in dict.fromkeys(case._replace(question=None) for case in answers):
        own = [answers.get(question) for question in questions[image]]
        found[image] = False if False in own else None if None in own else True
    return found


def _divergence(both: Sequence[tuple[Case, bool | None, bool | None]], confidence: float) -> Divergence | None:
    agreement = consistency(
        [(first, second) for _, first, second in both],
        items=[case.belongs_to for case, *_ in both],
        confidence=confidence,
    )
    if not agreement.n:
        return None
    known = [(case, (first, second)) for case, first, second in both if first is not None and second is not None]

    def share(of: tuple[bool, bool]) -> Proportion:
        found = consistency(
            [(steps == of, True) for _, steps in known],
            items=[case.belongs_to for case, _ in known],
            confidence=confidence,
        )
        return Proportion(found.equal, found.n, found.value, found.interval)

    return Divergence(agreement, share((True, False)), share((False, True)))


def study_likert(
    ratings: Sequence[LikertRating] | str | Path,
    runs: Sequence[StoredRun],
    *,
    rule: ComplianceRule = "majority",
    profile: Profile = "paper",
    confidence: float = 0.95,
) -> VoteStudy:
    """Compare Likert ratings between raters and with the judges of the runs.

    An image is decided once no rating is pending. One rater says yes with 4 or 5.
    """
    file = load_likert_file(ratings) if isinstance(ratings, str | Path) else RatingFile("", tuple(ratings))
    matched = match_votes(RatingFile(file.file, tuple(map(_as_vote, file.rows)), file.issues), runs)
    zeroes = suite_of(matched.suite).code_zeroes_missing
    fails_missing = zeroes and profile == "official-code"
    if fails_missing:
        matched = replace(matched, judge={case: bool(passed) for case, passed in matched.judge.items()})
    planned, expected = _by_image(file.rows, runs, matched)
    rated = {image: by_rater for image, by_rater in planned.items() if by_rater}
    if not rated:
        raise FormalimgError("nobody has rated an image yet: let raters answer first")
    yes = {
        rater: {case: bool(complies([own[rater]])) for case, own in rated.items() if rater in own}
        for rater in matched.votes
    }
    raters = {rater: answers for rater, answers in yes.items() if answers}
    passed = {case: complies(own.values(), rule) if len(own) == expected[case] else None for case, own in rated.items()}
    images = tuple(
        LikertImage(
            *case[:3],
            matched.info[case].level,
            tuple(own.values()),
            expected[case],
            fsum(own.values()) / len(own) if own else None,
            passed.get(case),
            matched.judge[case],
            matched.scores[case],
        )
        for case, own in sorted(planned.items())
    )
    items = [case.belongs_to for case in rated]
    counts = Counter(rating for own in rated.values() for rating in own.values())
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
        points=LikertStudy(
            *cronbach_of_ratings(list(rated.values()), items=items, confidence=confidence),
            krippendorff_alpha(
                [list(own.values()) for own in rated.values()], "ordinal", items=items, confidence=confidence
            ),
            _means(images, confidence),
            {rating: counts[rating] for rating in _LIKERT},
            images,
            _ranks(images, confidence),
            _ranks([it._replace(score=it.score or 0.0) for it in images], confidence)
            if zeroes and any(it.score is None for it in images)
            else None,
            rule,
            sum(it.passed is None and 0 < len(it.points) == it.expected_ratings for it in images),
        ),
    )


def _ranks(images: Sequence[LikertImage], confidence: float) -> RankCorrelations:
    return rank_correlations(
        [(it.score, it.mean) for it in images], items=[it.item for it in images], confidence=confidence
    )


def _as_vote(it: LikertRating) -> Vote:
    if it.points is not None and (isinstance(it.points, bool) or it.points not in _LIKERT):
        raise FormalimgError(f"{it.rater} gives {it.points!r} points to item {it.item}: give 1 to 5")
    return Vote(it.model, it.item, it.sample, None, it.rater, bool(complies([it.points])), it.line)


def _by_image(
    rows: Sequence[LikertRating], runs: Sequence[StoredRun], matched: MatchedVotes
) -> tuple[dict[Case, dict[str, int]], Mapping[Case, int]]:
    """Return the ratings of each image, in the order of the raters' names, and how many ratings it is to get."""
    points = {}
    undecided = set()
    for it in rows:
        run = find_run(it.model, runs).folder.name
        if it.cannot_tell:
            undecided.add((it.rater, Case(run, it.item, it.sample, None)))
        points[it.rater, Case(run, it.item, it.sample, None)] = it.points
    ratings: dict[Case, dict[str, int]] = {}
    expected: Counter[Case] = Counter()
    for rater, answers in matched.votes.items():
        for case in answers:
            expected[case] += (rater, case) not in undecided
            by_rater = ratings.setdefault(case, {})
            rating = points[rater, case]
            if rating is not None:
                by_rater[rater] = rating
    return ratings, expected


def _means(images: Sequence[LikertImage], confidence: float) -> tuple[LikertMean, ...]:
    """Return the mean rating run by run, each level and then all of them."""
    found = []
    for run in sorted({it.run for it in images}):
        of_run = [it for it in images if it.run == run]
        for level in [*sorted({it.level for it in of_run}), None]:
            rated = [it for it in of_run if level in (None, it.level) and it.mean is not None]
            means = [it.mean for it in rated if it.mean is not None]
            interval = mean_interval(means, confidence, items=[it.item for it in rated])
            if interval is not None:
                interval = Interval(max(1.0, interval.low), min(5.0, interval.high))
            mean = fsum(means) / len(means) if means else None
            found.append(LikertMean(run, level, mean, interval, sum(len(it.points) for it in rated)))
    return tuple(found)
