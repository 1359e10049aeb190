"""Human ratings of images, read from CSV: yes/no votes, labels, scores from 0 to 1, and Likert ratings from 1 to 5."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from formalimg.human_eval.agreement.rating_files import (
    CANNOT_TELL,
    BadRowError,
    RatingColumns,
    RatingFile,
    RatingFileError,
    parse_subject,
    parse_yes_no,
    rater_columns,
    read_rating_file,
    require_valid,
)
from formalimg.stats.agreement import ComplianceRule

_LABEL_COLUMNS = RatingColumns("label", ("model", "item", "sample", "rater"), ("model", "item"))
_NUMBER = re.compile(r"0*[01]?(\.[0-9]*)?", re.ASCII)
_LIKERT = ("1", "2", "3", "4", "5")

LIKERT_RULES: Mapping[ComplianceRule, str] = {
    "majority": "majority of raters ≥ 4 of 5",
    "mean": "mean of raters ≥ 4 of 5",
}
"""How Likert ratings of an image become a label, in words."""


class Vote(NamedTuple):
    """The answer of one rater to one question about one image."""

    model: str  # the model that made the image, or the name of its run folder
    item: str  # the item
    sample: int  # which of the item's images, from 0
    question: int | None  # the number of the question, from 1; None for whether the image as a whole matches its prompt
    rater: str  # who votes
    yes: bool | None  # the vote; None if the rater cannot tell
    line: int  # its line in its file


class Rating(NamedTuple):
    """The rating of one image, or of one question about it, by one rater."""

    model: str  # the model that made the image, or the name of its run folder
    item: str  # the item
    sample: int  # which of the item's images, from 0
    question: int | None  # the number of the question, from 1; None for the image as a whole
    rater: str  # the rater; empty if the file names none
    value: float  # 0 to 1; of a label, 0 or 1
    line: int  # its line in its file


class LikertRating(NamedTuple):
    """A Likert rating: how well one image follows its prompt, by one rater.

    Attributes:
        model: the model that made the image, or the name of its run folder.
        item: the item.
        sample: which of the item's images, from 0.
        rater: who rates.
        points: 1 to 5; None if the rating is still pending.
        line: its line in its file; 0 if it comes from none.
        cannot_tell: the rater cannot tell: no rating will come.
    """

    model: str
    item: str
    sample: int
    rater: str
    points: int | None
    line: int = 0
    cannot_tell: bool = False


class VotesError(RatingFileError):
    """Votes that cannot be used; `findings` has one line for each kind of mistake."""


class RatingsError(RatingFileError):
    """Labels, scores or Likert ratings that cannot be used; `findings` has one line for each kind of mistake."""


def read_votes(path: str | Path) -> list[Vote]:
    """Return the votes in a CSV file.

    Its first line names the columns: model, item, sample (default 0), question (missing, empty or `all`: does the
    image as a whole match its prompt?), rater, and vote (1 or 0, yes or no). Other columns are ignored.

    Raises:
        VotesError: if rows are invalid; all of them are named, by line.
        FormalimgError: if the file cannot be read.
    """
    return require_valid(load_vote_file(path), VotesError)


def read_labels(path: str | Path) -> list[Rating]:
    """Return the labels in a CSV file: can the main objects in these factual images be recognised?

    Its first line names the columns: model, item, sample (default 0), rater (may be missing if each image has one
    label), and label (1 or 0, yes or no). Other columns are ignored.
    """
    return require_valid(load_label_file(path), RatingsError)


def read_human_scores(path: str | Path) -> list[Rating]:
    """Return the scores in a CSV file that raters gave to images, or to questions about them.

    Its first line names the columns: model, item, sample (default 0), question (missing, empty or `all`: the image
    as a whole), rater, and score (0 to 1). Other columns are ignored.
    """
    return require_valid(load_score_file(path), RatingsError)


def read_likert_ratings(path: str | Path) -> list[LikertRating]:
    """Return the Likert ratings in a CSV file.

    Its first line names the columns: model, item, sample (default 0), rater, and rating (1 to 5). A column question
    may be there if it is empty or `all`: the image as a whole is rated. Other columns are ignored.
    """
    return require_valid(load_likert_file(path), RatingsError)


def load_vote_file(path: str | Path) -> RatingFile[Vote]:
    """Parse a CSV file of votes; invalid rows become issues."""
    return read_rating_file(path, rater_columns("vote", keeps_undecided=True), _parse_vote)


def load_label_file(path: str | Path) -> RatingFile[Rating]:
    """Parse a CSV file of labels; invalid rows become issues."""
    return read_rating_file(path, _LABEL_COLUMNS, _parse_label)


def load_score_file(path: str | Path) -> RatingFile[Rating]:
    """Parse a CSV file of scores; invalid rows become issues."""
    return read_rating_file(path, rater_columns("score"), _parse_score)


def load_likert_file(path: str | Path) -> RatingFile[LikertRating]:
    """Parse a CSV file of Likert ratings; invalid rows become issues."""
    return read_rating_file(path, rater_columns("rating", keeps_undecided=True), _parse_likert)


def _parse_vote(cells: Mapping[str, str], line: int) -> Vote:
    yes = None if cells["vote"].lower() == CANNOT_TELL else parse_yes_no(cells, "vote")
    return Vote(*parse_subject(cells), yes, line)


def _parse_label(cells: Mapping[str, str], line: int) -> Rating:
    recognisable = parse_yes_no(cells, "label")
    return Rating(*parse_subject(cells), float(recognisable), line)


def _parse_score(cells: Mapping[str, str], line: int) -> Rating:
    text = cells["score"]
    is_number = _NUMBER.fullmatch(text) and any(map(str.isdigit, text)) and len(text) <= 30
    if not is_number or float(text) > 1:
        raise BadRowError(f"the score is {text!r}: write a number from 0 to 1, such as 0.5")
    return Rating(*parse_subject(cells), float(text), line)


def _parse_likert(cells: Mapping[str, str], line: int) -> LikertRating:
    subject = parse_subject(cells)
    if subject.question is not None:
        raise BadRowError(f"the rating is of question {subject.question}: on five points, images are rated as a whole")
    if cells["rating"].lower() == CANNOT_TELL:
        return LikertRating(subject.model, subject.item, subject.sample, subject.rater, None, line, cannot_tell=True)
    if cells["rating"] not in _LIKERT:
        raise BadRowError(f"the rating is {cells['rating']!r}: write 1, 2, 3, 4 or 5")
    return LikertRating(subject.model, subject.item, subject.sample, subject.rater, int(cells["rating"]), line)
