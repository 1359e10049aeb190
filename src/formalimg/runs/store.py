"""The store of a run, the sole writer of its folder, whose records survive a process crash."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from formalimg._util.images import metadata_texts
from formalimg._util.io import open_plain
from formalimg._util.locks import FolderLock
from formalimg._util.strict_json import dumps_storable
from formalimg.benchmarks.items_file import encode_item
from formalimg.benchmarks.loader import no_garbage_collection
from formalimg.errors import FormalimgError
from formalimg.models.base import Generated
from formalimg.runs.database import (
    ImageRow,
    ItemRow,
    item_row,
    missing_image_row,
    open_for_writing,
    run_database_errors,
)
from formalimg.runs.folder import create_run_folder, lost_results, remove_partial_files, require_results
from formalimg.runs.image_store import (
    METADATA,
    ImageStore,
    RunFolderImage,
    find_outdated_files,
    image_name,
    is_image_name,
    open_image_store,
)
from formalimg.runs.inspection import InspectedImage, count_decoded_bytes, inspect_with_rules
from formalimg.runs.manifest import (
    MANIFEST_FILE,
    Identity,
    RunManifest,
    read_manifest,
    require_same_settings,
    utc_now,
    write_manifest,
)
from formalimg.runs.messages import ArrivedAnswer, JudgeResult, PlannedImage, StoredImage
from formalimg.runs.plan import judge_key, plan_digest
from formalimg.types import Item, Judge, Unscored


class RunStore:
    """A run folder opened for writing by a single process, with thread-safe recording of results."""

    def __init__(self, folder: Path, manifest: RunManifest) -> None:
        """Open or create the run folder."""
        create_run_folder(folder)
        self.folder = folder
        self._judge = ""
        self._images_named = bool(manifest.images)
        self._recorded: set[str] = set()
        self._writing = threading.Lock()
        self._lock = FolderLock(folder)
        try:
            self.manifest = manifest
            if (folder / MANIFEST_FILE).exists():
                self.manifest = read_manifest(folder)
                require_same_settings(manifest, self.manifest, folder)
                require_results(folder)
            self.images: ImageStore = open_image_store(folder, self.manifest.images, self.manifest.image_owner)
            remove_partial_files(folder)
            self._database = open_for_writing(folder)
            self._require_rows()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the run folder and release its lock."""
        try:
            self._database.close()
        finally:
            self._lock.release()

    # --- the plan

    def plan(self, items: Mapping[int, Item[object]], images: Sequence[PlannedImage], manifest: RunManifest) -> None:
        """Record the planned items and images, preserving planned images unless their key has changed."""
        with run_database_errors(self.folder):
            questions = dict(self._database.execute("SELECT id, question FROM items"))
            planned = set(self._database.execute("SELECT item, sample FROM pictures"))
            self._recorded.update(
                name for (name,) in self._database.execute("SELECT file FROM pictures WHERE file IS NOT NULL")
            )
        if questions and not (self.folder / MANIFEST_FILE).exists():
            raise FormalimgError(
                f"{self.folder} has lost its {MANIFEST_FILE}: restore it, or choose another folder or name"
            )
        changed = [image.item.id for image in images if questions.get(image.item.id, image.question) != image.question]
        if changed and not planned <= {(image.item.id, image.sample) for image in images}:
            # Else a part of the run, items or samples, would be of the earlier questions, under the same names.
            raise FormalimgError(
                f"item {changed[0]} asks something else than it did when the run in {self.folder} began: "
                "choose another folder or name"
            )
        stored = frozenset(questions)
        questions.update((planned.item.id, planned.question) for planned in images)
        self.images.prepare(named=self._images_named)
        # The manifest first: a folder with a plan but without a manifest could be taken for another run.
        self.manifest = replace(manifest, items_digest=plan_digest(questions.values()))
        write_manifest(self.manifest, self.folder)
        with run_database_errors(self.folder), self._database, no_garbage_collection():
            self._database.execute("BEGIN")
            self._database.executemany(
                "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                self._changed_items(items, questions, stored),
            )
            self._database.executemany(
                "INSERT INTO pictures (item, sample, key, seed, status) VALUES (?, ?, ?, ?, 'planned') "
                "ON CONFLICT (item, sample) DO UPDATE SET key = excluded.key, seed = excluded.seed, "
                "status = 'planned', detail = '', file = NULL, sha256 = NULL WHERE key != excluded.key",
                ((planned.item.id, planned.sample, planned.key, planned.seed) for planned in images),
            )
        self._forget_lost_files()

    def _changed_items(
        self, items: Mapping[int, Item[object]], questions: Mapping[str, str], stored: Set[str]
    ) -> Iterator[ItemRow]:
        as_stored = "SELECT 1 FROM items WHERE id = ? AND position = ? AND level = ? AND question = ? AND record = ?"
        for position, item in items.items():
            question = questions[item.id]
            if item.id in stored:
                values = (item.id, position, item.level, question, encode_item(item))
                if self._database.execute(as_stored, values).fetchone() is not None:
                    continue
            yield item_row(position, item, question)

    def stored_images(self) -> dict[tuple[str, int], StoredImage]:
        """Return the existing images, keyed by item and sample."""
        with run_database_errors(self.folder):
            rows = self._database.execute("SELECT item, sample, file, sha256 FROM pictures WHERE status = 'made'")
            return {(item, sample): StoredImage(*rest) for item, sample, *rest in rows}

    def scored(self, judge: Judge) -> set[tuple[str, str]]:
        """Return the (question, image) pairs a judge has scored, excluding unscored ones so that they are retried."""
        with run_database_errors(self.folder):
            rows = self._database.execute(
                "SELECT question, picture FROM verdicts WHERE judge = ? AND passed IS NOT NULL", (judge_key(judge),)
            )
            return set(rows)

    def passed(self, items: Iterable[str]) -> dict[str, bool]:
        """Return whether the first image of each item passed, for items the current judge has scored."""
        query = (
            "SELECT passed FROM pictures JOIN items ON items.id = pictures.item JOIN verdicts ON "
            "verdicts.question = items.question AND verdicts.picture = pictures.sha256 AND verdicts.judge = ? "
            "WHERE pictures.item = ? AND sample = 0 AND status = 'made' AND passed IS NOT NULL"
        )
        with run_database_errors(self.folder):
            rows = {item: self._database.execute(query, (self._judge, item)).fetchone() for item in items}
            return {item: bool(row[0]) for item, row in rows.items() if row is not None}

    def cost(self) -> float:
        """Return the total known cost of the run folder in US dollars."""
        with run_database_errors(self.folder):
            sums = "SELECT (SELECT total(cost) FROM pictures) + (SELECT total(cost) FROM verdicts)"
            return float(self._database.execute(sums).fetchone()[0])

    # --- results

    def store_answers(self, batch: Sequence[ArrivedAnswer]) -> list[StoredAnswer]:
        """Write the image files of a batch of answers, then record all answers. Safe to call from any thread."""
        stored = [self._store_answer(arrived) for arrived in batch]
        names = [answer.row.file for answer in stored if answer.row.file is not None]
        if names:
            # Once for the whole batch, and before its rows: no row may outlive its file when power is lost.
            self.images.sync(names)
            self._recorded.update(names)
        self.record_images((answer.planned, answer.row, answer.seconds) for answer in stored)
        return stored

    def load_image(self, stored: StoredImage) -> InspectedImage | Unscored:
        """Load and decode a stored image, or return the reason why this fails."""
        location = self.images.locate(stored.file, stored.sha256)
        try:
            data = location.read_bytes()
        except OSError as error:
            return Unscored("unreadable image", f"cannot read {location}: {error.strerror}")
        return inspect_with_rules(data)

    def memory_of(self, stored: StoredImage) -> int:
        """Estimate the memory in bytes required to load an image."""
        try:
            location = self.images.locate(stored.file, stored.sha256)
            if not isinstance(location, RunFolderImage):
                return 0
            with open(location.path, "rb", opener=open_plain) as file:
                return os.fstat(file.fileno()).st_size + count_decoded_bytes(file)
        except OSError:  # which loading it reports
            return 0

    def record_images(self, results: Iterable[tuple[PlannedImage, ImageRow, float]]) -> None:
        """Record image results and their durations in seconds in a single transaction."""
        self._write(
            "UPDATE pictures SET status = ?, detail = ?, file = ?, sha256 = ?, bytes = ?, width = ?, height = ?, "
            "served = ?, cost = cost + ?, unpriced = unpriced + ?, seconds = ?, at = ?, attempts = attempts + 1 "
            "WHERE item = ? AND sample = ? AND key = ?",
            ((*row, seconds, utc_now(), image.item.id, image.sample, image.key) for image, row, seconds in results),
        )

    def record_verdicts(self, results: Iterable[JudgeResult]) -> None:
        """Record verdicts, or the reasons for their absence, in a single transaction."""
        self._write(
            "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?) "
            "ON CONFLICT (judge, question, picture) DO UPDATE SET passed = excluded.passed, "
            "score = excluded.score, reason = excluded.reason, detail = excluded.detail, parts = excluded.parts, "
            "evidence = excluded.evidence, cost = cost + excluded.cost, unpriced = unpriced + excluded.unpriced, "
            "attempts = attempts + 1, seconds = excluded.seconds, at = excluded.at",
            (
                (self._judge, entry.question, entry.stored.sha256, entry.item.id, *row, seconds, utc_now())
                for entry, row, seconds in results
            ),
        )

    def begin_judging(self, judge: Judge | Identity) -> None:
        """Record the judge of all subsequent verdicts."""
        self._judge = judge_key(judge)
        with run_database_errors(self.folder):
            self._database.execute(
                "INSERT OR IGNORE INTO judges VALUES (?, ?, ?)",
                (self._judge, judge.name, dumps_storable(dict(judge.settings))),
            )
        self.manifest = replace(self.manifest, judge=Identity(judge.name, judge.settings))
        write_manifest(self.manifest, self.folder)

    def write_metadata(self) -> None:
        """Write `metadata.jsonl`, which makes an ImageFolder of Hugging Face, and remove files not listed in it."""
        columns = ("file_name", "item", "sample", "level", "prompt", "seed", "sha256")
        with run_database_errors(self.folder):
            named = {file for (file,) in self._database.execute("SELECT file FROM pictures WHERE status = 'made'")}
            planned = self._database.execute("SELECT item, sample FROM pictures")
            present = set(self.images.sizes())
            if self.manifest.images:  # outside the run folder nothing is removed but what the run has put there
                present &= self._recorded
            for name in find_outdated_files(present, planned, named):
                with contextlib.suppress(OSError):
                    self.images.remove(name)
            rows = self._database.execute(
                "SELECT file, item, sample, level, prompt, seed, sha256 FROM pictures JOIN items ON items.id = item "
                "WHERE status = 'made' ORDER BY position, sample"
            )
            metadata = (dict(zip(columns, row, strict=True)) for row in rows if is_image_name(row[0]))
            lines = (f"{json.dumps(record, ensure_ascii=False)}\n".encode() for record in metadata)
            self.images.write(METADATA, lines)
            self.images.upload_pending({METADATA, *filter(is_image_name, named)})

    # ---

    def _store_answer(self, arrived: ArrivedAnswer) -> StoredAnswer:
        planned, answer, seconds, cost, unpriced, _ = arrived
        if isinstance(answer, Generated):
            answer = replace(answer, data=_without_keys(answer.data))
        inspected = inspect_with_rules(answer.data) if isinstance(answer, Generated) else None
        if isinstance(answer, Generated) and isinstance(inspected, InspectedImage):
            name = image_name(planned.item.id, planned.sample, answer.data)
            self.images.write(name, [answer.data])
            served = dumps_storable(dict(answer.served))
            digest, size = hashlib.sha256(answer.data).hexdigest(), len(answer.data)
            row = ImageRow("made", "", name, digest, size, *inspected.image.pil.size, served, cost, unpriced)
            # A large one is decoded again when its turn comes: many in a queue would fill the memory.
            return StoredAnswer(planned, row, seconds, None if inspected.is_large else inspected)
        reason = inspected if isinstance(inspected, Unscored) else answer
        assert not isinstance(reason, Generated)
        row = missing_image_row(reason)._replace(cost=cost, unpriced=unpriced)
        return StoredAnswer(planned, row, seconds, None)

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with self._writing, run_database_errors(self.folder), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(statement, rows)

    def _require_rows(self) -> None:
        """Raise an error if there are images but no planned items, since all would be generated and paid for again."""
        with run_database_errors(self.folder):
            is_planned = self._database.execute("SELECT 1 FROM pictures LIMIT 1").fetchone()
        has_manifest = (self.folder / MANIFEST_FILE).exists()
        if not is_planned and has_manifest and any(map(is_image_name, self.images.sizes())):
            self._database.close()
            raise lost_results(self.folder, "is empty")

    def _forget_lost_files(self) -> None:
        """Mark images with missing or truncated files for regeneration."""
        with run_database_errors(self.folder), self._database:
            self._database.execute("BEGIN")
            rows = self._database.execute("SELECT item, sample, file, bytes FROM pictures WHERE status = 'made'")
            sizes = self.images.sizes()
            self._database.executemany(
                "UPDATE pictures SET status = 'planned', detail = 'the file was lost', file = NULL, sha256 = NULL "
                "WHERE item = ? AND sample = ?",
                [(item, sample) for item, sample, file, size in rows if sizes.get(file) != size],
            )


class StoredAnswer(NamedTuple):
    """The stored result of a planned image, with the decoded image if there is one."""

    planned: PlannedImage
    row: ImageRow
    seconds: float
    inspected: InspectedImage | None

    @property
    def stored(self) -> StoredImage | None:
        """The stored file, or None."""
        return None if self.row.file is None or self.row.sha256 is None else StoredImage(self.row.file, self.row.sha256)


def _without_keys(data: bytes) -> bytes:
    """Return an image file, with its metadata stripped if they may contain an API key."""
    if not any(True for _ in metadata_texts(data)):
        return data
    from formalimg.models.secrets import image_without_keys  # here, because most files hold no text

    return image_without_keys(data)
