"""Ratings on five points: what `study_points` gives back beside what passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.stats import Interval, Reliability


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
