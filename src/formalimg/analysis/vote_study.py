"""Ratings on five points: what `study_points` gives back beside what passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.attention import Conduct
from formalimg.analysis.human_ratings import PointsGiven, Vote, sheet_of_points, sheet_of_votes
from formalimg.analysis.rated_images import Ballots, cast, run_named
from formalimg.analysis.rater_agreement import MAJORITY, Answers, Case, Panel, alpha_of_columns, panel_of
from formalimg.analysis.rating_files import Sheet
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, StoredRun
from formalimg.stats import (
    Consistency,
    Interval,
    Reliability,
    complies,
    consistency,
    krippendorff_alpha,
    majority,
    mean_interval,
)
from formalimg.stats import Share as Share  # the room's front door has it from here


class MeanPoints(NamedTuple):
    """What people give to the images of a run.

    Attributes:
        run: the run.
        level: the level; None for all levels together.
        mean: the mean over images of the mean of their ratings; None if nothing was rated.
        interval: its normal interval, clustered by item, cut off at 1 and 5; None where the spread cannot be told.
        ratings: how many ratings went in.
    """

    run: str
    level: int | None
    mean: float | None
    interval: Interval | None
    ratings: int


class ImagePoints(NamedTuple):
    """What people give to an image.

    Attributes:
        run, item, sample, level: which image it is.
        points: what was given so far, in the order of the raters.
        wanted: how many ratings it is to get.
        mean: of the points; None if there are none.
        passed: whether the mean is 4 or more; None as long as ratings are missing.
        judge: whether it passes by the judge; None if unscored.
    """

    run: str
    item: str
    sample: int
    level: int
    points: tuple[int, ...]
    wanted: int
    mean: float | None
    passed: bool | None
    judge: bool | None


@dataclass(frozen=True)
class PointsStudied:
    """Ratings of people on five points.

    Attributes:
        cronbach: Cronbach's alpha, as FormalImg reports it.
        one_rater_per_column: whether it has one column for each person; see `ColumnsAlpha`.
        alpha: Krippendorff's alpha, for points in their order.
        means: run by run, each level and then all of them.
        histogram: how often each of the five points was given.
        images: all images that somebody was to rate.
    """

    cronbach: Reliability
    one_rater_per_column: bool
    alpha: Reliability
    means: tuple[MeanPoints, ...]
    histogram: Mapping[int, int]
    images: tuple[ImagePoints, ...]


class Divergence(NamedTuple):
    """How often people say of an image as a whole something else than their answers to its questions amount to.

    Attributes:
        agreement: how often the two say the same; a case is a person and an image.
        yes_then_no: the share of cases with yes for the whole, and no to a question.
        no_then_yes: the share of cases with no for the whole, and yes to all questions.
    """

    agreement: Consistency
    yes_then_no: Share
    no_then_yes: Share


@dataclass(frozen=True)
class PeopleStudied:
    """What people say about images, beside what a judge says.

    Attributes:
        judges: who judged, by run; None where nobody did.
        suite: the benchmark.
        raters: the people.
        votes: how many votes they cast.
        without_votes: runs that nobody voted on.
        whole: their votes on whole images (the first step); None if there are none.
        all_questions: whether all questions of an image are answered with yes (the second step), one by one person,
            or by the majority on each question. One no decides; without it, all answers must be there.
        questions: their votes on single questions.
        divergence, divergence_by_level: between the two steps; None if no person took both on any image.
        confidence: of all intervals.
        divergence_by_rater: the same for each person, level by level.
        points: their ratings, if they gave five points; then `whole` compares what passes by these. None otherwise.
        conduct: how the raters did, as far as that is known.
        unscored: images that people voted on and the judge left unscored, by reason.
    """

    judges: Mapping[str, Identity | None]
    suite: str
    raters: tuple[str, ...]
    votes: int
    without_votes: tuple[str, ...]
    whole: Panel | None
    all_questions: Panel | None
    questions: Panel | None
    divergence: Divergence | None
    divergence_by_level: Mapping[int, Divergence]
    confidence: float
    divergence_by_rater: Mapping[str, Mapping[int, Divergence]] = field(default_factory=dict)
    points: PointsStudied | None = None
    conduct: Conduct | None = None
    unscored: Mapping[str, int] = field(default_factory=dict)

    @property
    def together(self) -> str:
        """What people say together is called: their majority or, of points, their mean."""
        return MAJORITY if self.points is None else "mean"


def study_votes(
    votes: Sequence[Vote] | str | Path, runs: Sequence[StoredRun], *, confidence: float = 0.95
) -> PeopleStudied:
    """Compares the votes of people with each other and with the judges of the runs they voted on.

    Args:
        votes: the votes, as `read_votes` gives them; or the file that they are in, whose mistakes are then named
            together with those that only the runs bring to light.
        runs: runs of one suite, each opened with the judge to compare with. Votes name them by folder or by model.
        confidence: of all intervals.

    Raises:
        VotesError: if votes make no sense, or are for images or questions that the runs do not have; all of them are
            named.
        FormalimgError: if the runs are of several suites, or cannot be told apart.
    """
    sheet = sheet_of_votes(votes) if isinstance(votes, str | Path) else Sheet("", tuple(votes))
    ballots = cast(sheet, runs)
    whole = _of_kind(ballots.votes, whole=True)
    questions = _of_kind(ballots.votes, whole=False)
    steps = {rater: _amounts_to(said, ballots.asked) for rater, said in questions.items()}
    by_question = _majorities(questions)

    def panel(raters: Mapping[str, Answers], most: Answers) -> Panel | None:
        return panel_of(raters, most, ballots.judge, ballots.about, confidence) if most else None

    def divergence(level: int | None = None, raters: Iterable[str] = tuple(ballots.votes)) -> Divergence | None:
        both = [
            (image, whole.get(rater, {}).get(image), steps.get(rater, {}).get(image))
            for rater in raters
            for image in {**whole.get(rater, {}), **steps.get(rater, {})}
            if level in (None, ballots.about[image].level)
        ]
        return _divergence(both, confidence)

    def by_level(raters: Iterable[str] = tuple(ballots.votes)) -> dict[int, Divergence]:
        levels = sorted({about.level for about in ballots.about.values()})
        return {level: found for level in levels if (found := divergence(level, raters)) is not None}

    voted = {case.run for said in ballots.votes.values() for case in said}
    return PeopleStudied(
        ballots.judges,
        ballots.suite,
        tuple(ballots.votes),
        len(sheet.rows),
        tuple(run for run in ballots.judges if run not in voted),
        panel(whole, _majorities(whole)),
        panel(steps, _amounts_to(by_question, ballots.asked)),
        panel(questions, by_question),
        divergence(),
        by_level(),
        confidence,
        {rater: apart for rater in ballots.votes if (apart := by_level([rater]))},
        unscored=ballots.unscored,
    )


def _of_kind(votes: Mapping[str, Answers], *, whole: bool) -> dict[str, Answers]:
    """The votes on whole images, or those on questions, of everyone who cast such votes."""
    found = {
        rater: {case: said for case, said in cast.items() if (case.question is None) == whole}
        for rater, cast in votes.items()
    }
    return {rater: said for rater, said in found.items() if said}


def _majorities(votes: Mapping[str, Answers]) -> dict[Case, bool | None]:
    cases = dict.fromkeys(case for said in votes.values() for case in said)
    by_case = {case: [said[case] for said in votes.values() if case in said] for case in cases}
    return {case: majority(vote for vote in those if vote is not None) for case, those in by_case.items()}


def _amounts_to(said: Answers, asked: Mapping[Case, tuple[Case, ...]]) -> dict[Case, bool | None]:
    """Whether all questions about an image are answered with yes; one no decides, and else none may be open."""
    found: dict[Case, bool | None] = {}
    for image in dict.fromkeys(case._replace(question=None) for case in said):
        answers = [said.get(question) for question in asked[image]]
        found[image] = False if False in answers else None if None in answers else True
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

    def share(of: tuple[bool, bool]) -> Share:
        found = consistency(
            [(steps == of, True) for _, steps in known],
            items=[case.belongs_to for case, _ in known],
            confidence=confidence,
        )
        return Share(found.equal, found.n, found.value, found.interval)

    return Divergence(agreement, share((True, False)), share((False, True)))


_ALL = range(1, 6)


def study_points(
    points: Sequence[PointsGiven] | str | Path, runs: Sequence[StoredRun], *, confidence: float = 0.95
) -> PeopleStudied:
    """Compares ratings on five points with each other and with the judges of the runs.

    An image passes by people if the mean of its ratings is 4 or more, and if nobody is still to rate it: until then it
    is open. One person says yes with 4 or 5 points.

    Args:
        points: the ratings, as `read_points` gives them, or the file that they are in.
        runs: runs of one suite, each opened with the judge to compare with. Ratings name them by folder or by model.
        confidence: of all intervals.

    Returns:
        The study, in which `whole` compares what passes, and `points` has the ratings themselves.

    Raises:
        VotesError: if ratings make no sense, or are for images that the runs do not have; all of them are named.
        FormalimgError: if the runs are of several suites or cannot be told apart, or nobody has rated anything.
    """
    sheet = sheet_of_points(points) if isinstance(points, str | Path) else Sheet("", tuple(points))
    ballots = cast(Sheet(sheet.file, tuple(map(_vote, sheet.rows)), sheet.findings), runs)
    given, wanted = _by_image(sheet.rows, runs, ballots)
    rated = {image: those for image, those in given.items() if those}
    if not rated:
        raise FormalimgError("nobody has rated an image yet: let people answer first")
    raters = {
        rater: {case: bool(complies([those[rater]])) for case, those in rated.items() if rater in those}
        for rater in ballots.votes
    }
    passed = {case: complies(those.values()) if len(those) == wanted[case] else None for case, those in rated.items()}
    images = tuple(
        ImagePoints(
            *case[:3],
            ballots.about[case].level,
            tuple(those.values()),
            wanted[case],
            fsum(those.values()) / len(those) if those else None,
            passed.get(case),
            ballots.judge[case],
        )
        for case, those in sorted(given.items())
    )
    items = [case.belongs_to for case in rated]
    columns = alpha_of_columns(list(rated.values()), items=items, confidence=confidence)
    counts = Counter(rating for those in rated.values() for rating in those.values())
    return PeopleStudied(
        ballots.judges,
        ballots.suite,
        tuple(rater for rater, said in raters.items() if said),
        counts.total(),
        tuple(run for run in ballots.judges if run not in {case.run for case in rated}),
        panel_of({who: said for who, said in raters.items() if said}, passed, ballots.judge, ballots.about, confidence),
        None,
        None,
        None,
        {},
        confidence,
        unscored=ballots.unscored,
        points=PointsStudied(
            *columns,
            krippendorff_alpha(
                [list(those.values()) for those in rated.values()], "ordinal", items=items, confidence=confidence
            ),
            _means(images, confidence),
            {rating: counts[rating] for rating in _ALL},
            images,
        ),
    )


def _vote(it: PointsGiven) -> Vote:
    if it.points is not None and (isinstance(it.points, bool) or it.points not in _ALL):
        raise FormalimgError(f"{it.rater} gives {it.points!r} points to item {it.item}: give 1 to 5")
    return Vote(it.model, it.item, it.sample, None, it.rater, bool(complies([it.points])), it.line)


def _by_image(
    rows: Sequence[PointsGiven], runs: Sequence[StoredRun], ballots: Ballots
) -> tuple[dict[Case, dict[str, int]], Mapping[Case, int]]:
    """What each person gave to each image, in the order of their names, and how many were to rate it."""
    points = {}
    for it in rows:
        run = run_named(it.model, runs).folder.name
        points[it.rater, Case(run, it.item, it.sample, None)] = it.points
    given: dict[Case, dict[str, int]] = {}
    wanted: Counter[Case] = Counter()
    for rater, said in ballots.votes.items():
        for case in said:
            wanted[case] += 1
            there = given.setdefault(case, {})
            rating = points[rater, case]
            if rating is not None:
                there[rater] = rating
    return given, wanted


def _means(images: Sequence[ImagePoints], confidence: float) -> tuple[MeanPoints, ...]:
    """Run by run, each level and then all of them."""
    found = []
    for run in sorted({it.run for it in images}):
        of_run = [it for it in images if it.run == run]
        for level in [*sorted({it.level for it in of_run}), None]:
            here = [it for it in of_run if level in (None, it.level) and it.mean is not None]
            means = [it.mean for it in here if it.mean is not None]
            found.append(
                MeanPoints(
                    run,
                    level,
                    fsum(means) / len(means) if means else None,
                    _within_points(mean_interval(means, confidence, items=[it.item for it in here])),
                    sum(len(it.points) for it in here),
                )
            )
    return tuple(found)


def _within_points(interval: Interval | None) -> Interval | None:
    return None if interval is None else Interval(max(1.0, interval.low), min(5.0, interval.high))
