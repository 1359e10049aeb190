"""Run folders, opened for reading."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, get_args

from formalimg.errors import FormalimgError
from formalimg.judges import Judge, Part, Unscored, UnscoredReason, Verdict
from formalimg.runs.database import open_for_reading, told
from formalimg.runs.image_store import ImageLocation, images_of
from formalimg.runs.keys import judge_key
from formalimg.runs.manifest import CARD_FILE, judged_by, read_card
from formalimg.runs.paging import (
    ImageFile,
    ImageFilter,
    ImagePage,
    ListedImage,
    file_of_image,
    image_page,
    neighbours,
    wanted_before,
)
from formalimg.runs.record import Identity, Judged, Outcome, PlannedItem, RunManifest, Spent
from formalimg.suites import Item, decode_item

_WITHOUT_IMAGE: Mapping[str, UnscoredReason] = {
    "planned": "no image",
    "absent": "no image",
    "refused": "refused",
    "failed": "generation failed",
    "unreadable": "unreadable image",
    "too large": "too large",
}

_OUTCOME = (
    "pictures.item, level, pictures.sample, status, pictures.detail, passed, score, verdicts.reason, verdicts.detail"
)
_WHOLE = f"{_OUTCOME}, seed, file, sha256, served, parts, evidence, verdicts.cost, verdicts.unpriced"
_IMAGES = """
    FROM pictures JOIN items ON items.id = pictures.item
    LEFT JOIN verdicts ON judge = :judge AND verdicts.question = items.question AND picture = pictures.sha256
