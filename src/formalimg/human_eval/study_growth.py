"""Further images for a correction study, drawn where labels narrow the corrected interval most.

The manifest is written first and the tasks of raters after it: where that is interrupted, the manifest says which
images are still to be added, and the next start adds them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from formalimg._util.locks import FolderLock
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate, assign_images
from formalimg.human_eval.correction import Labelled, LabelPrecision, draw_more, judge_of_run
from formalimg.human_eval.correction_sample import CellKey, CorrectionSample
from formalimg.human_eval.database import PlannedTask, images_digest, open_for_answers, rating_errors, write_tasks
from formalimg.human_eval.labels import image_labels
from formalimg.human_eval.manifest import StudyManifest, read_study_manifest, write_study_manifest
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import TAKEN
from formalimg.human_eval.study_builder import RateableImage, judged_images, rateable_images
from formalimg.human_eval.tasks import run_folders
from formalimg.runs.reader import StoredRun, open_run


class GrownStudy(NamedTuple):
    """What was added to a study.

    Attributes:
        added: number of images.
        images: number of all its images.
        labelled: number of images with a label so far.
        precision: of all images once they are labelled; `others` has that of the labels so far. None where images of
            an interrupted call were added.
    """

    added: int
    images: int
    labelled: int
    precision: LabelPrecision | None


def add_images(folder: str | Path, more: int) -> GrownStudy:
    """Add images to a correction study; links and answers of its raters stay.

    If an earlier call was interrupted, its images are added, and no others.

    Args:
        folder: the study.
        more: how many images; all that are left if there are fewer.

    Raises:
        LockedError: if the study is open for answers.
        FormalimgError: if it corrects no judge, its run has changed, or no image is left.
    """
    place = Path(folder)
    manifest = read_study_manifest(place)
    if manifest.correction is None:
        raise FormalimgError(f"{place} was not drawn to correct a judge: make a study with --for-correction")
    if more < 1:
        raise FormalimgError(f"{more} further images: add at least 1")
    lock = FolderLock(place, TAKEN)
    try:
        late = _finish(place, manifest)
        if late:
            return GrownStudy(late, len(manifest.correction.images), _labelled(place)[1], None)
        return _grow(place, manifest, manifest.correction, more)
    finally:
        lock.release()


def finish_growth(folder: str | Path) -> int:
    """Add the images of an interrupted `add_images`, and return how many they were; 0 for most studies.

    Raises:
        LockedError: if the study is open for answers.
        FormalimgError: if its run has changed.
    """
    place = Path(folder)
    manifest = read_study_manifest(place)
    if manifest.correction is None or not _without_tasks(place, manifest.correction):
        return 0
    lock = FolderLock(place, TAKEN)
    try:
        return _finish(place, manifest)
    finally:
        lock.release()


def _grow(place: Path, manifest: StudyManifest, sample: CorrectionSample, more: int) -> GrownStudy:
    with closing(_open_run(place, manifest)) as run:
        judge = judge_of_run(run.manifest, run.folder)
        if judge != sample.judge:
            raise FormalimgError(
                f"the last judge of {run.folder} is {judge}, and images were drawn by the answers of {sample.judge}: "
                "make a new study"
            )
        images = _images_of(run, manifest)
        known, labelled = _labelled(place)
        reserved = [
            Candidate(task.run, task.item, task.sample, task.level) for task in read_study(place).tasks if task.is_check
        ]
        rng = random.Random(f"{manifest.seed} {sample.batches}")
        chosen, grown, precision = draw_more(judged_images(images), sample, known, more, reserved, rng)
        by_name = {(it.item, it.sample): image.sha256 for it, image in images.items()}
        rated = replace(
            manifest.runs[0],
            images=len(grown.images),
            images_digest=images_digest((it.item, it.sample, by_name[it.item, it.sample]) for it in grown.images),
        )
        write_study_manifest(replace(manifest, runs=(rated,), correction=grown), place)
        _add_tasks(place, manifest, run, images, chosen, rng)
    return GrownStudy(len(chosen), len(grown.images), labelled, precision)


def _finish(place: Path, manifest: StudyManifest) -> int:
    """Add tasks for the images that have none."""
    assert manifest.correction is not None
    late = _without_tasks(place, manifest.correction)
    if not late:
        return 0
    with closing(_open_run(place, manifest)) as run:
        images = _images_of(run, manifest)
        chosen = [it for it in images if (it.item, it.sample) in late]
        if len(chosen) < len(late):
            raise FormalimgError(f"images of {run.folder} that were drawn are missing: restore the run")
        _add_tasks(place, manifest, run, images, chosen, random.Random(manifest.seed))
    return len(late)


def _without_tasks(place: Path, sample: CorrectionSample) -> set[tuple[str, int]]:
    there = {(task.item, task.sample) for task in read_study(place).tasks if not task.is_check}
    return {(it.item, it.sample) for it in sample.images} - there


def _open_run(place: Path, manifest: StudyManifest) -> StoredRun:
    (folder,) = run_folders(place, manifest).values()
    return open_run(folder.resolve())


def _images_of(run: StoredRun, manifest: StudyManifest) -> dict[Candidate, RateableImage]:
    name = manifest.runs[0].name
    found, _ = rateable_images(run, manifest.levels or None, grounded=False)
    return {Candidate(name, it.item, it.sample, it.level): it for it in found}


def _labelled(place: Path) -> tuple[Labelled, int]:
    """Return the labels so far by cell, and their number."""
    study = read_study(place)
    assert study.manifest.correction is not None
    labels = image_labels(study)
    (run,) = (rated.name for rated in study.manifest.runs)
    found: dict[CellKey, tuple[int, int]] = {}
    for it in study.manifest.correction.images:
        label = labels.get((run, it.item, it.sample))
        if label is not None:
            yes, count = found.get((it.level, it.judge), (0, 0))
            found[it.level, it.judge] = (yes + label, count + 1)
    return found, sum(count for _, count in found.values())


def _add_tasks(
    place: Path,
    manifest: StudyManifest,
    run: StoredRun,
    images: Mapping[Candidate, RateableImage],
    chosen: Sequence[Candidate],
    rng: random.Random,
) -> None:
    items = {item.id: item for item in run.suite_items()}
    shares = assign_images(chosen, manifest.raters, manifest.per_image, rng)
    tasks = []
    for rater, share in enumerate(shares, 1):
        shown = [PlannedTask(rater, it, items[it.item], False) for it in share]
        rng.shuffle(shown)
        tasks += shown
    with rating_errors(place), closing(open_for_answers(place)) as database:
        database.execute("BEGIN IMMEDIATE")
        write_tasks(database, sorted(chosen), images, tasks, manifest.protocol)
        database.execute("COMMIT")
