"""What people say of images, from tables in CSV: labels (recognisable or not), and scores from 0 to 1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.findings import SheetError
from formalimg.analysis.sheets import (
    BadRowError,
    Columns,
    Sheet,
    about,
    all_rows,
    read_sheet,
    said_by_raters,
    yes_or_no,
)

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
