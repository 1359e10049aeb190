"""Read access to run folders: manifest, items, outcomes, verdicts and images, even during a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

from formalimg._util.strict_json import (
    MAX_COST,
    StoredValueError,
    stored_digest,
    stored_file_name,
    stored_integer,
    stored_json,
    stored_number,
    stored_text,
    wrong_value,
)
from formalimg._util.text import truncate
from formalimg.benchmarks.items_file import FiledItem, ItemRecords, decode_item, encode_item
from formalimg.benchmarks.record import ItemsError
from formalimg.drawing.icon_scene import FailedLayoutError, read_layout
from formalimg.errors import FormalimgError
from formalimg.runs.database import (
    ExistingImage,
    PlannedItem,
    PlannedItems,
    RunCost,
    open_for_reading,
    read_identity,
    read_part,
    read_reason,
    row_reader,
    run_database_errors,
    stored_name,
)
from formalimg.runs.image_store import ImageLocation, open_image_store
from formalimg.runs.inspection import inspect
from formalimg.runs.manifest import MANIFEST_FILE, Identity, RunManifest, read_manifest
from formalimg.runs.plan import judge_key
from formalimg.runs.queries import (
    ALL_IMAGES,
    OUTCOME_COLUMNS,
    OUTCOME_WIDTH,
    Converted,
    ImageFilter,
    ImageOutcome,
    ImageQueries,
    read_outcome,
)
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Judge, RunRecord, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.runs.image_counts import FacetCounts, FacetIndex, ImageCounts, RunActivity

_JUDGED_COLUMNS = f"{OUTCOME_COLUMNS}, seed, file, sha256, served, parts, evidence, verdicts.cost, verdicts.unpriced"
_IMPOSSIBLE_COSTS = (
    f"sum(typeof(cost) <> 'real' OR cost NOT BETWEEN 0 AND {MAX_COST} OR typeof(unpriced) <> 'integer' OR unpriced < 0)"
)


@dataclass(frozen=True)
class Judged:
    """An image with its verdict and all other stored data."""

    outcome: ImageOutcome  # its outcome
    seed: int  # the seed it was generated with
    image: ImageLocation | None  # the file, in the run folder or on an object store; None if there is none
    served: Mapping[str, Setting]  # what the image model reported about its settings
    verdict: Verdict | Unscored  # parts and evidence, or why there is no verdict
    sha256: str = ""  # the recorded digest of the file; empty if there is none


class StoredRun(ImageQueries):
    """A run folder opened for reading, without locks, even while another process writes to it."""

    def __init__(self, folder: str | Path, judge: Identity | None = None) -> None:
        """Open the run folder."""
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
        """Whether the run contains image files, which is False for imported verdicts."""
        return not self._manifest.imported

    @property
    def items(self) -> Mapping[str, PlannedItem]:
        """The items by id in suite order, read from the database on access."""
        return PlannedItems(self)

    def item(self, name: str) -> PlannedItem | None:
        """Return the planned item with the id, or None."""
        return self.items.get(name)

    def suite_item(self, name: str) -> Item[object] | None:
        """Return the suite item with the id, or None."""
        rows = self.query(_read_record, "SELECT id, level, record FROM items WHERE id = :item", item=name)
        return next((self._decode(*row) for row in rows), None)

    def suite_items(self) -> list[Item[object]]:
        """Return the items in their suite format, for judging them again."""
        rows = list(self.query(_read_record, "SELECT id, level, record FROM items ORDER BY position"))
        return [self._decode(*row) for row in rows]

    def item_heads(self) -> Iterator[tuple[Any, ...]]:
        """Yield the stored id, level, tags (JSON), version and question of each item."""
        version = "CASE WHEN json_valid(record) THEN json_extract(record, '$.version') END"
        return self.query(tuple, f"SELECT id, level, tags, {version}, question FROM items ORDER BY position")

    def outcomes(self) -> Sequence[ImageOutcome]:
        """Return the outcome of each planned image, ordered by item and sample."""
        return list(self.query(read_outcome, f"SELECT {OUTCOME_COLUMNS} {ALL_IMAGES} ORDER BY position, sample"))

    def spent(self) -> RunCost:
        """Return the cost of the run so far, for all attempts and all judges."""
        costs = "SELECT cost, unpriced FROM pictures UNION ALL SELECT cost, unpriced FROM verdicts"
        sums = f"SELECT total(cost), coalesce(sum(unpriced), 0), {_IMPOSSIBLE_COSTS} FROM ({costs})"

        def read_cost(row: tuple[Any, ...]) -> RunCost:
            dollars, unpriced, impossible = row
            if impossible:
                raise StoredValueError("invalid cost")
            return RunCost(stored_number(dollars, "cost"), stored_integer(unpriced, "unpriced"))

        (cost,) = self.query(read_cost, sums)
        return cost

    def counts(self) -> ImageCounts:
        """Count the planned, generated and judged images."""
        from formalimg.runs.image_counts import count_images  # here, because only those who watch a run ask

        return count_images(self)

    def activity(self) -> RunActivity:
        """Return the progress and speed of a run in progress."""
        from formalimg.runs.image_counts import measure_activity

        return measure_activity(self)

    def matched(self) -> str:
        """Return how premade images were matched to items, as in `1,980 by id, 20 by prompt`, or an empty string."""
        from formalimg.models.folder.file_matching import format_matches  # here, because few runs have such images

        way = "CASE WHEN json_valid(served) THEN json_extract(served, '$.matched_by') END"
        rows = self.query(tuple, f"SELECT {way}, count(*) FROM pictures WHERE status = 'made' GROUP BY 1")
        return format_matches({way if isinstance(way, str) else "": count for way, count in rows})

    def judges(self) -> tuple[Identity, ...]:
        """Return all judges of the run, in the order of their first use."""
        return tuple(self.query(read_identity, "SELECT name, settings FROM judges ORDER BY rowid"))

    def image_seconds(self) -> Sequence[float]:
        """Return the recorded generation times of the images in seconds."""
        statement = "SELECT seconds FROM pictures WHERE status = 'made' AND seconds IS NOT NULL"
        return [seconds for (seconds,) in self.query(row_reader(seconds=stored_number), statement)]

    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]:
        """Yield the selected images (item and sample), or all planned ones, with their verdicts."""
        statement = f"SELECT {_JUDGED_COLUMNS} {ALL_IMAGES}"
        if images is None:
            yield from self.query(self._read_judged, f"{statement} ORDER BY position, sample")
            return
        for item, sample in images:
            condition = "WHERE pictures.item = :item AND pictures.sample = :sample"
            yield from self.query(self._read_judged, f"{statement} {condition}", item=item, sample=sample)

    def facets(self) -> FacetIndex:
        """Build the index for counting images by facet value, which reads the whole run."""
        from formalimg.runs.image_counts import read_facets  # here, because only viewers count

        return read_facets(self)

    def count_facets(self, index: FacetIndex, filter_: ImageFilter) -> FacetCounts:
        """Count the matching images for each facet value, given the filters on the other facets."""
        if not filter_.text and filter_.mark is None:
            return index.counts(filter_)
        return index.counts(filter_, self.matching_images(ImageFilter(text=filter_.text, mark=filter_.mark)))

    def made(self) -> dict[tuple[str, int], ExistingImage]:
        """Return the existing images, keyed by item and sample."""
        rows = self.query(_read_existing, "SELECT item, sample, key, sha256 FROM pictures WHERE status = 'made'")
        return {(item, sample): ExistingImage(key, sha256) for item, sample, key, sha256 in rows}

    def scored(self, judge: Judge) -> set[tuple[str, str]]:
        """Return the (question, image) pairs that a judge has scored."""
        read = row_reader(question=stored_name, picture=stored_name)
        query = "SELECT question, picture FROM verdicts WHERE judge = :key AND passed IS NOT NULL"
        return {(question, image) for question, image in self.query(read, query, key=judge_key(judge))}

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def query(
        self, convert: Callable[[tuple[Any, ...]], Converted], query: str, **values: object
    ) -> Iterator[Converted]:
        """Yield the converted rows of a query, with error messages that identify damaged data."""
        judge = "" if self._manifest.judge is None else judge_key(self._manifest.judge)
        with run_database_errors(self._folder):
            for row in self._database.rows(query, {"judge": judge, **values}):
                yield convert(row)

    def _decode(self, id_: str, level: int, record: str) -> Item[object]:
        try:
            item = decode_item(record, self._manifest.suite)
            if (item.id, item.level) == (id_, level):
                return item
            problem = f"its record is of item {item.id}, level {item.level}"
        except RecursionError:
            problem = "its record is nested too deep"
        except ItemsError as error:
            problem = error.findings[0]
        with run_database_errors(self._folder):
            raise StoredValueError(f"item {truncate(id_, 50, 20)}: {problem}")

    def _read_judged(self, row: tuple[Any, ...]) -> Judged:
        outcome = read_outcome(row)
        seed, file, sha256, served, parts, evidence, dollars, unpriced = row[OUTCOME_WIDTH:]
        cost = None if unpriced else stored_number(dollars or 0.0, "cost")
        details = stored_json(evidence, "evidence", dict) if evidence else {}
        verdict: Verdict | Unscored
        if outcome.passed is None:
            verdict = Unscored(read_reason(outcome.reason), outcome.detail, details, cost)
        else:
            verdict = Verdict(outcome.passed, tuple(map(read_part, stored_json(parts, "parts", list))), details, cost)
        if type(seed) is not int:
            raise wrong_value("seed", seed)
        settings = stored_json(served, "served", dict)
        if file is None or not self.has_images:
            return Judged(outcome, seed, None, settings, verdict)
        digest = "" if sha256 is None else stored_digest(sha256, "sha256")
        image = self._images.locate(stored_file_name(file, "file"), digest)
        return Judged(outcome, seed, image, settings, verdict, digest)


_read_record = row_reader(id=stored_name, level=stored_integer, record=stored_text)
_read_existing = row_reader(item=stored_name, sample=stored_integer, key=stored_name, sha256=stored_digest)


def open_run(folder: str | Path, judge: Identity | None = None) -> StoredRun:
    """Open a run folder for reading.

    Args:
        folder: the run folder.
        judge: whose verdicts to show, one of `StoredRun.judges()`; None for those of the judge that ran last.
    """
    return StoredRun(folder, judge)


def locate_image(path: Path, sha256: str) -> ImageLocation:
    """Return the location of an image, in the run folder or on an object store, from its path in the folder."""
    folder, url, owner = path.parent.parent, "", ""
    if not os.path.lexists(path) and (folder / MANIFEST_FILE).exists():
        manifest = read_manifest(folder)
        url, owner = manifest.images, manifest.image_owner
    return open_image_store(folder, url, owner).locate(path.name, sha256)


def load_layouts(run: RunRecord) -> dict[str, Scene]:
    """Return the first layout of each item in a layout run, keyed by item id and regardless of its verdict."""
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


_DECODED_ITEMS = 256  # So many items are kept decoded: those that are being judged


class StoredItems(ItemRecords):
    """The stored items of a run by number, decoded and validated on access."""

    def __init__(self, run: StoredRun) -> None:
        super().__init__()
        self._run = run
        self._items: dict[str, FiledItem] = {}
        self._questions: dict[str, str] = {}
        self._cached = lru_cache(_DECODED_ITEMS)(self._decode)
        read = row_reader(
            id=stored_name, level=stored_integer, tags=_read_tags, version=_read_version, question=stored_name
        )
        for number, row in enumerate(run.item_heads()):
            id_, level, tags, version, question = read(row)
            self._items[id_] = FiledItem.of(self, number, intern(run.manifest.suite), id_, level, tags, version)
            self._questions[id_] = question
        self._numbered = list(self._items.values())

    def item(self, id_: str) -> Item[object]:
        """Return the item with the id, decoded on access."""
        return self._items[id_]

    def question(self, id_: str) -> str:
        """Return the stored question key of an item."""
        return self._questions[id_]

    def line(self, number: int) -> bytes:
        """Return the encoded record of an item."""
        return encode_item(self._cached(number)).encode()

    def read_spec(self, number: int) -> Any:
        """Return the specification of an item."""
        return self._cached(number).spec

    def is_canonical(self, number: int) -> bool:
        """Return False, since the database may come from an untrusted source."""
        return False

    def _read_fields(self, number: int) -> dict[str, Any]:
        return {"prompt": self._cached(number).prompt}

    def _decode(self, number: int) -> Item[object]:
        head = self._numbered[number]
        item = self._run.suite_item(head.id)
        if item is None or (item.tags, item.version) != (head.tags, head.version):
            with run_database_errors(self._run.folder):
                raise StoredValueError(f"item {head.id}: its record is not the one that was read before")
        return item


def _read_tags(tags: object, name: str) -> tuple[str, ...]:
    return tuple(intern(str(tag)) for tag in stored_json(tags, name, list))


def _read_version(version: object, name: str) -> str:
    return intern(version if isinstance(version, str) else "")
