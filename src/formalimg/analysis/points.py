"""Ratings of people on five points, from a table in CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.ratings import RatingsError
from formalimg.analysis.sheets import BadRowError, Sheet, about, all_rows, read_sheet, said_by_raters

_POINTS = ("1", "2", "3", "4", "5")


class PointsGiven(NamedTuple):
    """How far one image does what its words say, by one person.

    Attributes:
        model: the model that made the image, or the name of its run folder.
        item: the item.
        sample: which of the item's images, from 0.
        rater: who rates.
        points: 1 to 5; None if the person is still to rate the image.
        line: where it stands in its file; 0 if it comes from none.
    """

    model: str
    item: str
    sample: int
    rater: str
    points: int | None
    line: int = 0


def read_points(path: str | Path) -> list[PointsGiven]:
    """The ratings in a CSV file, on five points.

    Its first line names the columns: model, item, sample (may be missing: 0), rater, and rating (1 to 5). A column
    question may be there, if it is empty or `all`: the image as a whole is rated. Other columns are left aside.

    Raises:
        RatingsError: if rows make no sense: all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    return all_rows(sheet_of_points(path), RatingsError)


def sheet_of_points(path: str | Path) -> Sheet[PointsGiven]:
    """The ratings in a CSV file that make sense, and what is wrong with the others.

    Raises:
        FormalimgError: if the file cannot be read.
    """
    return read_sheet(path, said_by_raters("rating"), _points)


def _points(cells: Mapping[str, str], line: int) -> PointsGiven:
    what = about(cells)
    if what.question is not None:
        raise BadRowError(f"the rating is of question {what.question}: on five points, images are rated as a whole")
    if cells["rating"] not in _POINTS:
        raise BadRowError(f"the rating is {cells['rating']!r}: write 1, 2, 3, 4 or 5")
    return PointsGiven(what.model, what.item, what.sample, what.rater, int(cells["rating"]), line)
