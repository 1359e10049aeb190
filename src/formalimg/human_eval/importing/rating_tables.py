"""Files of Likert ratings of images: our own plain table, and those that published benchmarks come with.

Our own table (CSV, TSV, JSON Lines or JSON) has `item`, `rater`, `rating` (1 to 5), and optionally `model` and
`sample`. Other names for the same are known (`RATING_NAMES`), such as those of DSG's `tifa160-likert-anns.csv`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg._util.record_files import TableRecord, iterate_table
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing.answer_files import ANSWER_NAMES, read_name, read_sample

RATING_NAMES = {
    **{name: ANSWER_NAMES[name] for name in ("model", "item", "sample")},
    "rater": ("rater", "rater_id", "worker_id", "worker", "annotator", "annotator_id"),
    "rating": ("rating", "likert", "points", "answer", "score"),
}
"""The names under which each field of a rating is found, the first that is there."""

_MAX_RATINGS = 1_000_000
_POINTS = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "1.0": 1, "2.0": 2, "3.0": 3, "4.0": 4, "5.0": 5}


class GivenRating(NamedTuple):
    """A Likert rating as it stands in a file; the model is empty if the file names none."""

    model: str
    item: str
    sample: int
    rater: str
    points: int


@dataclass(frozen=True)
class RatingTable:
    """The ratings in a file."""

    path: Path  # the file
    ratings: tuple[GivenRating, ...]  # the ratings; of several by one rater of one image, the last
    skipped: int  # how many records could not be read
    repeated: int  # how many ratings were replaced by a later one


def read_ratings(path: str | Path) -> RatingTable:
    """Return the Likert ratings in a file."""
    place = Path(path)
    skipped: list[str] = []
    points: dict[tuple[str, str, int, str], int] = {}
    read = 0
    for row in iterate_table(place, lambda where, why: skipped.append("")):
        rating = _rating(row)
        if rating is None:
            skipped.append("")
            continue
        read += 1
        points[rating[:4]] = rating.points
        if len(points) > _MAX_RATINGS:
            raise FormalimgError(f"{place} has more than {_MAX_RATINGS:,} ratings: split it")
    if not points:
        raise FormalimgError(
            f"{place} holds no ratings: give a table with model, item, sample, rater, and rating 1 to 5"
        )
    ratings = tuple(GivenRating(*whose, given) for whose, given in points.items())
    return RatingTable(place, ratings, len(skipped), read - len(points))


def _rating(row: TableRecord) -> GivenRating | None:
    item, rater = row.text(RATING_NAMES["item"]), read_name(row, RATING_NAMES["rater"])
    points, sample = _POINTS.get(row.text(RATING_NAMES["rating"])), read_sample(row, RATING_NAMES["sample"])
    if not item or not rater or points is None or sample is None:
        return None
    # The same names come again and again: each is kept once.
    model = sys.intern(read_name(row, RATING_NAMES["model"]))
    return GivenRating(model, sys.intern(item), sample, sys.intern(rater), points)
