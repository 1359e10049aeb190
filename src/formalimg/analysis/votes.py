"""Votes of people on images, from a table in CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.findings import SheetError
from formalimg.analysis.sheets import Sheet, about, all_rows, read_sheet, said_by_raters, yes_or_no


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