"""


class MadeBefore(NamedTuple):
    """An image that is there: the key it was made under, and the digest of its file."""

    key: str
    sha256: str


class StoredRun:
    """A run folder, opened for reading; see `RunRecord`. Never locks, never writes; a run may go on meanwhile."""

    def __init__(self, folder: str | Path, judge: Identity | None = None) -> None:
        """Open the folder.

        Args:
            folder: the run folder.
            judge: whose verdicts to show; None for those of the judge that looked last.

        Raises:
            FormalimgError: if it is no run, or one of another version of formalimg.
        """
        self._folder = Path(folder)
        manifest = read_card(self._folder)
        self._manifest = manifest if judge is None else judged_by(manifest, judge)
        self._images = images_of(self._folder, manifest.images)
        self._database = open_for_reading(self._folder)

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._folder

    @property
    def manifest(self) -> RunManifest:
        """What was asked."""
        return self._manifest

    @cached_property
    def items(self) -> Mapping[str, PlannedItem]:
        """The items, by id, in the order of the suite."""
        rows = self._rows("SELECT id, level, prompt, formula, tags FROM items ORDER BY position")
        return {row[0]: _planned(row) for row in rows}

    def item(self, name: str) -> PlannedItem | None:
        """The item of this id; None if there is none."""
        query = "SELECT id, level, prompt, formula, tags FROM items WHERE id = :item"
        rows = self._rows(query, item=name)
        return next((_planned(row) for row in rows), None)

    def suite_item(self, name: str) -> Item[object] | None:
        """The item of this id as the suite has it; None if there is none."""
        rows = self._rows("SELECT record FROM items WHERE id = :item", item=name)
        return next((decode_item(record, self._manifest.suite) for (record,) in rows), None)

    def suite_items(self) -> list[Item[object]]:
        """The items as the suite has them, for judging them again."""
        rows = list(self._rows("SELECT record FROM items ORDER BY position"))
        return [decode_item(record, self._manifest.suite) for (record,) in rows]

    def outcomes(self) -> Sequence[Outcome]:
        """How each planned image fared, in the order of items and samples."""
        return [_outcome(row) for row in self._rows(f"SELECT {_OUTCOME} {_IMAGES} ORDER BY position, sample")]

    def spent(self) -> Spent:
        """What the run has cost so far, all attempts and all judges together."""
        costs = "SELECT cost, unpriced FROM pictures UNION ALL SELECT cost, unpriced FROM verdicts"
        (found,) = self._rows(f"SELECT total(cost), coalesce(sum(unpriced), 0) FROM ({costs})")
        return Spent(*found)

    def judges(self) -> tuple[Identity, ...]:
        """All who have judged images of this run, in the order in which they first did."""
        rows = self._rows("SELECT name, settings FROM judges ORDER BY rowid")
        return tuple(Identity(name, json.loads(settings)) for name, settings in rows)

    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]:
        """All that is known of these images (item and sample), or of all planned ones."""
        if images is None:
            rows = self._rows(f"SELECT {_WHOLE} {_IMAGES} ORDER BY position, sample")
        else:
            one = f"SELECT {_WHOLE} {_IMAGES} WHERE pictures.item = :item AND pictures.sample = :sample"
            rows = (row for item, sample in images for row in self._rows(one, item=item, sample=sample))
        for row in rows:
            yield self._whole(row)

    def page(self, wanted: ImageFilter, start: int, count: int) -> ImagePage:
        """Some of the images that are wanted, from the one with number `start` on, and how many there are."""
        return image_page(self._rows, _outcome, wanted, start, count)

    def neighbours(self, wanted: ImageFilter, item: str, sample: int) -> tuple[ListedImage | None, ListedImage | None]:
        """The wanted images right before and right after an image."""
        return neighbours(self._rows, _outcome, wanted, item, sample)

    def wanted_before(self, wanted: ImageFilter, item: str, sample: int) -> int:
        """How many of the wanted images come before an image."""
        return wanted_before(self._rows, wanted, item, sample)

    def image_file(self, item: str, sample: int) -> ImageFile | None:
        """The file of an image; None if there is none, or if its name leads out of the run."""
        return file_of_image(self._rows, self._images, item, sample)

    def made(self) -> dict[tuple[str, int], MadeBefore]:
        """The images that are there, by item and sample."""
        rows = self._rows("SELECT item, sample, key, sha256 FROM pictures WHERE status = 'made'")
        return {(item, sample): MadeBefore(key, sha256) for item, sample, key, sha256 in rows}

    def scored(self, judge: Judge) -> set[tuple[str, str]]:
        """Question and image of all verdicts of a judge."""
        query = "SELECT question, picture FROM verdicts WHERE judge = :one AND passed IS NOT NULL"
        return set(self._rows(query, one=judge_key(judge)))

    def close(self) -> None:
        """Let go of the folder."""
        self._database.close()

    def _rows(self, query: str, **values: object) -> Iterator[tuple[Any, ...]]:
        judge = "" if self._manifest.judge is None else judge_key(self._manifest.judge)
        with told(self._folder):
            yield from self._database.execute(query, {"judge": judge, **values})

    def _whole(self, row: tuple[Any, ...]) -> Judged:
        outcome = _outcome(row)
        seed, file, sha256, served, parts, evidence, known, unpriced = row[len(_OUTCOME.split(", ")) :]
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
    """A run folder, opened for reading.

    Args:
        folder: the run folder.
        judge: whose verdicts to show, one of `StoredRun.judges()`; None for those of the judge that looked last.

    Raises:
        FormalimgError: if it is no run, or one of another version of formalimg.
    """
    return StoredRun(folder, judge)


def image_in(path: Path, sha256: str) -> ImageLocation:
    """An image of a run by the path it has, or would have, in the run folder; it may lie on an object store.

    Args:
        path: its path.
        sha256: the digest of its bytes.

    Raises:
        FormalimgError: if the card of the run cannot be read.
    """
    folder = path.parent.parent
    if path.exists() or not (folder / CARD_FILE).exists():
        return path
    return images_of(folder, read_card(folder).images).place(path.name, sha256)


def _planned(row: tuple[Any, ...]) -> PlannedItem:
    id_, level, prompt, formula, tags = row
    return PlannedItem(id_, level, prompt, formula, tuple(json.loads(tags)))


def _outcome(row: tuple[Any, ...]) -> Outcome:
    item, level, sample, status, no_image, passed, score, reason, detail, *_ = row
    if status != "made":
        return Outcome(item, level, sample, None, None, _WITHOUT_IMAGE[status], no_image)
    if reason is None:  # there is no verdict at all
        return Outcome(item, level, sample, None, None, "not judged", "")
    return Outcome(item, level, sample, None if passed is None else bool(passed), score, reason, detail)


def _reason(text: str) -> UnscoredReason:
    if text not in get_args(UnscoredReason):
        raise FormalimgError(f"an image is unscored for the unknown reason {text!r}: use the version that made the run")
    return text  # type: ignore[return-value]
