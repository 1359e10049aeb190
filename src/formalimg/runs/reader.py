"""Read run folders: manifest, items, outcomes, verdicts and images of a run, also while it is being written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_args

from formalimg.errors import FormalimgError
from formalimg.judges import Judge, Part, Unscored, UnscoredReason, Verdict
from formalimg.models import Setting
from formalimg.runs.database import open_for_reading, run_database_errors
from formalimg.runs.image_store import ImageLocation, open_image_store
from formalimg.runs.inspection import inspect
from formalimg.runs.manifest import MANIFEST_FILE, Identity, RunManifest, read_manifest
from formalimg.runs.plan import judge_key
from formalimg.runs.queries import (
    ALL_IMAGES,
    OUTCOME_COLUMNS,
    OUTCOME_WIDTH,
    ImageFile,
    ImageFilter,
    ImageOutcome,
    ImagePage,
    ListedImage,
    count_before,
    find_image_file,
    image_neighbours,
    image_page,
    read_outcome,
)
from formalimg.scenes import Scene, SceneError, read_layout
from formalimg.suites import Item, decode_item

_JUDGED_COLUMNS = f"{OUTCOME_COLUMNS}, seed, file, sha256, served, parts, evidence, verdicts.cost, verdicts.unpriced"


class PlannedItem(NamedTuple):
    """An item of a run.

    Attributes:
        id: its id in the suite.
        level: its level.
        prompt: the prompt sent to the model.
        formula: its formula as text; empty for suites without.
        tags: words to group items by.
    """

    id: str
    level: int
    prompt: str
    formula: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """One image with its verdict and everything else that is stored about it.

    Attributes:
        outcome: its outcome.
        seed: the seed it was generated with.
        image: the file, in the run folder or on an object store; None if there is none.
        served: what the image model reported about its settings.
        verdict: parts and evidence, or why there is no verdict.
    """

    outcome: ImageOutcome
    seed: int
    image: ImageLocation | None
    served: Mapping[str, Setting]
    verdict: Verdict | Unscored


class RunCost(NamedTuple):
    """The cost of a run.

    Attributes:
        dollars: in US dollars, as far as prices are known.
        unpriced: number of images and verdicts with an unknown price.
    """

    dollars: float
    unpriced: int


class ExistingImage(NamedTuple):
    """An image that exists: its content key, and the digest of its file."""

    key: str
    sha256: str


class RunRecord(Protocol):
    """A run folder, opened for reading. Never locks, never writes; the run may be written to meanwhile."""

    @property
    def folder(self) -> Path:
        """The run folder."""
        ...

    @property
    def manifest(self) -> RunManifest:
        """The settings of the run."""
        ...

    @property
    def items(self) -> Mapping[str, PlannedItem]:
        """The items, by id, in the order of the suite."""
        ...

    def suite_items(self) -> Sequence[Item[object]]:
        """Return the items as the suite has them, with their specifications."""
        ...

    def outcomes(self) -> Sequence[ImageOutcome]:
        """Return the outcome of each planned image, ordered by item and sample."""
        ...

    def spent(self) -> RunCost:
        """Return the cost of the run so far, for all attempts and all judges."""
        ...

    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]:
        """Yield these images (item and sample), or all planned ones, with their verdicts."""
        ...


class StoredRun:
    """A run folder, opened for reading; see `RunRecord`. Never locks, never writes; may be written to meanwhile."""

    def __init__(self, folder: str | Path, judge: Identity | None = None) -> None:
        """Open the folder.

        Args:
            folder: the run folder.
            judge: whose verdicts to show; None for those of the judge that ran last.

        Raises:
            FormalimgError: if it is not a run, or was written by another version of formalimg.
        """
        self._folder = Path(folder)
        manifest = read_manifest(self._folder)
        self._manifest = manifest if judge is None else replace(manifest, judge=judge)
        self._images = open_image_store(self._folder, manifest.images, manifest.image_owner)
        self._database = open_for_reading(self._folder)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self._folder

    @property
    def manifest(self) -> RunManifest:
        """The settings of the run."""
        return self._manifest

    @cached_property
    def items(self) -> Mapping[str, PlannedItem]:
        """The items, by id, in the order of the suite."""
        rows = self._rows("SELECT id, level, prompt, formula, tags FROM items ORDER BY position")
        return {row[0]: _planned_item(row) for row in rows}

    def item(self, name: str) -> PlannedItem | None:
        """Return the item with this id, or None."""
        query = "SELECT id, level, prompt, formula, tags FROM items WHERE id = :item"
        return next((_planned_item(row) for row in self._rows(query, item=name)), None)

    def suite_item(self, name: str) -> Item[object] | None:
        """Return the item with this id as the suite has it, or None."""
        rows = self._rows("SELECT record FROM items WHERE id = :item", item=name)
        return next((decode_item(record, self._manifest.suite) for (record,) in rows), None)

    def suite_items(self) -> list[Item[object]]:
        """Return the items as the suite has them, for judging them again."""
        rows = list(self._rows("SELECT record FROM items ORDER BY position"))
        return [decode_item(record, self._manifest.suite) for (record,) in rows]

    def outcomes(self) -> Sequence[ImageOutcome]:
        """Return the outcome of each planned image, ordered by item and sample."""
        return [
            read_outcome(row) for row in self._rows(f"SELECT {OUTCOME_COLUMNS} {ALL_IMAGES} ORDER BY position, sample")
        ]

    def spent(self) -> RunCost:
        """Return the cost of the run so far, for all attempts and all judges."""
        costs = "SELECT cost, unpriced FROM pictures UNION ALL SELECT cost, unpriced FROM verdicts"
        (found,) = self._rows(f"SELECT total(cost), coalesce(sum(unpriced), 0) FROM ({costs})")
        return RunCost(*found)

    def judges(self) -> tuple[Identity, ...]:
        """Return all judges of images of this run, in the order in which they first ran."""
        rows = self._rows("SELECT name, settings FROM judges ORDER BY rowid")
        return tuple(Identity(name, json.loads(settings)) for name, settings in rows)

    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]:
        """Yield these images (item and sample), or all planned ones, with their verdicts."""
        if images is None:
            rows = self._rows(f"SELECT {_JUDGED_COLUMNS} {ALL_IMAGES} ORDER BY position, sample")
        else:
            one = f"SELECT {_JUDGED_COLUMNS} {ALL_IMAGES} WHERE pictures.item = :item AND pictures.sample = :sample"
            rows = (row for item, sample in images for row in self._rows(one, item=item, sample=sample))
        for row in rows:
            yield self._judged(row)

    def page(self, wanted: ImageFilter, start: int, count: int) -> ImagePage:
        """Return a page of the matching images, from number `start` on, and the total number of matches."""
        return image_page(self._rows, wanted, start, count)

    def neighbours(self, wanted: ImageFilter, item: str, sample: int) -> tuple[ListedImage | None, ListedImage | None]:
        """Return the matching images right before and right after an image."""
        return image_neighbours(self._rows, wanted, item, sample)

    def count_before(self, wanted: ImageFilter, item: str, sample: int) -> int:
        """Return the number of matching images before an image."""
        return count_before(self._rows, wanted, item, sample)

    def image_file(self, item: str, sample: int) -> ImageFile | None:
        """Return the file of an image; None if there is none, or if its name leads out of the run."""
        return find_image_file(self._rows, self._images, item, sample)

    def made(self) -> dict[tuple[str, int], ExistingImage]:
        """Return the images that exist, by item and sample."""
        rows = self._rows("SELECT item, sample, key, sha256 FROM pictures WHERE status = 'made'")
        return {(item, sample): ExistingImage(key, sha256) for item, sample, key, sha256 in rows}

    def scored(self, judge: Judge) -> set[tuple[str, str]]:
        """Return question and image of all verdicts of a judge."""
        query = "SELECT question, picture FROM verdicts WHERE judge = :one AND passed IS NOT NULL"
        return set(self._rows(query, one=judge_key(judge)))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _rows(self, query: str, **values: object) -> Iterator[tuple[Any, ...]]:
        judge = "" if self._manifest.judge is None else judge_key(self._manifest.judge)
        with run_database_errors(self._folder):
            yield from self._database.execute(query, {"judge": judge, **values})

    def _judged(self, row: tuple[Any, ...]) -> Judged:
        outcome = read_outcome(row)
        seed, file, sha256, served, parts, evidence, known, unpriced = row[OUTCOME_WIDTH:]
        cost = None if unpriced else known or 0.0
        verdict: Verdict | Unscored
        if outcome.passed is None:
            verdict = Unscored(_reason(outcome.reason), outcome.detail, json.loads(evidence or "{}"), cost)
        else:
            found = tuple(map(Part.from_json, json.loads(parts)))
            verdict = Verdict(outcome.passed, found, json.loads(evidence), cost)
        image = None if file is None else self._images.place(file, sha256 or "")
        return Judged(outcome, seed, image, json.loads(served), verdict)


def open_run(folder: str | Path, judge: Identity | None = None) -> StoredRun:
    """Open a run folder for reading.

    Args:
        folder: the run folder.
        judge: whose verdicts to show, one of `StoredRun.judges()`; None for those of the judge that ran last.

    Raises:
        FormalimgError: if it is not a run, or was written by another version of formalimg.
    """
    return StoredRun(folder, judge)


def locate_image(path: Path, sha256: str) -> ImageLocation:
    """Return an image of a run by the path it has, or would have, in the run folder; it may be on an object store.

    Args:
        path: its path.
        sha256: the digest of its bytes.

    Raises:
        FormalimgError: if the manifest of the run cannot be read.
    """
    folder, url, owner = path.parent.parent, "", ""
    if not os.path.lexists(path) and (folder / MANIFEST_FILE).exists():
        manifest = read_manifest(folder)
        url, owner = manifest.images, manifest.image_owner
    return open_image_store(folder, url, owner).place(path.name, sha256)


def load_layouts(run: RunRecord) -> dict[str, Scene]:
    """Return the first layout of each item of a layout run, by item id; right or wrong, as the planner made them.

    Raises:
        FormalimgError: if the run holds images and not layouts.
    """
    layouts = {}
    for judged in run.judged():
        if judged.image is None or judged.outcome.sample:
            continue
        try:
            image = inspect(judged.image.read_bytes())
        except OSError as error:
            raise FormalimgError(f"cannot read the layout {judged.image}: {error.strerror}") from error
        try:
            if isinstance(image, Unscored):
                raise SceneError([image.detail])
            layouts[judged.outcome.item] = read_layout(image.pil)
        except SceneError as error:
            advice = "make one with `formalimg run knolling --task layout`"
            raise FormalimgError(f"{run.folder} is not a run of the layout task ({error}): {advice}") from error
    return layouts


def _planned_item(row: tuple[Any, ...]) -> PlannedItem:
    id_, level, prompt, formula, tags = row
    return PlannedItem(id_, level, prompt, formula, tuple(json.loads(tags)))


def _reason(text: str) -> UnscoredReason:
    if text not in get_args(UnscoredReason):
        raise FormalimgError(f"an image is unscored for the unknown reason {text!r}: use the version that made the run")
    return text  # type: ignore[return-value]
