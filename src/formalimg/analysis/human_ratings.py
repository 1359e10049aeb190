"""Votes of people on images, from a table in CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.rating_files import (
    BadRowError,
    Columns,
    Sheet,
    SheetError,
    about,
    all_rows,
    read_sheet,
    said_by_raters,
    yes_or_no,
)


class Vote(NamedTuple):
    """What one person says to one question about one image.

    Attributes:
        model: the model that made the image, or the name of its run folder.
        item: the item.
        sample: which of the item's images, from 0.
        question: the number of the question, from 1; None for whether the image as a whole matches its words.
        rater: who votes.
        yes: the vote.
        line: where it stands in its file.
    """

    model: str
    item: str
    sample: int
    question: int | None
    rater: str
    yes: bool
    line: int


class VotesError(SheetError):
    """Votes that cannot be used; `findings` says what is wrong and where, one line each."""


def read_votes(path: str | Path) -> list[Vote]:
    """The votes in a CSV file.

    Its first line names the columns: model, item, sample (may be missing: 0), question (may be missing or empty, or
    `all`: does the image as a whole match its words?), rater, and vote (1 or 0, yes or no). Other columns are left
    aside.

    Raises:
        VotesError: if rows make no sense: all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    return all_rows(sheet_of_votes(path), VotesError)


def sheet_of_votes(path: str | Path) -> Sheet[Vote]:
    """The votes in a CSV file that make sense, and what is wrong with the others.

    Raises:
        FormalimgError: if the file cannot be read.
    """
    return read_sheet(path, said_by_raters("vote"), _vote)


def _vote(cells: Mapping[str, str], line: int) -> Vote:
    yes = yes_or_no(cells, "vote")
    return Vote(*about(cells), yes, line)


_LABELS = Columns("label", ("model", "item", "sample", "rater"), ("model", "item"))
_NUMBER = re.compile(r"0*[01]?(\.[0-9]*)?", re.ASCII)


class Rating(NamedTuple):
    """What one person says of one image, or to one question about it.

    Attributes:
        model: the model that made the image, or the name of its run folder.
        item: the item.
        sample: which of the item's images, from 0.
        question: the number of the question, from 1; None for the image as a whole.
        rater: who says it; empty if the table does not tell.
        value: 0 to 1; of a label, 0 or 1.
        line: where it stands in its file.
    """

    model: str
    item: str
    sample: int
    question: int | None
    rater: str
    value: float
    line: int


class RatingsError(SheetError):
    """Labels or scores of people that cannot be used; `findings` says what is wrong and where, one line each."""


def read_labels(path: str | Path) -> list[Rating]:
    """The labels in a CSV file: can the main objects in these factual images be recognised?

    Its first line names the columns: model, item, sample (may be missing: 0), rater (may be missing if each image has
    one label), and label (1 or 0, yes or no). Other columns are left aside.

    Raises:
        RatingsError: if rows make no sense: all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    return all_rows(sheet_of_labels(path), RatingsError)


def read_human_scores(path: str | Path) -> list[Rating]:
    """The scores in a CSV file that people gave to images, or to what is asked about them.

    Its first line names the columns: model, item, sample (may be missing: 0), question (may be missing or empty, or
    `all`: the image as a whole), rater, and score (0 to 1). Other columns are left aside.

    Raises:
        RatingsError: if rows make no sense: all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    return all_rows(sheet_of_scores(path), RatingsError)


def sheet_of_labels(path: str | Path) -> Sheet[Rating]:
    """The labels in a CSV file that make sense, and what is wrong with the others.

    Raises:
        FormalimgError: if the file cannot be read.
    """
    return read_sheet(path, _LABELS, _label)


def sheet_of_scores(path: str | Path) -> Sheet[Rating]:
    """The scores in a CSV file that make sense, and what is wrong with the others.

    Raises:
        FormalimgError: if the file cannot be read.
    """
    return read_sheet(path, said_by_raters("score"), _score)


def _label(cells: Mapping[str, str], line: int) -> Rating:
    recognisable = yes_or_no(cells, "label")
    return Rating(*about(cells), float(recognisable), line)


def _score(cells: Mapping[str, str], line: int) -> Rating:
    text = cells["score"]
    is_number = _NUMBER.fullmatch(text) and any(map(str.isdigit, text)) and len(text) <= 30
    if not is_number or float(text) > 1:
        raise BadRowError(f"the score is {text!r}: write a number from 0 to 1, such as 0.5")
    return Rating(*about(cells), float(text), line)


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
