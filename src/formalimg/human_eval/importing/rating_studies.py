"""Ratings that were given elsewhere become a study, or a table of ratings in our own form."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from formalimg._util.io import atomic_write
from formalimg.benchmarks.record import free_name
from formalimg.errors import FormalimgError
from formalimg.human_eval.imported_study import RatedImageName, write_rated_study
from formalimg.human_eval.importing.file_source import describe_source
from formalimg.human_eval.importing.rating_tables import GivenRating, RatingTable
from formalimg.reports.tables.data_formats import csv_text
from formalimg.runs.reader import StoredRun

_COLUMNS = ("model", "item", "sample", "rater", "rating")


@dataclass(frozen=True)
class ImportedRatings:
    """What became of a file of ratings."""

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
    """Write the study, or the table, that ratings of the images of runs make."""
    places = _rated_places(runs)
    found: dict[RatedImageName, dict[str, int]] = {}
    without: set[tuple[str, str, int]] = set()
    for rating in table.ratings:
        image = _find_image(rating, places, runs)
        if image is None:
            without.add(rating[:3])
        else:
            found.setdefault(image, {})[rating.rater] = rating.points
    if not found:
        raise FormalimgError(f"no rating in {table.path} is of an image of these runs: name the runs it is about")
    notes = []
    if without:
        notes.append(f"{len(without):,} rated images are in none of the runs, and were left out")
    if table.skipped:
        notes.append(f"{table.skipped:,} records could not be read, and were left out")
    if table.repeated:
        notes.append(f"{table.repeated:,} ratings were replaced by a later one of the same rater and image")
    if images is not None:
        if not 1 <= images <= len(found):
            raise FormalimgError(f"{len(found):,} images have ratings: ask for 1 to {len(found):,} of them")
        notes.append(f"{images:,} of {len(found):,} rated images were drawn at random, with seed {seed}")
        found = {image: found[image] for image in sorted(random.Random(seed).sample(sorted(found), images))}
    if out.suffix.lower() == ".csv":
        _write_table(found, out)
    else:
        write_rated_study(out, runs, found, describe_source(table.path), made_with)
    raters = {rater for given in found.values() for rater in given}
    return ImportedRatings(out, len(found), sum(map(len, found.values())), len(raters), tuple(notes))


def _rated_places(runs: Sequence[StoredRun]) -> dict[tuple[str, str, int], list[RatedImageName]]:
    """Return the images of the runs by all that a file may call them: the model or the run, item and sample."""
    places: dict[tuple[str, str, int], list[RatedImageName]] = {}
    for run in runs:
        name = run.folder.resolve().name
        for judged in run.judged():
            item, sample = judged.outcome.item, judged.outcome.sample
            image = RatedImageName(name, item, sample)
            names = {(name, item, sample), (run.manifest.model.name, item, sample)}
            if not run.has_images and isinstance(number := judged.served.get("model_sample"), int):
                names.add((str(judged.served.get("model")), item, number))
            for called in names:
                places.setdefault(called, []).append(image)
    return places


def _find_image(
    rating: GivenRating,
    places: Mapping[tuple[str, str, int], Sequence[RatedImageName]],
    runs: Sequence[StoredRun],
) -> RatedImageName | None:
    model = rating.model or (runs[0].folder.resolve().name if len(runs) == 1 else "")
    if not model:
        raise FormalimgError("the ratings name no image model, and there are several runs: name one run")
    found = places.get((model, rating.item, rating.sample)) or places.get(
        (model, free_name(rating.item, ()), rating.sample), ()
    )
    if len(found) > 1:
        names = ", ".join(sorted(image.run for image in found))
        raise FormalimgError(f"ratings of {model} may be of several runs, {names}: name one of them")
    return found[0] if found else None


def _write_table(found: Mapping[RatedImageName, Mapping[str, int]], out: Path) -> None:
    if out.exists():
        raise FormalimgError(f"{out} already exists: choose another file for the ratings")
    rows = (
        dict(zip(_COLUMNS, (*image, rater, points), strict=True))
        for image, given in found.items()
        for rater, points in given.items()
    )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write {out}: {error.strerror}") from error
    atomic_write(out, [csv_text(_COLUMNS, rows).encode()])
