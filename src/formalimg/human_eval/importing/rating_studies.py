"""Import of external Likert ratings as a study, or as a table in our own format.

Our own table (CSV, TSV, JSON Lines or JSON) has `item`, `rater`, `rating` (1 to 5), and optionally `model` and
`sample`. Other names for the same are known (`RATING_NAMES`), such as those of DSG's `tifa160-likert-anns.csv`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from formalimg._util.io import atomic_write
from formalimg._util.record_files import TableRecord, iterate_table
from formalimg.benchmarks.record import free_name
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing.answers import ANSWER_NAMES, describe_source, read_name, read_sample
from formalimg.human_eval.study_builder import write_rated_study
from formalimg.reports.tables.format import csv_text
from formalimg.runs.reader import StoredRun

_COLUMNS = ("model", "item", "sample", "rater", "rating")

RATING_NAMES = {
    **{name: ANSWER_NAMES[name] for name in ("model", "item", "sample")},
    "rater": ("rater", "rater_id", "worker_id", "worker", "annotator", "annotator_id"),
    "rating": ("rating", "likert", "points", "answer", "score"),
}
"""The names under which each field of a rating is found, the first that is there."""

_MAX_RATINGS = 1_000_000
_POINTS = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "1.0": 1, "2.0": 2, "3.0": 3, "4.0": 4, "5.0": 5}


class ImportedRating(NamedTuple):
    """A Likert rating as recorded in a file; the model is empty if the file does not specify it."""

    model: str
    item: str
    sample: int
    rater: str
    points: int


@dataclass(frozen=True)
class RatingTable:
    """The ratings in a file."""

    path: Path  # the file
    ratings: tuple[ImportedRating, ...]  # the ratings; of several by one rater of one image, the last
    skipped: int  # how many records could not be read
    repeated: int  # how many ratings were replaced by a later one


def read_ratings(path: str | Path) -> RatingTable:
    """Read Likert ratings from a file."""
    path = Path(path)
    skipped: list[None] = []
    points: dict[tuple[str, str, int, str], int] = {}
    read = 0
    for row in iterate_table(path, lambda position, reason: skipped.append(None)):
        rating = _parse_rating(row)
        if rating is None:
            skipped.append(None)
            continue
        read += 1
        points[rating[:4]] = rating.points
        if len(points) > _MAX_RATINGS:
            raise FormalimgError(f"{path} has more than {_MAX_RATINGS:,} ratings: split it")
    if not points:
        raise FormalimgError(
            f"{path} holds no ratings: give a table with model, item, sample, rater, and rating 1 to 5"
        )
    ratings = tuple(ImportedRating(*subject, number) for subject, number in points.items())
    return RatingTable(path, ratings, len(skipped), read - len(points))


def _parse_rating(row: TableRecord) -> ImportedRating | None:
    item, rater = row.text(RATING_NAMES["item"]), read_name(row, RATING_NAMES["rater"])
    points, sample = _POINTS.get(row.text(RATING_NAMES["rating"])), read_sample(row, RATING_NAMES["sample"])
    if not item or not rater or points is None or sample is None:
        return None
    # The same names come again and again: each is kept once.
    model = sys.intern(read_name(row, RATING_NAMES["model"]))
    return ImportedRating(model, sys.intern(item), sample, sys.intern(rater), points)


RatedImage: TypeAlias = tuple[str, str, int]  # A rated image: the name of its run folder, its item and its sample


@dataclass(frozen=True)
class ImportedRatings:
    """The result of importing a file of ratings."""

    place: Path  # the folder of the study, or the table
    images: int  # how many images have ratings
    ratings: int  # how many ratings they have
    raters: int  # how many people gave them
    notes: tuple[str, ...]  # what was left out, one line each


def import_ratings(
    table: RatingTable,
    runs: Sequence[StoredRun],
    out: Path,
    *,
    images: int | None = None,
    seed: int = 0,
    made_with: str = "",
) -> ImportedRatings:
    """Write the study, or the table, created from ratings of the images of runs."""
    places = _index_images(runs)
    by_image: dict[RatedImage, dict[str, int]] = {}
    without: set[tuple[str, str, int]] = set()
    for rating in table.ratings:
        image = _find_image(rating, places, runs)
        if image is None:
            without.add(rating[:3])
        else:
            by_image.setdefault(image, {})[rating.rater] = rating.points
    if not by_image:
        raise FormalimgError(f"no rating in {table.path} is of an image of these runs: name the runs it is about")
    notes = []
    if without:
        notes.append(f"{len(without):,} rated images are in none of the runs, and were left out")
    if table.skipped:
        notes.append(f"{table.skipped:,} records could not be read, and were left out")
    if table.repeated:
        notes.append(f"{table.repeated:,} ratings were replaced by a later one of the same rater and image")
    if images is not None:
        if not 1 <= images <= len(by_image):
            raise FormalimgError(f"{len(by_image):,} images have ratings: ask for 1 to {len(by_image):,} of them")
        notes.append(f"{images:,} of {len(by_image):,} rated images were drawn at random, with seed {seed}")
        by_image = {image: by_image[image] for image in sorted(random.Random(seed).sample(sorted(by_image), images))}
    if out.suffix.lower() == ".csv":
        _write_table(by_image, out)
    else:
        write_rated_study(out, runs, by_image, describe_source(table.path), made_with)
    raters = {rater for by_rater in by_image.values() for rater in by_rater}
    return ImportedRatings(out, len(by_image), sum(map(len, by_image.values())), len(raters), tuple(notes))


def _index_images(runs: Sequence[StoredRun]) -> dict[RatedImage, list[RatedImage]]:
    """Index the images of the runs by every key that a file may use: model or run name, item and sample."""
    places: dict[RatedImage, list[RatedImage]] = {}
    for run in runs:
        name = run.folder.resolve().name
        for judged in run.judged():
            item, sample = judged.outcome.item, judged.outcome.sample
            image = (name, item, sample)
            names = {(name, item, sample), (run.manifest.model.name, item, sample)}
            if not run.has_images and isinstance(number := judged.served.get("model_sample"), int):
                names.add((str(judged.served.get("model")), item, number))
            for called in names:
                places.setdefault(called, []).append(image)
    return places


def _find_image(
    rating: ImportedRating, places: Mapping[RatedImage, Sequence[RatedImage]], runs: Sequence[StoredRun]
) -> RatedImage | None:
    model = rating.model or (runs[0].folder.resolve().name if len(runs) == 1 else "")
    if not model:
        raise FormalimgError("the ratings name no image model, and there are several runs: name one run")
    images = places.get((model, rating.item, rating.sample)) or places.get(
        (model, free_name(rating.item, ()), rating.sample), ()
    )
    if len(images) > 1:
        names = ", ".join(sorted(run for run, *_ in images))
        raise FormalimgError(f"ratings of {model} may be of several runs, {names}: name one of them")
    return images[0] if images else None


def _write_table(by_image: Mapping[RatedImage, Mapping[str, int]], out: Path) -> None:
    if out.exists():
        raise FormalimgError(f"{out} already exists: choose another file for the ratings")
    rows = (
        dict(zip(_COLUMNS, (*image, rater, points), strict=True))
        for image, by_rater in by_image.items()
        for rater, points in by_rater.items()
    )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write {out}: {error.strerror}") from error
    atomic_write(out, [csv_text(_COLUMNS, rows).encode()])
