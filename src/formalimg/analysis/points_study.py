"""Five-point ratings of people beside a judge, as in the human study of FormalImg (section 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path

from formalimg.analysis.ballots import Ballots, cast
from formalimg.analysis.cases import Case
from formalimg.analysis.panels import panel_of
from formalimg.analysis.people import PeopleStudied
from formalimg.analysis.points import PointsGiven, sheet_of_points
from formalimg.analysis.points_studied import ImagePoints, MeanPoints, PointsStudied
from formalimg.analysis.rater_columns import alpha_of_columns
from formalimg.analysis.run_names import run_named
from formalimg.analysis.sheets import Sheet
from formalimg.analysis.votes import Vote
from formalimg.errors import FormalimgError
from formalimg.runs import StoredRun
from formalimg.stats import Interval, complies, krippendorff_alpha, mean_interval

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
