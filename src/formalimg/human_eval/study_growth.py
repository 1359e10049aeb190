"""Further images for a correction study, or items for one of several runs, drawn where labels narrow intervals most.

The manifest is written first and the tasks of raters after it: where that is interrupted, the manifest says which
images are still to be added, and the next start adds them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from formalimg._util.locks import FolderLock
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, assign_images
from formalimg.human_eval.correction import Labelled, LabelPrecision, draw_more, judge_of_run
from formalimg.human_eval.correction_sample import CellKey, CorrectionSample, ItemSample
from formalimg.human_eval.database import PlannedTask, images_digest, open_for_answers, rating_errors, write_tasks
from formalimg.human_eval.item_correction import ImageLabels, ItemDraw, draw_more_items
from formalimg.human_eval.labels import image_labels
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest, write_study_manifest
from formalimg.human_eval.rateable_images import RateableImage, rateable_images
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import TAKEN
from formalimg.human_eval.study_builder import item_frame, judged_images
from formalimg.human_eval.tasks import run_folders
from formalimg.runs.reader import StoredRun, open_run


class GrownStudy(NamedTuple):
    """What was added to a study."""

    added: int  # number of images; of items, in a study of several runs
    images: int  # number of all its images, or items
    labelled: int  # number of those with a label so far; of items, in all runs
    # of all images once they are labelled; `others` has that of the labels so far. None where images of an
    # interrupted call were added, and for several runs
    precision: LabelPrecision | None
    # the further items, and how precise the differences are and will be, in a study of several runs
    draw: ItemDraw | None = None


def add_images(folder: str | Path, more: int) -> GrownStudy:
    """Add images to a correction study, or items to one of several runs; links and answers of its raters stay.

    If an earlier call was interrupted, its images are added, and no others.
    """
    place = Path(folder)
    manifest = read_study_manifest(place)
    if manifest.correction is None:
        raise FormalimgError(f"{place} was not drawn to correct a judge: make a study with --for-correction")
    if more < 1:
        raise FormalimgError(f"{more} further images: add at least 1")
    lock = FolderLock(place, TAKEN)
    try:
        sample = manifest.correction
        late = _finish(place, manifest)
        if isinstance(sample, ItemSample):
            if late:
                return GrownStudy(late, len(sample.items), 0, None)
            return _add_items(place, manifest, sample, more)
        if late:
            return GrownStudy(late, len(sample.images), _label_count(_labels_by_cell(sample, _labels(place))), None)
        return _add_images(place, manifest, sample, more)
    finally:
        lock.release()


def finish_growth(folder: str | Path) -> int:
    """Add the images or items of an interrupted `add_images`, and return how many they were; 0 for most studies."""
    place = Path(folder)
    manifest = read_study_manifest(place)
    if manifest.correction is None or not _without_tasks(place, manifest):
        return 0
    lock = FolderLock(place, TAKEN)
    try:
        return _finish(place, manifest)
    finally:
        lock.release()


@dataclass(frozen=True)
class _StudiedRuns:
    """The runs of a study, opened, with the images that can be rated."""

    names: tuple[str, ...]
    runs: tuple[StoredRun, ...]
    images: Mapping[Candidate, RateableImage]


@contextmanager
def _open_runs(place: Path, manifest: StudyManifest) -> Iterator[_StudiedRuns]:
    with ExitStack() as stack:
        folders = run_folders(place, manifest)
        runs = tuple(stack.enter_context(closing(open_run(folder.resolve()))) for folder in folders.values())
        images: dict[Candidate, RateableImage] = {}
        for name, run in zip(folders, runs, strict=True):
            rateable, _ = rateable_images(run, manifest.levels or None, grounded=False)
            images |= {Candidate(name, each.item, each.sample, each.level): each for each in rateable}
        yield _StudiedRuns(tuple(folders), runs, images)


def _add_images(place: Path, manifest: StudyManifest, sample: CorrectionSample, more: int) -> GrownStudy:
    with _open_runs(place, manifest) as studied:
        (run,) = studied.runs
        judge = judge_of_run(run.manifest, run.folder)
        if judge != sample.judge:
            raise FormalimgError(
                f"the last judge of {run.folder} is {judge}, and images were drawn by the answers of {sample.judge}: "
                "make a new study"
            )
        cells = _labels_by_cell(sample, _labels(place))
        rng = random.Random(f"{manifest.seed} {sample.batches}")
        chosen, grown, precision = draw_more(
            judged_images(studied.images), sample, cells, more, _check_images(place), rng
        )
        _write_growth(place, manifest, grown, studied)
        _add_tasks(place, manifest, studied, [(image,) for image in chosen], rng)
    return GrownStudy(len(chosen), len(grown.images), _label_count(cells), precision)


def _add_items(place: Path, manifest: StudyManifest, sample: ItemSample, more: int) -> GrownStudy:
    with _open_runs(place, manifest) as studied:
        frame = item_frame(studied.runs, studied.images, manifest.seed)
        rng = random.Random(f"{manifest.seed} {sample.batches}")
        labels = _labels(place)
        draw = draw_more_items(frame, sample, labels, more, _check_images(place), rng)
        _write_growth(place, manifest, draw.sample, studied)
        _add_tasks(place, manifest, studied, draw.items, rng)
    names = [run.name for run in manifest.runs]
    labelled = sum(all((names[run], each.item, each.sample) in labels for run in each.runs) for each in sample.items)
    return GrownStudy(len(draw.items), len(draw.sample.items), labelled, None, draw)


def _write_growth(
    place: Path, manifest: StudyManifest, sample: CorrectionSample | ItemSample, studied: _StudiedRuns
) -> None:
    """Write the manifest with the further images."""
    digests = {(image.run, image.item, image.sample): found.sha256 for image, found in studied.images.items()}
    rated = []
    for number, run in enumerate(manifest.runs):
        images = [(item, of_item, digests[run.name, item, of_item]) for item, of_item in sample.images_of(number)]
        rated.append(replace(run, images=len(images), images_digest=images_digest(images)))
    write_study_manifest(replace(manifest, runs=tuple(rated), correction=sample), place)


def _finish(place: Path, manifest: StudyManifest) -> int:
    """Add tasks for the images that have none, and return how many images, or items, they are."""
    late = _without_tasks(place, manifest)
    if not late:
        return 0
    with _open_runs(place, manifest) as studied:
        by_item: dict[str | Candidate, list[Candidate]] = {}
        for image in studied.images:
            if (image.run, image.item, image.sample) in late:
                is_of_several = isinstance(manifest.correction, ItemSample)
                by_item.setdefault(image.item if is_of_several else image, []).append(image)
        units = [tuple(images) for images in by_item.values()]
        if sum(map(len, units)) < len(late):
            raise FormalimgError(f"images that were drawn for {place} are missing: restore its runs")
        _add_tasks(place, manifest, studied, units, random.Random(manifest.seed))
    return len(units)


def _without_tasks(place: Path, manifest: StudyManifest) -> set[tuple[str, str, int]]:
    assert manifest.correction is not None
    there = {(task.run, task.item, task.sample) for task in read_study(place).tasks if not task.is_check}
    drawn = {
        (run.name, *image)
        for number, run in enumerate(manifest.runs)
        for image in manifest.correction.images_of(number)
    }
    return drawn - there


def _check_images(place: Path) -> list[Candidate]:
    return [
        Candidate(task.run, task.item, task.sample, task.level) for task in read_study(place).tasks if task.is_check
    ]


def _labels(place: Path) -> ImageLabels:
    return image_labels(read_study(place))


def _labels_by_cell(sample: CorrectionSample, labels: ImageLabels) -> Labelled:
    by_image = {(item, number): label for (_, item, number), label in labels.items()}
    cells: dict[CellKey, tuple[int, int]] = {}
    for image in sample.images:
        label = by_image.get((image.item, image.sample))
        if label is not None:
            yes, count = cells.get((image.level, image.judge), (0, 0))
            cells[image.level, image.judge] = (yes + label, count + 1)
    return cells


def _label_count(cells: Labelled) -> int:
    return sum(count for _, count in cells.values())


def _add_tasks(
    place: Path,
    manifest: StudyManifest,
    studied: _StudiedRuns,
    units: Sequence[tuple[Candidate, ...]],
    rng: random.Random,
) -> None:
    """Add tasks of raters; the images of a unit go to the same raters."""
    items = {
        (name, item.id): item
        for name, run in zip(studied.names, studied.runs, strict=True)
        for item in run.suite_items()
    }
    tasks = []
    for rater, share in enumerate(assign_images(units, manifest.raters, manifest.per_image, rng), 1):
        shown = [PlannedTask(rater, image, items[image.run, image.item], False) for unit in share for image in unit]
        rng.shuffle(shown)
        tasks += shown
    chosen = sorted(image for unit in units for image in unit)
    with rating_errors(place), closing(open_for_answers(place)) as database:
        database.execute("BEGIN IMMEDIATE")
        write_tasks(database, chosen, studied.images, tasks, manifest.protocol)
        database.execute("COMMIT")
