"""Extension of a correction study by further images or items, sampled where labels narrow intervals most.

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
    precision: LabelPrecision | None
    # the further items, and how precise the differences are and will be, in a study of several runs
    draw: ItemDraw | None = None


def add_images(folder: str | Path, more: int) -> GrownStudy:
    """Add images (or items, for several runs) to a correction study, preserving its links and answers."""
    folder = Path(folder)
    manifest = read_study_manifest(folder)
    sample = manifest.correction
    if sample is None:
        raise FormalimgError(f"{folder} was not drawn to correct a judge: make a study with --for-correction")
    if more < 1:
        raise FormalimgError(f"{more} further images: add at least 1")
    with closing(_Extension(folder, manifest, sample)) as extension:
        late = extension.finish()
        if isinstance(sample, ItemSample):
            return GrownStudy(late, len(sample.items), 0, None) if late else extension.add_items(sample, more)
        if late:
            return GrownStudy(late, len(sample.images), count_labels(extension.count_cell_labels(sample)), None)
        return extension.add_images(sample, more)


def finish_growth(folder: str | Path) -> int:
    """Complete an interrupted `add_images` and return the number of images or items added, usually 0."""
    folder = Path(folder)
    manifest = read_study_manifest(folder)
    if manifest.correction is None or not _find_unassigned(folder, manifest, manifest.correction):
        return 0
    with closing(_Extension(folder, manifest, manifest.correction)) as extension:
        return extension.finish()


def _find_unassigned(
    folder: Path, manifest: StudyManifest, sample: CorrectionSample | ItemSample
) -> set[tuple[str, str, int]]:
    assigned = {(task.run, task.item, task.sample) for task in read_study(folder).tasks if not task.is_check}
    drawn = {(run.name, *image) for number, run in enumerate(manifest.runs) for image in sample.images_of(number)}
    return drawn - assigned


@dataclass(frozen=True)
class _OpenRuns:
    runs: Mapping[str, StoredRun]
    images: Mapping[Candidate, RateableImage]


class _Extension:
    def __init__(self, folder: Path, manifest: StudyManifest, sample: CorrectionSample | ItemSample) -> None:
        self.folder, self.manifest, self.sample = folder, manifest, sample
        self.rng = random.Random(f"{manifest.seed} {sample.batches}")
        self.lock = FolderLock(folder, TAKEN)

    def close(self) -> None:
        self.lock.release()

    def add_images(self, sample: CorrectionSample, more: int) -> GrownStudy:
        with self._open_runs() as opened:
            (run,) = opened.runs.values()
            judge = judge_of_run(run)
            if judge != sample.judge:
                raise FormalimgError(
                    f"the last judge of {run.folder} is {judge}, and images were drawn by the answers of "
                    f"{sample.judge}: make a new study"
                )
            labels = self.count_cell_labels(sample)
            chosen, grown, precision = draw_more(
                select_judged(opened.images), sample, labels, more, self._check_images(), self.rng
            )
            self._write(grown, opened, [(image,) for image in chosen])
        return GrownStudy(len(chosen), len(grown.images), count_labels(labels), precision)

    def add_items(self, sample: ItemSample, more: int) -> GrownStudy:
        with self._open_runs() as opened:
            frame = build_item_frame([*opened.runs.values()], opened.images, self.manifest.seed)
            labels = image_labels(read_study(self.folder))
            draw = draw_more_items(frame, sample, labels, more, self._check_images(), self.rng)
            self._write(draw.sample, opened, draw.items)
        names = [run.name for run in self.manifest.runs]
        labelled = sum(
            all((names[run], item.item, item.sample) in labels for run in item.runs) for item in sample.items
        )
        return GrownStudy(len(draw.items), len(draw.sample.items), labelled, None, draw)

    def finish(self) -> int:
        """Add tasks for images without one, and return the number of images or items."""
        unassigned = _find_unassigned(self.folder, self.manifest, self.sample)
        if not unassigned:
            return 0
        by_item: dict[str | Candidate, list[Candidate]] = {}
        with self._open_runs() as opened:
            for image in opened.images:
                if (image.run, image.item, image.sample) in unassigned:
                    unit = image.item if isinstance(self.sample, ItemSample) else image
                    by_item.setdefault(unit, []).append(image)
            units = [tuple(images) for images in by_item.values()]
            if sum(map(len, units)) < len(unassigned):
                raise FormalimgError(f"images that were drawn for {self.folder} are missing: restore its runs")
            self._add_tasks(opened, units, random.Random(self.manifest.seed))
        return len(units)

    def count_cell_labels(self, sample: CorrectionSample) -> CellLabels:
        """Return the labels of each cell so far."""
        run = self.manifest.runs[0].name
        labels = image_labels(read_study(self.folder))
        cells: dict[CellKey, tuple[int, int]] = {}
        for image in sample.images:
            label = labels.get((run, image.item, image.sample))
            if label is not None:
                yes, count = cells.get((image.level, image.judge), (0, 0))
                cells[image.level, image.judge] = (yes + label, count + 1)
        return cells

    def _check_images(self) -> list[Candidate]:
        tasks = read_study(self.folder).tasks
        return [Candidate(task.run, task.item, task.sample, task.level) for task in tasks if task.is_check]

    @contextmanager
    def _open_runs(self) -> Iterator[_OpenRuns]:
        with ExitStack() as stack:
            runs = {
                name: stack.enter_context(closing(open_run(path.resolve())))
                for name, path in run_folders(self.folder, self.manifest).items()
            }
            images: dict[Candidate, RateableImage] = {}
            for name, run in runs.items():
                rateable, _ = rateable_images(run, self.manifest.levels or None, grounded=False)
                images |= {Candidate(name, image.item, image.sample, image.level): image for image in rateable}
            yield _OpenRuns(runs, images)

    def _write(
        self, sample: CorrectionSample | ItemSample, opened: _OpenRuns, units: Sequence[tuple[Candidate, ...]]
    ) -> None:
        """Write the manifest with the additional images, then their tasks."""
        digests = {(image.run, image.item, image.sample): source.sha256 for image, source in opened.images.items()}
        runs = []
        for number, run in enumerate(self.manifest.runs):
            images = [(*image, digests[run.name, *image]) for image in sample.images_of(number)]
            runs.append(replace(run, images=len(images), images_digest=images_digest(images)))
        write_study_manifest(replace(self.manifest, runs=tuple(runs), correction=sample), self.folder)
        self._add_tasks(opened, units, self.rng)

    def _add_tasks(self, opened: _OpenRuns, units: Sequence[tuple[Candidate, ...]], rng: random.Random) -> None:
        """Add rater tasks, assigning all images of a unit to the same raters."""
        items = {(name, item.id): item for name, run in opened.runs.items() for item in run.suite_items()}
        tasks = []
        for rater, share in enumerate(assign_images(units, self.manifest.raters, self.manifest.per_image, rng), 1):
            planned = [
                PlannedTask(rater, image, items[image.run, image.item], False) for unit in share for image in unit
            ]
            rng.shuffle(planned)
            tasks += planned
        chosen = sorted(image for unit in units for image in unit)
        with rating_errors(self.folder), closing(open_for_answers(self.folder)) as database:
            database.execute("BEGIN IMMEDIATE")
            write_tasks(database, chosen, opened.images, tasks, self.manifest.protocol)
            database.execute("COMMIT")
