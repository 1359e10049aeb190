"""Ratings on five points, as tables of words and as figures."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis.agreement_tables import AgreementTable
from formalimg.analysis.figure_rows import numbers
from formalimg.analysis.figures_in_words import NOTHING, counted, percent
from formalimg.analysis.points_studied import MeanPoints, PointsStudied


def tables_of_points(points: PointsStudied, level: str, intervals: str) -> Iterator[AgreementTable]:
    """What people gave, run by run and in all.

    Args:
        points: the ratings.
        level: what levels are called.
        intervals: what is said of the intervals.
    """
    waiting = sum(it.passed is None for it in points.images)
    open_told = f" Not yet decided, because ratings are missing: {counted(waiting, 'image')}." if waiting else ""
    yield AgreementTable(
        "Five points: means",
        f"Mean over images of their mean rating from 1 to 5, {intervals}. A mean of 4 or more passes.{open_told}",
        ("run", level, "mean", "ratings"),
        tuple(
            (it.run, "all" if it.level is None else str(it.level), _mean(it), str(it.ratings)) for it in points.means
        ),
        "detail",
    )
    ratings = sum(points.histogram.values())
    yield AgreementTable(
        "Five points: how often each was given",
        f"{counted(ratings, 'rating')}, in percent.",
        tuple(map(str, points.histogram)),
        (tuple(percent(count / ratings) for count in points.histogram.values()),),
        "detail",
    )


def figures_of_points(points: PointsStudied) -> Iterator[dict[str, object]]:
    """The same for spreadsheets."""
    yield {"figure": "Cronbach's alpha of people", "of": "five points", **numbers(points.cronbach)}
    yield {"figure": "Krippendorff's alpha of people", "of": "five points", **numbers(points.alpha)}
    for it in points.means:
        row: dict[str, object] = {"figure": "mean rating", "of": "five points", "run": it.run, "level": it.level}
        row |= {"value": it.mean, "n": it.ratings}
        yield row | ({"low": it.interval.low, "high": it.interval.high} if it.interval else {})
    ratings = sum(points.histogram.values())
    for rating, count in points.histogram.items():
        share = {"value": count / ratings, "n": ratings}
        yield {"figure": "share of ratings", "of": "five points", "kind": str(rating), **share}


def _mean(it: MeanPoints) -> str:
    if it.mean is None:
        return NOTHING
    return f"{it.mean:.2f}" + (f" ({it.interval.low:.2f} to {it.interval.high:.2f})" if it.interval else "")
