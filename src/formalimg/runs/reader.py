"""Read run folders: manifest, items, outcomes, verdicts and images of a run, also while it is being written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from formalimg._util.strict_json import (
    MAX_COST,
    StoredValueError,
    stored_digest,
    stored_file_name,
    stored_json,
    stored_number,
    wrong_value,
)
from formalimg._util.text import truncate
from formalimg.benchmarks.items_file import decode_item
from formalimg.benchmarks.record import ItemsError
from formalimg.drawing.icon_scene import FailedLayoutError, read_layout
from formalimg.errors import FormalimgError
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
from formalimg.runs.rows import (
    ExistingImage,
    PlannedItem,
    PlannedItems,
    RunCost,
    existing_image,
    item_record,
    judge_identity,
    match_count,
    question_and_image,
    row_seconds,
    run_cost,
    unscored_reason,
    verdict_part,
)
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Judge, RunRecord, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.runs.activity import ImageCounts, RunActivity
    from formalimg.runs.facets import FacetCounts, FacetIndex

_JUDGED_COLUMNS = f"{OUTCOME_COLUMNS}, seed, file, sha256, served, parts, evidence, verdicts.cost, verdicts.unpriced"
_IMPOSSIBLE_COSTS = (
    f"sum(typeof(cost) <> 'real' OR cost NOT BETWEEN 0 AND {MAX_COST} OR typeof(unpriced) <> 'integer' OR unpriced < 0)"
)

Converted = TypeVar("Converted")


@dataclass(frozen=True)
class Judged:
    """One image with its verdict and everything else that is stored about it."""

    outcome: ImageOutcome  # its outcome
    seed: int  # the seed it was generated with
    image: ImageLocation | None  # the file, in the run folder or on an object store; None if there is none
    served: Mapping[str, Setting]  # what the image model reported about its settings
    verdict: Verdict | Unscored  # parts and evidence, or why there is no verdict
    sha256: str = ""  # the recorded digest of the file; empty if there is none


class StoredRun:
    """A run folder, opened for reading; see `RunRecord`. Never locks, never writes; may be written to meanwhile."""

    def __init__(self, folder: str | Path, judge: Identity | None = None) -> None:
        """Open the folder."""
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

    @property
    def has_images(self) -> bool:
        """Whether the images are here; False if the answers about them were imported."""
        return not self._manifest.imported

    @property
    def items(self) -> Mapping[str, PlannedItem]:
        """The items, by id, in the order of the suite; read from the database whenever they are needed."""
        return PlannedItems(self._read)

    def item(self, name: str) -> PlannedItem | None:
        """Return the item with this id, or None."""
        return self.items.get(name)

    def suite_item(self, name: str) -> Item[object] | None:
        """Return the item with this id as the suite has it, or None."""
        rows = self._read(item_record, "SELECT id, level, record FROM items WHERE id = :item", item=name)
        return next((self._suite_item(*row) for row in rows), None)

    def suite_items(self) -> list[Item[object]]:
        """Return the items as the suite has them, for judging them again."""
        rows = list(self._read(item_record, "SELECT id, level, record FROM items ORDER BY position"))
        return [self._suite_item(*row) for row in rows]

    def item_heads(self) -> Iterator[tuple[Any, ...]]:
        """Yield id, level, tags (JSON), version and question of each item, as they are stored."""
        version = "CASE WHEN json_valid(record) THEN json_extract(record, '$.version') END"
        return self._read(tuple, f"SELECT id, level, tags, {version}, question FROM items ORDER BY position")

    def outcomes(self) -> Sequence[ImageOutcome]:
        """Return the outcome of each planned image, ordered by item and sample."""
        return list(self._read(read_outcome, f"SELECT {OUTCOME_COLUMNS} {ALL_IMAGES} ORDER BY position, sample"))

    def spent(self) -> RunCost:
        """Return the cost of the run so far, for all attempts and all judges."""
        costs = "SELECT cost, unpriced FROM pictures UNION ALL SELECT cost, unpriced FROM verdicts"
        sums = f"SELECT total(cost), coalesce(sum(unpriced), 0), {_IMPOSSIBLE_COSTS} FROM ({costs})"
        (found,) = self._read(run_cost, sums)
        return found

    def counts(self) -> ImageCounts:
        """Return how many images are planned, generated and judged."""
        from formalimg.runs.activity import image_counts  # here, because only those who watch a run ask

        return image_counts(self._read, has_judge=self._manifest.judge is not None)

    def activity(self) -> RunActivity:
        """Return how far the run is and how fast, provided that it is in progress."""
        from formalimg.runs.activity import run_activity

        return run_activity(self._read, self._folder, self.spent(), has_judge=self._manifest.judge is not None)

    def matched(self) -> str:
        """Return how premade images were matched to their items, as in `1,980 by id, 20 by prompt`; else nothing."""
        way = "CASE WHEN json_valid(served) THEN json_extract(served, '$.matched_by') END"
        query = f"SELECT {way}, count(*) FROM pictures WHERE status = 'made' GROUP BY 1"
        from formalimg.models.folder.file_matching import format_matches  # here, because few runs have such images

        return format_matches(dict(self._read(match_count, query)))

    def judges(self) -> tuple[Identity, ...]:
        """Return all judges of images of this run, in the order in which they first ran."""
        return tuple(self._read(judge_identity, "SELECT name, settings FROM judges ORDER BY rowid"))

    def image_seconds(self) -> Sequence[float]:
        """Return how many seconds each image took that the model made, as far as it was recorded."""
        return list(
            self._read(row_seconds, "SELECT seconds FROM pictures WHERE status = 'made' AND seconds IS NOT NULL")
        )

    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]:
        """Yield these images (item and sample), or all planned ones, with their verdicts."""
        if images is None:
            yield from self._read(self._judged, f"SELECT {_JUDGED_COLUMNS} {ALL_IMAGES} ORDER BY position, sample")
            return
        one = f"SELECT {_JUDGED_COLUMNS} {ALL_IMAGES} WHERE pictures.item = :item AND pictures.sample = :sample"
        for item, sample in images:
            yield from self._read(self._judged, one, item=item, sample=sample)

    def page(self, wanted: ImageFilter, start: int, count: int, *, by_score: bool = False) -> ImagePage:
        """Return a page of the matching images, from number `start` on, and the total number of matches."""
        found = image_page(self._read, wanted, start, count, by_score=by_score)
        if self.has_images:
            return found
        return found._replace(images=tuple(image._replace(sha256=None) for image in found.images))

    def neighbours(
        self, wanted: ImageFilter, item: str, sample: int, *, by_score: bool = False
    ) -> tuple[ListedImage | None, ListedImage | None]:
        """Return the matching images right before and right after an image."""
        return image_neighbours(self._read, wanted, item, sample, by_score=by_score)

    def count_before(self, wanted: ImageFilter, item: str, sample: int, *, by_score: bool = False) -> int:
        """Return the number of matching images before an image."""
        return count_before(self._read, wanted, item, sample, by_score=by_score)

    def facets(self) -> FacetIndex:
        """Return the index by which the images of each choice of a filter are counted. It reads the whole run."""
        from formalimg.runs.facets import read_facets  # here, because only viewers count

        return read_facets(self._read)

    def count_facets(self, index: FacetIndex, wanted: ImageFilter) -> FacetCounts:
        """Return how many images match each choice of a filter, given its other choices."""
        from formalimg.runs.facets import count_facets

        return count_facets(self._read, index, wanted)

    def image_file(self, item: str, sample: int) -> ImageFile | None:
        """Return the file of an image; None if there is none, or if its name leads out of the run."""
        return find_image_file(self._read, self._images, item, sample) if self.has_images else None

    def made(self) -> dict[tuple[str, int], ExistingImage]:
        """Return the images that exist, by item and sample."""
        return dict(self._read(existing_image, "SELECT item, sample, key, sha256 FROM pictures WHERE status = 'made'"))

    def scored(self, judge: Judge) -> set[tuple[str, str]]:
        """Return question and image of all verdicts of a judge."""
        query = "SELECT question, picture FROM verdicts WHERE judge = :one AND passed IS NOT NULL"
        return set(self._read(question_and_image, query, one=judge_key(judge)))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _read(
        self, convert: Callable[[tuple[Any, ...]], Converted], query: str, **values: object
    ) -> Iterator[Converted]:
        """Yield the rows of a query, converted; errors say what is damaged."""
        judge = "" if self._manifest.judge is None else judge_key(self._manifest.judge)
        with run_database_errors(self._folder):
            for row in self._database.rows(query, {"judge": judge, **values}):
                yield convert(row)

    def _suite_item(self, id_: str, level: int, record: str) -> Item[object]:
        try:
            item = decode_item(record, self._manifest.suite)
            if (item.id, item.level) == (id_, level):
                return item
            wrong = f"its record is of item {item.id}, level {item.level}"
        except RecursionError:
            wrong = "its record is nested too deep"
        except ItemsError as error:
            wrong = error.findings[0]
        with run_database_errors(self._folder):
            raise StoredValueError(f"item {truncate(id_, 50, 20)}: {wrong}")

    def _judged(self, row: tuple[Any, ...]) -> Judged:
        outcome = read_outcome(row)
        seed, file, sha256, served, parts, evidence, known, unpriced = row[OUTCOME_WIDTH:]
        cost = None if unpriced else stored_number(known or 0.0, "cost")
        seen = stored_json(evidence, "evidence", dict) if evidence else {}
        verdict: Verdict | Unscored
        if outcome.passed is None:
            verdict = Unscored(unscored_reason(outcome.reason), outcome.detail, seen, cost)
        else:
            verdict = Verdict(outcome.passed, tuple(map(verdict_part, stored_json(parts, "parts", list))), seen, cost)
        if type(seed) is not int:
            raise wrong_value("seed", seed)
        settings = stored_json(served, "served", dict)
        if file is None or not self.has_images:
            return Judged(outcome, seed, None, settings, verdict)
        digest = "" if sha256 is None else stored_digest(sha256, "sha256")
        return Judged(
            outcome, seed, self._images.place(stored_file_name(file, "file"), digest), settings, verdict, digest
        )


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
    """Return an image of a run by the path it has, or would have, in the run folder; it may be on an object store."""
    folder, url, owner = path.parent.parent, "", ""
    if not os.path.lexists(path) and (folder / MANIFEST_FILE).exists():
        manifest = read_manifest(folder)
        url, owner = manifest.images, manifest.image_owner
    return open_image_store(folder, url, owner).place(path.name, sha256)


def load_layouts(run: RunRecord) -> dict[str, Scene]:
    """Return the first layout of each item of a layout run, by item id; right or wrong, as the planner made them."""
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
        except FailedLayoutError:  # the planner has none for this item
            continue
        except SceneError as error:
            advice = "make one with `formalimg run knolling --task layout`"
            raise FormalimgError(f"{run.folder} is not a run of the layout task ({error}): {advice}") from error
    return layouts
