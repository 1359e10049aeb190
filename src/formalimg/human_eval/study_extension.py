"""Extension of a correction study by further images or items, sampled where labels narrow intervals most.

The manifest is written before the tasks of raters: after an interruption, it names the images that are still to be
added, and the next start adds them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from formalimg._util.locks import FolderLock
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, PlannedTask, assign_images
from formalimg.human_eval.correction import (
    CellKey,
    CellLabels,
    CorrectionSample,
    ItemDraw,
    ItemSample,
    LabelPrecision,
    count_labels,
    draw_more,
    draw_more_items,
)
from formalimg.human_eval.database import RateableImage, images_digest, open_for_answers, rating_errors, write_tasks
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest, write_study_manifest
from formalimg.human_eval.ratings import image_labels
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import TAKEN, run_folders
from formalimg.human_eval.study_builder import build_item_frame, judge_of_run, rateable_images, select_judged
from formalimg.runs.reader import StoredRun, open_run


class GrownStudy(NamedTuple):
    """The result of extending a study."""

    added: int  # number of images; of items, in a study of several runs
    images: int  # number of all its images, or items
    labelled: int  # number of those with a label so far; of items, in all runs
    # of all images once they are labelled; `others` has that of the labels so far. None where images of an
    # interrupted call were added, and for several runs
    precision: LabelPrecision | None = None
    # the further items, and how precise the differences are and will be, in a study of several runs
    draw: ItemDraw | None = None


def add_images(folder: str | Path, more: int) -> GrownStudy:
    """Add images (or items, for several runs) to a correction study, or only those of an interrupted call."""
    folder = Path(folder)
    manifest = read_study_manifest(folder)
    sample = manifest.correction
    if sample is None:
        raise FormalimgError(f"{folder} was not drawn to correct a judge: make a study with --for-correction")
    if more < 1:
        raise FormalimgError(f"{more} further images: add at least 1")
    lock = FolderLock(folder, TAKEN)
    try:
        late = _finish(folder, manifest)
        if isinstance(sample, ItemSample):
            return GrownStudy(late, len(sample.items), 0) if late else _add_items(folder, manifest, sample, more)
        if late:
            return GrownStudy(late, len(sample.images), count_labels(_count_cell_labels(folder, manifest, sample)))
        return _add_images(folder, manifest, sample, more)
    finally:
        lock.release()


def finish_growth(folder: str | Path) -> int:
    """Complete an interrupted `add_images` and return the number of images or items added, usually 0."""
    folder = Path(folder)
    manifest = read_study_manifest(folder)
    if not _find_unassigned(folder, manifest):
        return 0
    lock = FolderLock(folder, TAKEN)
    try:
        return _finish(folder, manifest)
    finally:
        lock.release()


def _find_unassigned(folder: Path, manifest: StudyManifest) -> set[tuple[str, str, int]]:
    if manifest.correction is None:
        return set()
    assigned = {(task.run, task.item, task.sample) for task in read_study(folder).tasks if not task.is_check}
    drawn = {(run.name, *image) for at, run in enumerate(manifest.runs) for image in manifest.correction.images_of(at)}
    return drawn - assigned


def _finish(folder: Path, manifest: StudyManifest) -> int:
    """Add tasks for images without one, and return the number of images or items."""
    unassigned = _find_unassigned(folder, manifest)
    if not unassigned:
        return 0
    units: dict[str | Candidate, tuple[Candidate, ...]] = {}
    with _open_runs(folder, manifest) as (runs, images):
        for image in images:
            if (image.run, image.item, image.sample) in unassigned:
                unit = image.item if isinstance(manifest.correction, ItemSample) else image
                units[unit] = (*units.get(unit, ()), image)
        if sum(map(len, units.values())) < len(unassigned):
            raise FormalimgError(f"images that were drawn for {folder} are missing: restore its runs")
        _add_tasks(folder, manifest, runs, images, [*units.values()], random.Random(manifest.seed))
    return len(units)


def _add_images(folder: Path, manifest: StudyManifest, sample: CorrectionSample, more: int) -> GrownStudy:
    with _open_runs(folder, manifest) as (runs, images):
        (run,) = runs.values()
        judge = judge_of_run(run)
        if judge != sample.judge:
            raise FormalimgError(
                f"the last judge of {run.folder} is {judge}, and images were drawn by the answers of {sample.judge}: "
                "make a new study"
            )
        labels = _count_cell_labels(folder, manifest, sample)
        rng = random.Random(f"{manifest.seed} {sample.batches}")
        chosen, grown, precision = draw_more(select_judged(images), sample, labels, more, _check_images(folder), rng)
        _write(folder, manifest, grown, runs, images, [(image,) for image in chosen], rng)
    return GrownStudy(len(chosen), len(grown.images), count_labels(labels), precision)


def _add_items(folder: Path, manifest: StudyManifest, sample: ItemSample, more: int) -> GrownStudy:
    rng = random.Random(f"{manifest.seed} {sample.batches}")
    with _open_runs(folder, manifest) as (runs, images):
        frame = build_item_frame([*runs.values()], images, manifest.seed)
        labels = image_labels(read_study(folder))
        draw = draw_more_items(frame, sample, labels, more, _check_images(folder), rng)
        _write(folder, manifest, draw.sample, runs, images, draw.items, rng)
    names = [run.name for run in manifest.runs]
    labelled = sum(all((names[run], item.item, item.sample) in labels for run in item.runs) for item in sample.items)
    return GrownStudy(len(draw.items), len(draw.sample.items), labelled, draw=draw)


def _count_cell_labels(folder: Path, manifest: StudyManifest, sample: CorrectionSample) -> CellLabels:
    labels = image_labels(read_study(folder))
    cells: dict[CellKey, tuple[int, int]] = {}
    for image in sample.images:
        label = labels.get((manifest.runs[0].name, image.item, image.sample))
        if label is not None:
            yes, count = cells.get((image.level, image.judge), (0, 0))
            cells[image.level, image.judge] = (yes + label, count + 1)
    return cells


def _check_images(folder: Path) -> list[Candidate]:
    tasks = read_study(folder).tasks
    return [Candidate(task.run, task.item, task.sample, task.level) for task in tasks if task.is_check]


@contextmanager
def _open_runs(
    folder: Path, manifest: StudyManifest
) -> Iterator[tuple[Mapping[str, StoredRun], Mapping[Candidate, RateableImage]]]:
    """Open the runs of a study, by name, and list their images that can be rated."""
    with ExitStack() as stack:
        runs = {
            name: stack.enter_context(closing(open_run(path.resolve())))
            for name, path in run_folders(folder, manifest).items()
        }
        images: dict[Candidate, RateableImage] = {}
        for name, run in runs.items():
            rateable, _ = rateable_images(run, manifest.levels or None, grounded=False)
            images |= {Candidate(name, image.item, image.sample, image.level): image for image in rateable}
        yield runs, images


def _write(
    folder: Path,
    manifest: StudyManifest,
    sample: CorrectionSample | ItemSample,
    runs: Mapping[str, StoredRun],
    images: Mapping[Candidate, RateableImage],
    units: Sequence[tuple[Candidate, ...]],
    rng: random.Random,
) -> None:
    """Write the manifest with the additional images, then their tasks."""
    digests = {(image.run, image.item, image.sample): source.sha256 for image, source in images.items()}
    rated = []
    for number, run in enumerate(manifest.runs):
        of_run = [(*image, digests[run.name, *image]) for image in sample.images_of(number)]
        rated.append(replace(run, images=len(of_run), images_digest=images_digest(of_run)))
    write_study_manifest(replace(manifest, runs=tuple(rated), correction=sample), folder)
    _add_tasks(folder, manifest, runs, images, units, rng)


def _add_tasks(
    folder: Path,
    manifest: StudyManifest,
    runs: Mapping[str, StoredRun],
    images: Mapping[Candidate, RateableImage],
    units: Sequence[tuple[Candidate, ...]],
    rng: random.Random,
) -> None:
    """Add rater tasks, assigning all images of a unit to the same raters."""
    items = {(name, item.id): item for name, run in runs.items() for item in run.suite_items()}
    tasks = []
    for rater, share in enumerate(assign_images(units, manifest.raters, manifest.per_image, rng), 1):
        planned = [PlannedTask(rater, image, items[image.run, image.item], False) for unit in share for image in unit]
        rng.shuffle(planned)
        tasks += planned
    chosen = sorted(image for unit in units for image in unit)
    with rating_errors(folder), closing(open_for_answers(folder)) as database:
        database.execute("BEGIN IMMEDIATE")
        write_tasks(database, chosen, images, tasks, manifest.protocol)
        database.execute("COMMIT")
